"""The media type with the highest quality is taken; of equals, ours first."""

from __future__ import annotations

import pytest

from recommender.service.negotiation import preferred

OFFERED = ("application/a", "application/b", "text/c")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/a"),
        ("*/*", "application/a"),
        ("text/*", "text/c"),
        ("application/b, */*;q=0.1", "application/b"),
        ("application/a;q=0.2, application/b;q=0.8", "application/b"),
        ("application/a;q=0, application/*", "application/b"),
        ("text/c; charset=utf-8", "text/c"),
        ("image/png", None),
        ("*/*;q=0", None),
        ("application/a;q=x", None),
    ],
)
def test_preferred(accept: str, kind: str | None) -> None:
    assert preferred(accept, OFFERED) == kind
