"""The replay of a scheduler for many configurations at once."""

from typing import Any

import numpy as np
import pytest

from recommender.cost_model.workloads.replay import Scheduled, replayed


def load(**told: Any) -> Scheduled:
    """Loads of prompts of 100 tokens and answers of ten steps; a step takes 10 ms, a token of a prompt 1 ms."""
    usual = {
        "users": 1.0, "seats": 8.0, "room": 1000.0, "fresh": 100.0, "whole": False, "steps": 10.0, "verified": 1.0,
        "spread": 0.0, "ahead": False, "mixed": True, "base_s": 0.01, "sequence_s": 0.0, "token_s": 0.001,
    }  # fmt: skip
    return Scheduled(**{name: np.array([value]) for name, value in (usual | told).items()})


def test_one_user_waits_for_no_one() -> None:
    found = replayed(load())
    for name in ("ttft_s", "ttft_p99_s"):
        assert found[name] == pytest.approx(0.11)
    for name in ("tpot_s", "tpot_p99_s"):
        assert found[name] == pytest.approx(0.01)


def test_users_of_equal_requests_stay_together() -> None:
    """Five begin in one step, end in one and begin again; ten that two steps hold take turns."""
    assert replayed(load(users=5.0))["ttft_s"] == pytest.approx(0.51)
    crowd = replayed(load(users=8.0, room=400.0))
    assert 0.41 <= crowd["ttft_s"] < crowd["ttft_p99_s"] <= 1.1


def test_more_users_than_seats_wait_for_a_seat() -> None:
    seated, waiting = (replayed(load(users=users, seats=2.0))["ttft_s"] for users in (2.0, 6.0))
    assert waiting > 3 * seated


def test_a_prompt_longer_than_a_step_takes_several_or_one_of_its_own() -> None:
    chunked, whole = (replayed(load(room=40.0, whole=one))["ttft_s"] for one in (False, True))
    assert chunked == pytest.approx(0.13)
    assert whole == pytest.approx(0.11)


def test_prefill_alone_stalls_what_decodes() -> None:
    mixed, alone = (replayed(load(users=8.0, room=100.0, mixed=one)) for one in (True, False))
    assert alone["tpot_p99_s"] >= mixed["tpot_p99_s"]
