"""Tests of what engines do by default."""

from __future__ import annotations

import pytest

from recommender.cost_model.settings.engine_defaults import engine_defaults


@pytest.mark.parametrize(
    ("engine", "version", "overlapped"),
    [
        ("vllm", "0.13.0", 0),
        ("vllm", "v0.14.0rc1", 0),
        ("vllm", "0.33.0", 1),
        ("vllm", "", 1),
        ("sglang", "0.5.12-cu130", 1),
        ("tensorrt-llm", "0.17", 0),
        ("vllm-ascend", "0.23.0", 0),
        ("", "", 0),
    ],
)
def test_newer_engines_schedule_ahead(engine: str, version: str, overlapped: int) -> None:
    assert engine_defaults("serving", engine, version)["async_scheduling"] == overlapped


def test_training_has_no_scheduler() -> None:
    assert "async_scheduling" not in engine_defaults("training", "vllm", "0.33.0")
