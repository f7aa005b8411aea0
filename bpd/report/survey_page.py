"""The survey page: one HTML file that needs neither server nor network, and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from bpd.evaluation.survey import QUESTION, Study

_SCRIPT, _STYLE = ("<script>", "</script>"), ("<style>", "</style>")


def survey_page(study: Study, images: Mapping[tuple[str, int], np.ndarray]) -> str:
    """Return the page for `study`; `images` uint8 [size, size, 3] are found by (method or `baseline`, image).

    A method is written as its place in the study's methods. The page knows pairs, but not which side is whose.
    """
    pictures: dict[str, int] = {}
    pairs = []
    for pair in study.pairs:
        sides = {pair.method_side: images[str(pair.method), pair.image]}
        sides["left" if pair.method_side == "right" else "right"] = images["baseline", pair.image]
        places = {side: pictures.setdefault(_data_url(image), len(pictures)) for side, image in sides.items()}
        pairs.append({"pair": pair.pair, "left": places["left"], "right": places["right"]})
    data = {"survey_id": study.survey_id, "pairs": pairs, "pictures": list(pictures)}
    template = files("bpd.report").joinpath("survey_page.html").read_text(encoding="utf-8")
    policy = "; ".join(
        [
            "default-src 'none'",
            "img-src data:",
            f"script-src '{_hash_between(template, _SCRIPT)}'",
            f"style-src '{_hash_between(template, _STYLE)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    for mark, text in (("POLICY", escape(policy)), ("QUESTION", escape(QUESTION)), ("STUDY", _script_json(data))):
        template = template.replace(f"{{{{{mark}}}}}", text)
    return template


def _script_json(value: Any) -> str:
    """Return `value` as JSON that cannot end the script element it stands in."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")


def _hash_between(template: str, tags: tuple[str, str]) -> str:
    content = template.split(tags[0], 1)[1].split(tags[1], 1)[0]
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _data_url(image: np.ndarray) -> str:
    content = BytesIO()
    Image.fromarray(image).save(content, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
