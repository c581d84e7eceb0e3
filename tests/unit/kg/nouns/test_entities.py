"""Weights of trust."""

from __future__ import annotations

from kg.nouns.entities import Trust


def test_distrust_costs_more_than_praise_gains() -> None:
    assert [trust.weight for trust in (Trust.LOW, Trust.MEDIUM, Trust.HIGH)] == [0.25, 1.0, 2.0]
