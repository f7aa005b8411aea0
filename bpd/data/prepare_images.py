"""Preparing images: from photographs to the folder that training, decoding and scoring read."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bpd.atomic import write_json
from bpd.config import PrepareImagesSettings
from bpd.data.folder import atomic_folder
from bpd.data.image_corpora import Pictures, load_image_corpus
from bpd.data.image_set import ImageSet
from bpd.data.photographs import area_average
from bpd.errors import BpdError
from bpd.fingerprints import file_sha256

REPORT = "report.json"
_NAMED_FAULTS = 20


def prepare_images(settings: PrepareImagesSettings, destination: Path) -> None:
    """Write the prepared folder `destination`, all or nothing: the image sets `train` and `dev`, and `report.json`.

    The small and the large image are both averaged from the cropped photograph. Files that had to be downloaded are
    kept in the folder `downloads` beside it. Raises `BpdError` for missing data and, once all have been read, for
    faulty photographs, by name.
    """
    data = settings.data
    destination = Path(destination)
    with atomic_folder(destination, last=REPORT) as folder:
        corpus = load_image_corpus(data, destination.absolute().parent / "downloads")
        faults: list[str] = []
        for name, pictures in corpus.items():
            manifest = {"source": data.source, "set": name}
            stream = _averaged(name, pictures, data.input_size, data.output_size)
            ImageSet.write(folder / name, stream, data.input_size, data.output_size, manifest)
            faults += pictures.faults
        if faults:
            more = f"\n… and {len(faults) - _NAMED_FAULTS} more" if len(faults) > _NAMED_FAULTS else ""
            raise BpdError(f"{data.source}: {len(faults)} faulty photographs:\n" + "\n".join(faults[:20]) + more)
        report = {
            "source": data.source,
            "sets": {name: name for name in corpus},
            "counts": {name: pictures.count for name, pictures in corpus.items()},
            "input_size": data.input_size,
            "output_size": data.output_size,
            "settings": data.model_dump(mode="json"),
            "pillow": importlib.metadata.version("pillow"),
            "sha256": {
                str(path.relative_to(folder)): file_sha256(path) for path in sorted(folder.rglob("*")) if path.is_file()
            },
        }
        write_json(folder / REPORT, report)


def _averaged(
    name: str, pictures: Pictures, input_size: int, output_size: int
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for title, picture in tqdm(pictures, total=pictures.count, desc=f"prepare {name}", unit="image", mininterval=2.0):
        yield title, area_average(picture, input_size), area_average(picture, output_size)
