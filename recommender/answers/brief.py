"""An answer's JSON in short: the whole decision, and only the head of the lists behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = {"not_here": 5, "refused": 3, "neighbours": 3}
"""Items of each list behind an answer; how many there are stands beside it under ``NAME_count``."""
_EVIDENCE = 1
"""Pieces of evidence of a change: the weightiest."""


def brief(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an answer in short; with nothing to shorten the same.

    Args:
        content: From ``Answer.to_json``.
    """
    short = dict(content)
    for name, most in _MOST.items():
        listed = content.get(name, ())
        if len(listed) > most:
            short |= {name: listed[:most], f"{name}_count": len(listed)}
    if "alternatives" in content:  # what they set stands in their block to paste
        short["alternatives"] = [_without(item, "settings") for item in content["alternatives"]]
    if "changes" in content:
        short["changes"] = [{**item, "evidence": item["evidence"][:_EVIDENCE]} for item in content["changes"]]
    return short


def _without(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != name}
