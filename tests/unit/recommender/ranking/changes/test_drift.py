"""Changes of dated gains: how often none is called one, and which are seen."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from kg.nouns.effects import Context, DatedGain, Effect
from kg.nouns.entities import Kind
from recommender.ranking.changes.drift import ENOUGH, change

START = datetime(2026, 1, 1, tzinfo=UTC)


def seen(gains: np.ndarray) -> Effect:
    empty = Effect(context=Context(), strategy="s", metric="throughput", kind=Kind.MEASURED)
    dated = [
        DatedGain(time=START + timedelta(days=day), id=f"{day:03}", unats=round(1e6 * float(gain)))
        for day, gain in enumerate(gains)
    ]
    return empty.see(dated)


def test_series_without_a_change_are_hardly_ever_called_one() -> None:
    """200 series of 32 gains: of 20 % noise none may drift but one in a hundred; the sigma is 0.7 points."""
    rng = np.random.default_rng(0)
    called = [change(seen(rng.normal(0.1, 0.2, 32))) is not None for _ in range(200)]
    assert np.mean(called) <= 0.01


@pytest.mark.parametrize("size", [0.8, -0.8])
def test_a_shift_of_four_deviations_is_seen_where_it_happened(size: float) -> None:
    rng = np.random.default_rng(1)
    gains = np.concatenate([rng.normal(0.1, 0.2, 20), rng.normal(0.1 + size, 0.2, 12)])
    found = change(seen(gains))
    assert found is not None
    assert abs(len(found.gains) - 12) <= 2
    assert found.after - found.before == pytest.approx(size, abs=0.25)
    assert found.since >= START + timedelta(days=18)


def test_few_gains_and_short_ends_are_no_change() -> None:
    assert change(seen(np.array([0.1] * (ENOUGH - 3) + [2.0] * 2))) is None
    quiet = np.concatenate([np.tile([0.1, 0.12], 10), [3.0]])
    assert change(seen(quiet)) is None
