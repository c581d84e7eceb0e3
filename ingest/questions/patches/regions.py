"""A text held in quotes or in a block of another: what it says, and how another text is put in its place.

Only the letters that differ are replaced, so that lines, comments and the rest of the quotes stay.
"""

import json
import re
from dataclasses import dataclass

from ingest.files.yaml_nodes import YamlNode

_HEADER = re.compile(r"[^\n|>]*+[|>][^\n]*+\n")
_BEFORE = re.compile(r"(?:[&!]\S*\s+)*")
"""An anchor or a tag before a value."""
_INNER = ("'\"'\"'", "'\\''")
"""The quote itself in a shell's single quotes, in the two ways in which it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A text held in another.

    Attributes:
        outer: The text around it.
        start: Where what is written begins, behind quotes and the head of a block.
        end: Where it ends.
        says: What is said by it.
        quote: Around it: of YAML ``'``, ``"`` or ``|``, of a shell ``sh'`` or ``sh"``; empty for none.
        indent: Before each of its lines but the first.
    """

    outer: str
    start: int
    end: int
    says: str
    quote: str = ""
    indent: str = ""

    @property
    def raw(self) -> str:
        """Text of the region as it is written."""
        return self.outer[self.start : self.end]

    def put(self, says: str) -> str | None:
        """The outer text with another text in this place; None where that cannot be written there."""
        if self._escaped(self.says) == self.raw:
            return self._outer(self.start, self.end, self._escaped(says))
        before = self.says.rstrip()
        begin, old_end, new_end = difference(before, says.rstrip())
        piece = says[begin:new_end]
        places = self._places(before)
        if places is None:
            return None
        if piece.startswith(" -") and self.quote == "|" and "\n" in self.raw and "\n" not in before:
            piece = f"\n{piece[1:]}"  # line ends are blanks here
        return self._outer(self.start + places[begin], self.start + places[old_end], self._escaped(piece))

    def _places(self, says: str) -> list[int] | None:
        """The places of each letter of a value in the text, and the end; None if it is written otherwise."""
        raw, places, at = self.raw, list[int](), 0
        for letter in says:
            while raw[at : at + 1].isspace() and raw[at : at + 1] != letter and raw[at - 1 : at].isspace():
                at += 1  # the indent of a line that is folded
            if raw[at : at + 1] != letter and not (raw[at : at + 1] == "\n" and letter == " "):
                return None
            places.append(at)
            at += 1
            if raw[at - 1] == "\n":
                at += len(self.indent) if raw.startswith(self.indent, at) else 0
        return [*places, at]

    def _outer(self, start: int, end: int, piece: str) -> str:
        return self.outer[:start] + piece + self.outer[end:]

    def _escaped(self, text: str) -> str:
        match self.quote:
            case "'":
                return text.replace("'", "''")
            case '"':
                return json.dumps(text, ensure_ascii=False)[1:-1]
            case "sh'":
                inner = next((one for one in _INNER if one in self.raw), _INNER[-1])
                return text.replace("'", inner)
            case 'sh"':
                return text.replace("\\", "\\\\").replace('"', '\\"')
        return text.replace("\n", f"\n{self.indent}")


def difference(before: str, after: str) -> tuple[int, int, int]:
    """The place where two texts begin to differ, and where they agree again in the one and in the other."""
    most = min(len(before), len(after))
    begin = next((at for at in range(most) if before[at] != after[at]), most)
    same = next((n for n in range(most - begin) if before[-1 - n] != after[-1 - n]), most - begin)
    return begin, len(before) - same, len(after) - same


def scalar_region(text: str, node: YamlNode) -> Region:
    """The place of a scalar of YAML."""
    start, end, style = node.start, node.end, node.style
    before = _BEFORE.match(text, start)
    start = before.end() if before is not None and style != "|" else start
    if style in {"'", '"'}:
        return Region(outer=text, start=start + 1, end=end - 1, says=node.text, quote=style)
    header = _HEADER.match(text, start) if style in {"|", ">"} else None
    if header is None:
        return Region(outer=text, start=start, end=end, says=node.text)
    first = re.compile(r"\n*([ ]*)").match(text, header.end())
    indent, start = ("", header.end()) if first is None else (first[1], first.end())
    end = start + len(text[start:end].rstrip())
    return Region(
        outer=text,
        start=start,
        end=end,
        says=node.text,
        quote="|",
        indent=indent,
    )


def shell_region(text: str, start: int, end: int, says: str) -> Region | None:
    """The place of a word in the quotes of a shell; None where it stands in no quotes of its own."""
    quote = text[start : start + 1]
    if quote not in {"'", '"'} or text[end - 1 : end] != quote or end - start < len("''"):
        return None
    if quote == '"':
        says = text[start + 1 : end - 1]  # with what the shell around it fills in
    return Region(outer=text, start=start + 1, end=end - 1, says=says, quote=f"sh{quote}")
