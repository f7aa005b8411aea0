"""`bpd page`: the README of a scale's results, and beside it the resolved configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from bpd.atomic import write_text
from bpd.config import Config
from bpd.errors import BpdError
from bpd.report.results_page import results_page

PAGE, CONFIG = "README.md", "config.yaml"


def require_scale(results: Path, scale: str) -> None:
    """Raise `BpdError` where a finished run has left word in `results` that these are of another scale."""
    path = Path(results) / CONFIG
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return
    found = values.get("scale", scale) if isinstance(values, dict) else scale
    if found != scale:
        raise BpdError(f"{results}: results of the scale '{found}', not '{scale}' ({path}); give that scale's config")


def write_results_page(config: Config, figures: Path, results: Path) -> list[Path]:
    """Write `results`/README.md from the finished tables and figures, and `results`/config.yaml; return the paths."""
    page = Path(results) / PAGE
    require_scale(results, config.scale)
    text = results_page(config.scale, _about(config), Path(results) / "tables", Path(figures), page)
    values = config.model_dump(mode="json", exclude_none=True)
    resolved = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)
    write_text(Path(results) / CONFIG, f"# The whole configuration of these results, as it was used.\n{resolved}")
    write_text(page, text)
    return [page, Path(results) / CONFIG]


def _about(config: Config) -> Sequence[str]:
    text, images = config.translation, config.super_resolution
    sources = {"generated": "generated English–German sentences", "multi30k": "Multi30k", "wmt14": "WMT14"}
    pictures = {"drawn_faces": "drawn faces", "lfw": "Labeled Faces in the Wild", "celeba": "CelebA"}
    seeds = ", ".join(map(str, config.seeds))

    def sizes(block_sizes: Sequence[int]) -> str:
        return ", ".join(map(str, block_sizes))

    return (
        "Stern, Shazeer and Uszkoreit, *Blockwise Parallel Decoding for Deep Autoregressive Models* (NeurIPS 2018), "
        "replicated. Every number below was written by the workflow; those labelled “published” are the paper's own. "
        "Nothing here is edited by hand.",
        "",
        f"- Translation: {sources[text.data.source]}, English to German, k = {sizes(text.heads.block_sizes)}, "
        f"d_model {text.transformer.d_model}, {text.transformer.encoder_layers} + {text.transformer.decoder_layers} "
        f"layers, {text.base.training.steps:,} steps for the base model.",
        f"- Super-resolution: {pictures[images.data.source]}, {images.data.input_size}×{images.data.input_size} to "
        f"{images.data.output_size}×{images.data.output_size}, k = {sizes(images.heads.block_sizes)}, d_model "
        f"{images.image_transformer.d_model}, {images.image_transformer.encoder_layers} + "
        f"{images.image_transformer.decoder_layers} layers, {images.base.training.steps:,} steps for the base model.",
        f"- Seeds: {seeds}. The whole configuration: [config.yaml]({CONFIG}).",
        "- Each table also lies in `tables/` as CSV and LaTeX, each figure beside its picture as PDF.",
    )
