"""A page of help in the language of this run: as typer writes it, in texts of the catalogue."""

import re
from collections.abc import Sequence

import typer

from cli.text.language import help_text, language
from cli.text.width import broken

_EXTRA = re.compile(r"^(.*?)(?:^|  )\[([^\[\]]+)\]$", re.DOTALL)
"""A help and what typer says after it: its variable, its default, its range."""


class HelpPage(typer.Context.formatter_class):  # type: ignore[valid-type,misc]  # of typer, by whatever module
    """Page to which typer writes a help: its English as it stands, else each paragraph in the language."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line of usage."""
        words = [help_text(word) for word in args.split()]
        super().write_usage(prog, " ".join(words), prefix or help_text("Usage: "))

    def write_heading(self, heading: str) -> None:
        """Write the heading of a list."""
        super().write_heading(help_text(heading))

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        if language() == "en":
            super().write_text(text)
            return
        indent = " " * self.current_indent
        paragraphs = [_labelled(" ".join(part.split())) for part in re.split(r"\n\s*\n", text)]
        lines = ("\n".join(broken(indent + part, self.width, indent)) for part in paragraphs)
        self.write("\n\n".join(lines) + "\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of names and what they mean."""
        rows = list(rows)
        if language() == "en":
            super().write_dl(rows, col_max, col_spacing)
            return
        left = min(max(len(name) for name, _ in rows), col_max) + col_spacing
        for name, text in rows:
            lines = list(broken(_meaning(text), max(self.width - left - 2, 10)))
            names = [name, *[""] * len(lines)]
            if len(name) + col_spacing > left:
                lines.insert(0, "")
            indent = " " * self.current_indent
            for beside, line in zip(names, lines, strict=False):
                self.write(f"{indent}{beside:{left}}{line}".rstrip() + "\n")


def _labelled(text: str) -> str:
    """A text of the catalogue, or a label of it with what is no text: an example, a default."""
    if (whole := help_text(text)) != text:
        return whole
    label, colon, rest = text.partition(": ")
    return f"{help_text(label)}：{rest}" if colon else text


def _meaning(text: str) -> str:
    """A help, and what typer says after it, in the language."""
    whole = _EXTRA.match(text)
    if whole is None:
        return help_text(text)
    told = "；".join(_labelled(part) for part in whole[2].split("; "))
    return f"{help_text(whole[1])}  [{told}]".strip()
