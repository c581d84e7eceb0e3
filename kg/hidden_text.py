"""Characters that do something else than what a reader sees: the one list, for the door and for all exits."""

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]|\r(?!\n)"
)
"""Orders to a terminal (C0, C1), marks that turn the order of letters, letters that programs read (tags),
halves of letters; tab and line ends are text."""


def harmless(text: str) -> str:
    """A text with its hidden characters spelled out, as JSON spells them too."""
    return HIDDEN.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    code = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))
