"""Short forms of answers, for agents that read every word: the top of each list, and how much is left out."""

from __future__ import annotations

import json
from typing import Any

_STEPS = ((400, 20), (240, 10), (160, 6), (120, 4), (80, 3), (50, 2), (30, 1))
"""Characters of a text and items of a list that are kept, tried in order until the answer is short enough."""


def shortened(content: dict[str, Any], most_bytes: int) -> str:
    """The JSON of a content in at most so many bytes of UTF-8; nothing that is empty stays in it."""
    for characters, items in _STEPS:
        text = json.dumps(_cut(content, characters, items), ensure_ascii=False, separators=(",", ":"))
        if len(text.encode("utf-8", "replace")) <= most_bytes:
            return text
    return '{"left_out":"the answer is too long; ask for less"}'


def _cut(value: Any, characters: int, items: int) -> Any:
    match value:
        case dict():
            kept = {name: _cut(item, characters, items) for name, item in value.items()}
            return {name: item for name, item in kept.items() if item not in (None, "", [], {})}
        case list() | tuple():
            short = [_cut(item, characters, items) for item in value[:items]]
            return [*short, f"{len(value) - items} more"] if len(value) > items else short
        case str() if len(value) > characters:
            return value[: characters - 1] + "…"
        case float():
            return float(f"{value:.4g}")
    return value
