"""The model that one would use instead: Hugging Face's Marian of the same dimensions, and CTranslate2's copy of it."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.random_models import DIMENSIONS

# Without it the library fetches compute kernels over the network.
os.environ.setdefault("USE_HUB_KERNELS", "0")

PEERS = ("transformers", "ctranslate2")


def missing_peers() -> list[str]:
    """Return which of the peers are not installed."""
    return [name for name in PEERS if importlib.util.find_spec(name) is None]


def marian(size: str, dropout: float = 0.0) -> Any:
    """Return a Marian model with random weights and the dimensions called `size`, its embeddings shared as ours are."""
    from transformers import MarianConfig, MarianMTModel

    of = DIMENSIONS[size]
    pad = of.vocabulary - 1
    config = MarianConfig(
        vocab_size=of.vocabulary, d_model=of.d_model, max_position_embeddings=512,
        encoder_layers=of.layers, encoder_ffn_dim=of.d_ff, encoder_attention_heads=of.attention_heads,
        decoder_layers=of.layers, decoder_ffn_dim=of.d_ff, decoder_attention_heads=of.attention_heads,
        activation_function="relu", dropout=dropout, attention_dropout=0.0, activation_dropout=dropout,
        scale_embedding=True, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(1)
    return MarianMTModel(config).eval()


def generate(model: Any, rows: list[list[int]], tokens: int) -> Any:
    """Decode greedily with Hugging Face's `generate`, exactly `tokens` tokens a row."""
    with torch.inference_mode():
        made = model.generate(
            torch.tensor(rows, device=model.device), num_beams=1, do_sample=False, use_cache=True,
            min_new_tokens=tokens, max_new_tokens=tokens,
        )  # fmt: skip
    assert made.shape == (len(rows), tokens + 1), made.shape
    return made


def ctranslate2_decoder(model: Any, folder: Path, device: str) -> Callable[[list[list[int]], int], Any]:
    """Convert a Marian model for CTranslate2 and return a greedy decoder of exactly so many tokens a row."""
    import ctranslate2
    import sentencepiece
    from ctranslate2.converters import TransformersConverter

    vocabulary = model.config.vocab_size
    words = {"</s>": 0, "<unk>": 1} | {f"w{word}": word for word in range(2, vocabulary - 1)}
    (folder / "vocab.json").write_text(json.dumps(words | {"<pad>": vocabulary - 1}))
    # The converter wants a tokenizer's files, and reads no more of them than the vocabulary.
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "text"
        text.write_text("\n".join(f"{chr(97 + n % 26)} {chr(97 + n // 26)}" for n in range(26 * 26)))
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=f"{place}/m", vocab_size=30, hard_vocab_limit=False, minloglevel=2
        )
        for name in ("source.spm", "target.spm"):
            (folder / name).write_bytes(Path(f"{place}/m.model").read_bytes())
    settings = {"source_lang": "en", "target_lang": "de", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    model.save_pretrained(folder)
    TransformersConverter(str(folder)).convert(str(folder / "converted"), force=True)
    translator = ctranslate2.Translator(
        str(folder / "converted"), device=device, compute_type="float32",
        intra_threads=torch.get_num_threads(), inter_threads=1,
    )  # fmt: skip

    def decode(rows: list[list[int]], tokens: int) -> Any:
        sources = [[f"w{word}" for word in row[:-1]] + ["</s>"] for row in rows]
        made = translator.translate_batch(
            sources, beam_size=1, min_decoding_length=tokens, max_decoding_length=tokens, max_batch_size=len(rows)
        )
        assert all(len(one.hypotheses[0]) == tokens for one in made)
        return made

    return decode
