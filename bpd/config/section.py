"""What every part of the configuration is made of, and how values become one: each fault named by its key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bpd.config.plain_yaml import parse_yaml
from bpd.errors import BpdError

# Beyond this, numbers of JSON are no longer whole, and sums of products of them no longer numbers.
LARGEST = 2**53
PositiveInt = Annotated[int, Field(gt=0, le=LARGEST)]
# Each is a job of its own.
ShardCount = Annotated[int, Field(gt=0, le=10_000)]
LayerCount = Annotated[int, Field(gt=0, le=1_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
# The names that `bpd.decoding.acceptance` parses.
CRITERION = r"exact|top[1-9]\d*|distance\d+|minimum[1-9]\d*"
CriterionName = Annotated[str, Field(pattern=f"^({CRITERION})$")]
Precision = Literal["fp32", "bf16"]
FirstHead = Literal["learned", "identity"]


_LONGEST_SHOWN = 200
_MOST_PROBLEMS = 20


class Section(BaseModel):
    """A part of the configuration: immutable, strictly typed, closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def require_no_twins(section: Section, *names: str) -> None:
    """Raise `ValueError` where one of the fields `names` of a section holds a value twice."""
    for name in names:
        values = getattr(section, name)
        if len(set(values)) != len(values):
            raise ValueError(f"{name} names a value twice: {list(values)}")


class RemoteFile(Section):
    """A replacement for a data file's built-in address, size and checksum."""

    url: Annotated[str, Field(pattern=r"^(https?|file)://")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: PositiveInt | None = None


def require_known_files(files: dict[str, RemoteFile]) -> None:
    """Raise `ValueError` if `data.files` replaces a file that nothing would ask for."""
    from bpd.data.fetch import require_known

    try:
        require_known(files)
    except BpdError as problem:
        raise ValueError(str(problem).removeprefix("data.")) from None


SectionType = TypeVar("SectionType", bound=Section)


def validate_section(kind: type[SectionType], values: Any, where: str) -> SectionType:
    """Build a section from plain values, or raise `BpdError` naming every faulty key and what was found there."""
    try:
        text = json.dumps(values, default=str, ensure_ascii=False).encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise BpdError(f"{where}: not a configuration: {error}") from None
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        problems = [_describe(problem) for problem in error.errors()]
        told = problems[:_MOST_PROBLEMS]
        if len(problems) > len(told):
            told.append(f"  … and {len(problems) - len(told)} more")
        raise BpdError(f"{where}: {len(problems)} problem(s) in the configuration:\n" + "\n".join(told)) from None


def _describe(problem: Any) -> str:
    unions = {"inverse_square_root", "linear"}
    key = ".".join(str(part)[:_LONGEST_SHOWN] for part in problem["loc"] if part not in unions) or "(top level)"
    found = problem["input"]
    kind = problem["type"]
    if kind == "extra_forbidden":
        return f"  {key}: unknown key"
    if kind == "missing":
        return f"  {key}: missing"
    message = problem["msg"].removeprefix("Value error, ")
    if kind in ("tuple_type", "list_type"):
        example = f", such as [{found}]" if isinstance(found, int | float) else ""
        return f"  {key}: a list is wanted{example}, found {_shown(found)}"
    if kind == "value_error":
        return f"  {key}: {message}"
    hint = ""
    if isinstance(found, str) and re.fullmatch(r"[-+]?[\d_.]+([eE][-+]?\d+)?", found):
        hint = "; YAML read this number as text: write it without quotes, and powers of ten as 4.0e-3"
    return f"  {key}: {message}, found {_shown(found)}{hint}"


def _shown(found: Any) -> str:
    """Return a faulty value as a message can hold it."""
    text = repr(found)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def read_config_values(path: Path) -> Any:
    """Return the plain values of a YAML config; raise `BpdError` where it cannot be read or names a key twice."""
    try:
        return parse_yaml(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BpdError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except ValueError as error:
        raise BpdError(f"{path}: not a YAML file: {error}") from None
