"""Content negotiation: the media type that a client likes best of those that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def preferred(accept: str, offered: Sequence[str]) -> str | None:
    """The offered media type with the highest quality in an Accept header (RFC 9110, 12.5.1).

    Args:
        accept: The header; empty if there is none, which accepts anything.
        offered: Media types, ours to prefer first.

    Returns:
        None where nothing offered is accepted.
    """
    ranges = [_range(part) for part in (accept or "*/*").split(",") if part.strip()]
    rated = [(_quality(kind, ranges), -place, kind) for place, kind in enumerate(offered)]
    quality, _, kind = max(rated)
    return kind if quality > 0 else None


def _range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = 1.0
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                quality = min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                quality = 0.0
    return kind, quality


def _quality(kind: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The quality that the most exact range gives a media type."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        for accepted, quality in ranges:
            if accepted == pattern:
                return quality
    return 0.0
