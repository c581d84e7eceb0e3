"""A text behind its label: a line of a cause, a fault or a statement."""

from __future__ import annotations

from cli.output import as_it_stands
from cli.text.language import localised
from cli.text.width import columns_of

LABEL_WIDTH = 15


def say_labelled(label: str, text: str) -> None:
    """Print a text behind its label, in the language of this run."""
    quote_labelled(label, localised(text))


def quote_labelled(label: str, text: str) -> None:
    """Print what a file says behind a label, in the file's own language."""
    head = localised(label)
    as_it_stands(f"   {head}{' ' * (LABEL_WIDTH - 3 - columns_of(head))}{text}")
