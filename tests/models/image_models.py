"""Small image models to vary."""

import torch

from bpd.config import HeadSpec, ImageTransformerConfig
from bpd.models.image_model import ImageModel

PLAIN = {
    "ordinal_start": False,
    "covering_pixel": False,
    "shared_coordinates": False,
    "remaining_mean": False,
    "token_noise": 0.0,
    "misread_areas": 0.0,
}
ALL_OPTIONS = {"ordinal_start": True, "covering_pixel": True, "shared_coordinates": True, "remaining_mean": True}


def image_config(**changes) -> ImageTransformerConfig:
    values = {
        "d_model": 16,
        "d_ff": 32,
        "attention_heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "local_block": 8,
        "residual_dropout": 0.0,
    }
    return ImageTransformerConfig(**(values | PLAIN | changes))


def image_model(
    seed: int = 0,
    block_size: int | None = None,
    first_head: str = "learned",
    sizes: tuple[int, int] = (2, 4),
    **changes,
) -> ImageModel:
    """Return a random model in evaluation mode whose heads agree with p₁ now and then."""
    torch.manual_seed(seed)
    spec = None
    if block_size is not None:
        spec = HeadSpec(block_size=block_size, first_head=first_head, frozen=True, base_dropout=False, head_loss="mean")
    model = ImageModel(image_config(**changes), *sizes, spec)
    if model.heads is not None:
        for parameter in model.heads.parameters():
            parameter.data.mul_(0.4)
        model.heads.norm.weight.data.mul_(2.5)
    return model.eval()


def tokens(seed: int, rows: int, length: int) -> torch.Tensor:
    return torch.randint(0, 256, (rows, length), generator=torch.Generator().manual_seed(seed))
