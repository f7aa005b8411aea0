"""YAML as configurations use it: plain values, each key once, no more of them than a file of that size may mean."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

LONGEST = 1_000_000
DEEPEST = 50
# A configuration has some hundreds of values. Aliases of aliases can mean billions in a few lines.
MOST_VALUES = 100_000
_LONGEST_TOLD = 200


def parse_yaml(text: str) -> Any:
    """Return the plain values of a YAML document; raise `ValueError` for all that is none, or a bomb."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters are more than the {LONGEST} of any configuration")
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _require_bounded(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("\n".join(line[:_LONGEST_TOLD] for line in str(error).splitlines())) from None
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        # PyYAML's constructors fail so for tags whose value is of another kind.
        raise ValueError(f"a value is not of the kind that its tag says ({error})") from None


class _Loader(yaml.SafeLoader):
    """YAML's own rule, which PyYAML lets pass: a key stands once in its mapping."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.YAMLError(f"nested more than {DEEPEST} deep, line {self.peek_event().start_mark.line + 1}")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in first:
                place = f"line {first[key.value]}"
                raise yaml.YAMLError(f"the key '{key.value}' stands twice in one section, the first time in {place}")
            first[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


def _require_bounded(document: yaml.Node) -> None:
    """Raise `yaml.YAMLError` where aliases lead back to where they stand, or mean too many values."""
    counts: dict[int, int] = {}
    entered: set[int] = set()

    def count(node: yaml.Node) -> int:
        if id(node) in counts:
            return counts[id(node)]
        line = node.start_mark.line + 1
        if id(node) in entered:
            raise yaml.YAMLError(f"a value holds itself, line {line}")
        entered.add(id(node))
        total = 1
        for inner in node.value if isinstance(node, yaml.CollectionNode) else ():
            total += sum(map(count, inner)) if isinstance(inner, tuple) else count(inner)
        if total > MOST_VALUES:
            raise yaml.YAMLError(f"more than {MOST_VALUES} values, its aliases followed, line {line}")
        counts[id(node)] = total
        return total

    count(document)
