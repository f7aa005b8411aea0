"""What people decode and train with otherwise: Hugging Face transformers and CTranslate2, at our dimensions.

Both are given a Marian model with random weights, built in memory; nothing is downloaded.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import torch

from bench.models import ROOT, SEED, Dimensions

# Marian's own conventions: the end symbol comes first, padding last, and padding starts the decoder.
_END, _UNKNOWN = 0, 1


def find_peers() -> None:
    """Let Python find the packages that `make bench` installed into $BPD_PEERS, by default .peers, after all others."""
    folder = os.environ.get("BPD_PEERS") or str(ROOT / ".peers")
    if folder not in sys.path:
        sys.path.append(folder)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Else transformers would fetch compute kernels over the network where it knows of some.
    os.environ.setdefault("USE_HUB_KERNELS", "0")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


def missing_peer(*names: str) -> str | None:
    """Return in words which of the packages `names` is missing or cannot be imported, none where all can be used."""
    find_peers()
    for name in names:
        if find_spec(name) is None:
            return f"{name} is not installed (make bench installs it)"
        try:
            __import__(name)
        except Exception as error:  # A half-installed package may fail with anything.
            return f"{name} cannot be imported: {error}"
    return None


def marian_model(shape: Dimensions, longest: int, device: torch.device | str = "cpu") -> Any:
    """Return transformers' MarianMTModel of `shape` with random weights, in evaluation mode.

    It has room for `longest` tokens a side, one embedding for source, target and output, and scaled embeddings, as
    ours has; its layer norms come after the residual sums, and its projections have biases, as Marian's do.
    """
    find_peers()
    from transformers import MarianConfig, MarianMTModel

    config = shape.transformer
    torch.manual_seed(SEED)
    padding = shape.vocabulary_size - 1
    marian = MarianConfig(
        vocab_size=shape.vocabulary_size,
        d_model=config.d_model,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.attention_heads,
        decoder_attention_heads=config.attention_heads,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        dropout=config.residual_dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.relu_dropout,
        activation_function="relu",
        max_position_embeddings=longest,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        pad_token_id=padding,
        eos_token_id=_END,
        decoder_start_token_id=padding,
        forced_eos_token_id=None,
    )
    return MarianMTModel(marian).to(device).eval()


def marian_ids(rows: Sequence[Sequence[int]], shape: Dimensions) -> list[list[int]]:
    """Return sources as the Marian model reads them: words as they are but for its padding id, and its end symbol."""
    return [[min(token, shape.vocabulary_size - 2) for token in row[:-1]] + [_END] for row in rows]


class Peer(Protocol):
    """What decodes greedily, cached, to exactly so many tokens a sentence."""

    def __call__(self, rows: Sequence[Sequence[int]], tokens: int) -> Sequence[Sequence[Any]]:
        """Decode sources, all equally long, and return the `tokens` tokens of each, without what starts them."""
        ...


class HuggingFaceGreedy:
    """Greedy decoding by transformers' `generate`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @torch.inference_mode()
    def __call__(self, rows: Sequence[Sequence[int]], tokens: int) -> list[list[int]]:
        """Decode `rows` to `tokens` tokens each."""
        from transformers import GenerationConfig

        config = self._model.config
        source = torch.tensor(rows, device=self._model.device)
        generation = GenerationConfig(
            num_beams=1,
            do_sample=False,
            use_cache=True,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
            pad_token_id=config.pad_token_id,
            eos_token_id=config.eos_token_id,
            decoder_start_token_id=config.decoder_start_token_id,
        )
        mask = torch.ones_like(source)
        return self._model.generate(source, attention_mask=mask, generation_config=generation)[:, 1:].tolist()


class CTranslate2Greedy:
    """Greedy decoding by CTranslate2 of the same Marian model, in fp32.

    It computes on as many threads as PyTorch does. The converted model lives in a temporary folder until it is loaded.
    """

    def __init__(self, model: Any) -> None:
        import ctranslate2

        device = model.device.type
        with tempfile.TemporaryDirectory(prefix="bpd-bench-") as place:
            _convert(model, Path(place) / "model")
            self._translator = ctranslate2.Translator(
                str(Path(place) / "model"),
                device=device,
                compute_type="float32",
                inter_threads=1,
                intra_threads=torch.get_num_threads(),
            )

    def __call__(self, rows: Sequence[Sequence[int]], tokens: int) -> list[list[str]]:
        """Decode `rows` to `tokens` pieces each."""
        results = self._translator.translate_batch(
            [[_piece(token) for token in row] for row in rows],
            beam_size=1,
            max_batch_size=len(rows),
            min_decoding_length=tokens,
            max_decoding_length=tokens,
            max_input_length=0,
        )
        return [result.hypotheses[0] for result in results]


class _Pieces:
    """What the converter wants to know of a tokenizer: the vocabulary, whose pieces are their own ids."""

    eos_token, unk_token, bos_token = "</s>", "<unk>", None

    def __init__(self, size: int) -> None:
        self._size = size

    def get_vocab(self) -> dict[str, int]:
        pieces = {_piece(token): token for token in range(self._size - 1)}
        return pieces | {"<pad>": self._size - 1}


def _piece(token: int) -> str:
    return {_END: "</s>", _UNKNOWN: "<unk>"}.get(token, f"p{token}")


def _convert(model: Any, folder: Path) -> None:
    """Write a Marian model as CTranslate2's converter does, which itself reads only folders of published models."""
    from ctranslate2.converters.transformers import MarianMTLoader

    with torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
        loaded = type(model)(model.config)
        loaded.load_state_dict(model.state_dict())
        spec = MarianMTLoader()(loaded.float().cpu(), _Pieces(model.config.vocab_size))
        spec.validate()
        spec.optimize(quantization="float32")
        folder.mkdir()
        spec.save(str(folder))
