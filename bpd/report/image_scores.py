"""The score files of the super-resolution half, as one long table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bpd.errors import BpdError
from bpd.report.scores import Scores


class ImageScores(Scores):
    """Scores of image models by model, set role and criterion; each must be what its path says it is."""

    own = (
        "model", "set", "role", "criterion", "block_size", "mean_accepted_block_size", "accepted_tokens", "iterations",
        "calls", "images", "images_unlike_greedy", "bits_per_dimension", "bits_per_dimension_other_input", "psnr",
        "ssim", "psnr_nearest", "ssim_nearest", "psnr_bicubic", "ssim_bicubic",
    )  # fmt: skip
    texts = ("model", "set", "role", "criterion")
    nullable = ("images_unlike_greedy",)
    shown = ("mean_accepted_block_size", "bits_per_dimension", "psnr")
    compared = ("images_unlike_greedy", "images")
    made_with = ("checkpoint_sha256", "config_sha256", "data_sha256", "seed", "commit", "dirty", "device", "precision")

    def images(self) -> int:
        """Return of how many images all scores are; raise `BpdError` where they are not of the same ones."""
        kinds = {
            (score["images"], str(score["decoding"].get("data_sha256"))[:12]): f"{score['model']} {score['criterion']}"
            for score in self.all()
        }
        if len(kinds) > 1:
            told = ", ".join(f"{name}: {count} of set {data}" for (count, data), name in sorted(kinds.items()))
            raise BpdError(f"scores of unlike images cannot stand in one table ({told}); decode again")
        return next(iter(kinds))[0]

    def _read(self, path: Path) -> dict[str, Any]:
        score = super()._read(path)
        said = {
            "model": path.parts[-4] if len(path.parts) > 3 else "",
            "set": path.parent.name,
            "criterion": path.name.removesuffix(".score.json"),
        }
        for name, wanted in said.items():
            if score[name] != wanted:
                raise BpdError(f"{path}: a score of {name} {score[name]}, not {wanted}; decode and score again")
        return score
