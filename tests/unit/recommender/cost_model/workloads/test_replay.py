"""The replay of a scheduler for many configurations at once."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from recommender.cost_model.workloads import replay
from recommender.cost_model.workloads.replay import Scheduled, replayed


def load(**told: Any) -> Scheduled:
    """Loads of prompts of 100 tokens and answers of ten steps; a step takes 10 ms, a token of a prompt 1 ms."""
    usual = {
        "users": 1.0, "rate": 0.0, "engines": 1.0, "in_step": 1.0, "seats": 8.0, "room": 1000.0, "cache": np.inf,
        "fresh": 100.0, "whole": False, "steps": 10.0, "tokens": 1.0, "verified": 1.0, "spread": 0.0, "burst": False, "ahead": False, "mixed": True, "base_s": 0.01, "sequence_s": 0.0, "token_s": 0.001,
    }  # fmt: skip
    return Scheduled(**{name: np.array([value]) for name, value in (usual | told).items()})


def test_one_user_waits_for_no_one() -> None:
    found = replayed(load())
    for name in ("ttft_s", "ttft_p99_s"):
        assert found[name] == pytest.approx(0.11)
    for name in ("tpot_s", "tpot_p99_s"):
        assert found[name] == pytest.approx(0.01)


def test_an_equal_load_is_not_replayed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = replayed(load(room=999.0))
    monkeypatch.setattr(replay, "_figures_of", None)
    assert replayed(load(room=999.0)) == first
    with pytest.raises(TypeError):
        replayed(load(room=998.0))


def test_a_figure_does_not_depend_on_what_is_replayed_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_replays", {})
    some = [
        load(users=5.0, spread=0.5, cache=900.0),
        load(users=40.0, seats=16.0, verified=3.0),
        load(rate=30.0, users=3.0, engines=2.0, spread=0.3, ahead=True),
        load(users=3.5, engines=4.0, in_step=4.0, spread=0.5),
        load(users=9.0, in_step=2.0, engines=2.0, whole=True, mixed=False),
        load(rate=200.0, users=8.0, seats=8.0),
    ]
    alone = [replayed(one) for one in some]
    monkeypatch.setattr(replay, "_replays", {})
    beside = replayed(
        Scheduled(
            **{
                one.name: np.concatenate([getattr(row, one.name) for row in some])
                for one in fields(Scheduled)
            }
        )
    )
    for name, values in beside.items():
        assert values == pytest.approx(
            np.concatenate([one[name] for one in alone]), rel=1e-12, nan_ok=True
        ), name


def test_a_prompt_longer_than_a_step_takes_several_or_one_of_its_own() -> None:
    chunked, whole = (replayed(load(room=40.0, whole=one))["ttft_s"] for one in (False, True))
    assert chunked == pytest.approx(0.13)
    assert whole == pytest.approx(0.11)


def test_a_whole_prompt_as_long_as_a_step_does_not_wait_for_the_answers_of_others() -> None:
    found = replayed(load(users=8.0, room=100.0, whole=True, steps=1000.0))
    assert found["ttft_p99_s"] < 8 * 0.12


def test_prefill_alone_stalls_what_decodes() -> None:
    mixed, alone = (replayed(load(users=8.0, room=100.0, mixed=one)) for one in (True, False))
    assert alone["tpot_p99_s"] >= mixed["tpot_p99_s"]


def test_requests_at_a_rate_wait_for_the_end_of_a_step_and_for_one_another() -> None:
    """Alone a prefill of 110 ms; at half of what can be answered some meet, at nine tenths nearly all wait."""
    rare, half, busy = (replayed(load(rate=rate)) for rate in (0.01, 2.0, 8.0))
    assert rare["ttft_s"] == pytest.approx(0.11)
    assert rare["tpot_p99_s"] == pytest.approx(0.01)
    assert 0.11 < half["ttft_p99_s"] < busy["ttft_p99_s"]
    assert half["tpot_s"] < busy["tpot_s"]


def test_engines_that_share_a_rate_get_their_part_of_it() -> None:
    one, four = (replayed(load(rate=4.0, engines=engines)) for engines in (1.0, 4.0))
    assert four["ttft_p99_s"] < one["ttft_p99_s"]
    for engines in (1.0, 2.0, 8.0, 100.0):
        assert replayed(load(rate=2 * engines, engines=engines))["pace"] == pytest.approx(2, rel=0.1)


def test_engines_in_step_wait_for_the_one_that_prefills() -> None:
    """Those of a burst of equal requests prefill together; where users are apart, each engine stalls the others."""
    burst = [replayed(load(users=4.0, in_step=wide, engines=wide, burst=True)) for wide in (1.0, 4.0)]
    assert burst[1]["pace"] == pytest.approx(burst[0]["pace"])
    for spread in (0.0, 0.8):
        apart = [replayed(load(users=4.0, in_step=wide, engines=wide, spread=spread)) for wide in (1.0, 4.0)]
        assert apart[1]["pace"] < 0.8 * apart[0]["pace"]


def test_a_full_cache_lets_fewer_run_and_takes_the_place_of_the_last() -> None:
    wide, tight = (replayed(load(users=8.0, cache=cache)) for cache in (np.inf, 450.0))
    assert not wide["preempted"]
    assert tight["preempted"]
    assert tight["ttft_s"] > wide["ttft_s"]
    assert tight["pace"] < wide["pace"]
    assert not replayed(load(users=4.0, cache=4 * 120.0))["preempted"]
