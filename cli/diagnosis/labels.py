"""A text behind its label: a line of a cause, a fault or a statement."""

from cli.output import as_it_stands
from cli.text.language import localised
from cli.text.width import columns_of

LABEL_WIDTH = 15


def say_labelled(label: str, text: str, *, is_quoted: bool = False) -> None:
    """Print a text behind its label, in the language of this run; what is quoted stays as it is."""
    head = localised(label)
    space = " " * (LABEL_WIDTH - 3 - columns_of(head))
    as_it_stands(f"   {head}{space}{text if is_quoted else localised(text)}")
