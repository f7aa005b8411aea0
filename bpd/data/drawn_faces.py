"""Faces drawn from a seed: the small stand-in for photographs that needs no download."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SIZE = 64
_SETS = {"train": 0, "dev": 1}
_SKIN = np.array([[246, 214, 188], [224, 172, 138], [198, 134, 96], [141, 85, 54], [92, 56, 40]], dtype=np.float64)
_HAIR = np.array([[28, 24, 22], [74, 46, 28], [138, 92, 48], [206, 170, 110], [150, 60, 36], [168, 168, 170]], float)
_IRIS = np.array([[60, 100, 160], [70, 110, 70], [80, 50, 30]], dtype=np.float64)
_ROWS, _COLUMNS = np.mgrid[0:SIZE, 0:SIZE] / SIZE + 0.5 / SIZE


def draw_faces(name: str, count: int, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield `count` names and pictures uint8 [64, 64, 3] of the set `train` or `dev`.

    Each face is a function of (set, seed, its number): skin, hair, eyes, expression, clothes, place, size and light
    differ, and fine noise keeps areas from being flat.
    """
    for number in range(count):
        yield f"{name}_{number:05d}", _draw(np.random.default_rng([seed, _SETS[name], number]))


def _draw(random: np.random.Generator) -> np.ndarray:
    skin = _SKIN[random.integers(len(_SKIN))] * random.uniform(0.9, 1.05)
    hair = _HAIR[random.integers(len(_HAIR))] * random.uniform(0.85, 1.15)
    backdrop, clothes = random.uniform(20, 235, (2, 3))
    middle, row = 0.5 + random.uniform(-0.05, 0.05), 0.52 + random.uniform(-0.04, 0.04)
    wide, high = random.uniform(0.24, 0.30), random.uniform(0.33, 0.39)

    picture = backdrop * (1 + random.uniform(-0.35, 0.35) * (_ROWS - 0.5))[..., None]
    picture = _paint(picture, clothes, 1.08, middle, 0.24, 0.48)
    picture = _paint(picture, hair, row - 0.06, middle, high * 1.14, wide * random.uniform(1.12, 1.3))
    picture = _paint(picture, skin * 0.86, row + high, middle, 0.22, wide * 0.48)
    light = 1 + random.uniform(-0.22, 0.22) * (_COLUMNS - middle) / wide
    picture = _paint(picture, skin * light[..., None], row, middle, high, wide)
    fringe = row - high * random.uniform(0.82, 1.0)
    picture = _paint(picture, hair, fringe, middle + random.uniform(-0.06, 0.06), high * 0.3, wide * 0.92)

    eyes, apart = row - high * 0.12, wide * random.uniform(0.4, 0.5)
    iris = _IRIS[random.integers(len(_IRIS))]
    for side in (-1, 1):
        column = middle + side * apart
        picture = _paint(picture, hair * 0.7, eyes - high * 0.22, column, 0.012, wide * 0.27)
        picture = _paint(picture, np.full(3, 240.0), eyes, column, 0.024, wide * 0.24)
        picture = _paint(picture, iris, eyes, column, 0.024, wide * 0.11)
    picture = _paint(picture, skin * 0.78, row + high * 0.25, middle, 0.03, wide * 0.13)
    mouth = row + high * 0.56
    picture = _paint(picture, np.array([170.0, 70.0, 70.0]) * skin / 225, mouth, middle, 0.022, wide * 0.4)
    if random.random() < 0.4:
        picture = _paint(picture, np.full(3, 235.0), mouth - 0.004, middle, 0.01, wide * 0.3)
    picture = picture + random.normal(0, 4, (SIZE, SIZE, 1)) + random.normal(0, 2, (SIZE, SIZE, 3))
    return np.clip(picture, 0, 255).astype(np.uint8)


def _paint(picture: np.ndarray, colour: np.ndarray, row: float, column: float, high: float, wide: float) -> np.ndarray:
    """Return `picture` with a soft-edged ellipse of `colour` around (row, column), `high` and `wide` its half axes."""
    distance = np.sqrt(((_ROWS - row) / high) ** 2 + ((_COLUMNS - column) / wide) ** 2)
    softness = 1 / (SIZE * min(high, wide))
    cover = np.clip((1 - distance) / softness + 0.5, 0, 1)[..., None]
    return picture * (1 - cover) + colour * cover
