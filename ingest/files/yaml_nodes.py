"""Nodes of YAML with their places in the text, for what is read and written again in its place."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

import yaml

from ingest.files.content import ContentError
from ingest.files.safe_yaml import LOADER, check_yaml

_DOCUMENT = re.compile(r"^---.*$", re.MULTILINE)
_MOST_DOCUMENTS = 100
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class YamlNode:
    """A value of YAML where it stands; an anchor and its aliases are one node.

    Attributes:
        start: Offset of its first letter, quotes and anchors included.
        end: Offset behind it.
        line: Its line, from 1.
        column: Its column, from 0.
        tag: Its type.
        text: What a scalar says.
        style: Quotes or mark of a scalar: ``'``, ``"``, ``|`` or ``>``; empty for a plain one.
        items: Of a sequence.
        pairs: Of a mapping, ``<<`` among them.
        is_flow: Whether a collection stands in brackets.
    """

    start: int
    end: int
    line: int
    column: int
    tag: str
    text: str = ""
    style: str = ""
    items: tuple[YamlNode, ...] | None = None
    pairs: tuple[tuple[YamlNode, YamlNode], ...] | None = None
    is_flow: bool = False

    @property
    def is_scalar(self) -> bool:
        """True if it is a single value."""
        return self.items is None and self.pairs is None

    @property
    def plain_text(self) -> str:
        """The text of a scalar as a program reads it: booleans in small letters, empty for null."""
        if not self.is_scalar or (not self.style and self.text in _NULLS):
            return ""
        return self.text.lower() if self.tag.endswith(":bool") else self.text

    @property
    def parts(self) -> tuple[YamlNode, ...]:
        """The items of a collection, keys among them."""
        return self.items or tuple(itertools.chain.from_iterable(self.pairs or ()))

    @property
    def behind(self) -> int:
        """Offset behind its last scalar, or the bracket around it."""
        return self.end if self.is_flow or not self.parts else self.parts[-1].behind

    def keys(self) -> dict[str, YamlNode]:
        """The values of a mapping by key, those that it merges among them; none of another node."""
        found: dict[str, YamlNode] = {}
        for key, value in self.pairs or ():
            for merged in (value.items or (value,)) if key.text == "<<" else ():
                found = {**merged.keys(), **found}
        return {**found, **{key.text: value for key, value in self.pairs or () if key.text != "<<"}}


def yaml_documents(text: str) -> list[YamlNode]:
    """The documents of a text; of what is no YAML none."""
    whole = _composed(text)
    starts = [match.start() for match in _DOCUMENT.finditer(text)]
    if whole is not None or len(starts) > _MOST_DOCUMENTS:
        return whole or []
    found: list[YamlNode] = []
    for start, end in itertools.pairwise([0, *starts, len(text)]):  # one that is a template spoils no other
        found += _composed(re.sub(r"[^\n]", " ", text[:start]) + text[start:end]) or []
    return found


def _composed(text: str) -> list[YamlNode] | None:
    """The nodes of all documents; None where one is no YAML."""
    nodes: dict[int, YamlNode] = {}
    try:
        check_yaml(text)
        composed = [*yaml.compose_all(text, Loader=LOADER)]  # all held, as nodes are told apart by identity
    except (yaml.YAMLError, ContentError, RecursionError):
        return None
    return [_node(node, nodes) for node in composed if node is not None]


def _node(node: yaml.Node, nodes: dict[int, YamlNode]) -> YamlNode:
    if id(node) not in nodes:
        is_list, is_mapping = isinstance(node, yaml.SequenceNode), isinstance(node, yaml.MappingNode)
        nodes[id(node)] = YamlNode(
            start=node.start_mark.index,
            end=node.end_mark.index,
            line=node.start_mark.line + 1,
            column=node.start_mark.column,
            tag=node.tag,
            text=node.value if isinstance(node, yaml.ScalarNode) else "",
            style=(node.style or "") if isinstance(node, yaml.ScalarNode) else "",
            items=tuple(_node(item, nodes) for item in node.value) if is_list else None,
            pairs=tuple((_node(key, nodes), _node(value, nodes)) for key, value in node.value)
            if is_mapping
            else None,
            is_flow=bool(getattr(node, "flow_style", False)),
        )
    return nodes[id(node)]
