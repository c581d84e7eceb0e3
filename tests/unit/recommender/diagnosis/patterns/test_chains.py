"""Runs of small operators that a fused kernel would replace."""

from typing import Any

from recommender.diagnosis.analysis import analyse


def test_what_breaks_a_fusion_is_named(make: Any, thresholds: Any) -> None:
    chain = [(kind, "AI_VECTOR_CORE", 20.0) for kind in ("Mul", "Add", "Reshape", "Mul", "Add")]
    found = analyse(make(chain * 20), thresholds)
    assert found["fusion-broken-by-reshape"].shown > 0.9
    assert "fusion-broken-by-dropout" not in found
