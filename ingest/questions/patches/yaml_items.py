"""Items of lists and mappings of YAML in their text: written, added behind others, taken away."""

import json
import re
from collections.abc import Sequence

from ingest.files.yaml_nodes import YamlNode

_PLAIN = re.compile(r"[A-Za-z_/-][\w./+=@%-]*")
_DASH = re.compile(r"[ ]*-[ ]+")
_INDENT = re.compile(r"[ ]*")
_TRUTHS = re.compile(r"(?i)(y|yes|n|no|true|false|on|off|null|-+)")


def quoted(text: str, like: YamlNode | None) -> str:
    """A text as a scalar that is no number and no truth, in the quotes of another."""
    style = None if like is None else like.style
    if style == "'":
        return "'" + text.replace("'", "''") + "'"
    if style == "" and _PLAIN.fullmatch(text) and not _TRUTHS.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def yaml_text(value: object, like: YamlNode | None) -> str:
    """A value as YAML has it, a text in the quotes of another."""
    return quoted(value, like) if isinstance(value, str) else json.dumps(value)


def replaced(text: str, node: YamlNode, value: object) -> str:
    """The text with another value of a scalar."""
    start, end = node.start, node.end
    lead = re.match(r"(?:[&!]\S*\s+)*", text[start:end])
    start += 0 if lead is None else lead.end()
    return text[:start] + yaml_text(value, node) + ("\n" if text[end - 1 : end] == "\n" else "") + text[end:]


def with_items(
    text: str, nodes: Sequence[YamlNode | None], first: int, last: int, values: Sequence[str]
) -> str | None:
    """The text with other items of a list from one place to another; None where they are no items of it."""
    both = min(last - first, len(values))
    behind = nodes[first + both - 1] if first + both else None
    touched = nodes[first:last]
    if None in touched or (len(values) > both and behind is None):
        return None
    for gone in [one for one in touched[both:] if one is not None][::-1]:
        text = without(text, gone.start, gone.end, end_before(nodes, gone.start))
    if behind is not None:
        for value in values[both:][::-1]:
            text = added(text, behind, quoted(value, behind), nodes)
    for node, value in reversed([*zip(touched[:both], values[:both], strict=True)]):
        if node is not None and node.text != value:
            text = replaced(text, node, value)
    return text


def added(text: str, node: YamlNode, written: str, others: Sequence[YamlNode | None] = ()) -> str:
    """The text with an item behind another."""
    start, end = node.start, node.behind
    line = text.rfind("\n", 0, start) + 1
    if _DASH.fullmatch(text[line:start]):
        return _with_line(text, end, f"{text[line:start]}{written}")
    before = end_before(others, start)
    between = "" if before is None else text[before:start]
    joint = between if re.fullmatch(r"\s*,\s*", between) else ", "
    return f"{text[:end]}{joint}{written}{text[end:]}"


def _with_line(text: str, end: int, line: str) -> str:
    """The text with a line behind that in which a value ends."""
    place = end if text[end - 1 : end] == "\n" else text.find("\n", end) + 1 or len(text)
    while text[:place].endswith("\n\n"):  # blank lines belong to what follows
        place -= 1
    joint = "" if text[:place].endswith("\n") else "\n"
    return f"{text[:place]}{joint}{line}\n{text[place:]}"


def with_key(text: str, key: YamlNode, value: YamlNode, name: str, written: str) -> str | None:
    """The text with a key of a mapping behind another one; None where that shares its line."""
    start = key.start
    line = text.rfind("\n", 0, start) + 1
    if not (_INDENT.fullmatch(text[line:start]) or _DASH.fullmatch(text[line:start])):
        return None
    indent = " " * (start - line)
    return _with_line(text, value.behind, f"{indent}{name}:{written}")


def without(text: str, start: int, end: int, before: int | None = None, *, is_pair: bool = False) -> str:
    """The text without an item of a list or a pair of a mapping.

    Args:
        text: The text.
        start: Where it begins.
        end: Where it ends.
        before: Where the item before it ends.
        is_pair: Whether it is a pair.
    """
    line = text.rfind("\n", 0, start) + 1
    if _DASH.fullmatch(text[line:start]) or (is_pair and _INDENT.fullmatch(text[line:start])):
        behind = end if text[end - 1 : end] == "\n" else text.find("\n", end) + 1 or len(text)
        return text[:line] + text[behind:]
    if before is not None:
        return text[:before] + text[end:]
    rest = re.match(r"\s*,\s*", text[end:])
    return text[:start] + text[end + (0 if rest is None else rest.end()) :]


def end_before(nodes: Sequence[YamlNode | None], start: int) -> int | None:
    """The last end of those items that stand before a place."""
    return max((one.end for one in nodes if one is not None and one.end <= start), default=None)
