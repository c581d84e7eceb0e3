"""Tests of the notes on the load that a price assumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from recommender.workspace.workspace import Workspace

QUESTION: dict[str, Any] = {"model": "qwen2.5-7b", "phase": "serving", "hardware": "h100-sxm", "count": 2}


@pytest.mark.parametrize(
    ("more", "assumed", "stated"),
    [
        ({}, ("an engine), the best that fits", "prompts of 1,024 and answers of 128 tokens"), ()),
        ({"shape": {"input_len": 4000}}, ("answers of 128 tokens",), ("prompts",)),
        (
            {"shape": {"input_len": 4000, "output_len": 9}, "traits": {"concurrency": 8}},
            (),
            ("tokens are assumed", "best that fits"),
        ),
        ({"shape": {"isl": 4000, "osl": 9, "batch_size": 8}}, (), ("tokens are assumed", "best that fits")),
    ],
)
def test_what_the_question_leaves_open_is_said(
    shipped: Workspace, more: dict[str, Any], assumed: tuple[str, ...], stated: tuple[str, ...]
) -> None:
    problem, _ = shipped.problem({**QUESTION, **more})
    notes = "; ".join(shipped.recommend(problem).notes)
    assert [text for text in assumed if text not in notes] == []
    assert [text for text in stated if text in notes] == []
