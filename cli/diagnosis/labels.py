"""A text behind its label: a line of a cause, a fault or a statement."""

from __future__ import annotations

from cli.output import say
from cli.text.language import localised
from cli.text.width import columns_of

LABEL_WIDTH = 15


def say_labelled(label: str, text: str) -> None:
    """Print a text behind its label, in the language of this run."""
    head = localised(label)
    space = " " * (LABEL_WIDTH - 3 - columns_of(head))
    say(f"   {head}{space}{localised(text)}")
