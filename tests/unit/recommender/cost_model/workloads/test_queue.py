"""The queue before a replica."""

import math

import pytest

from recommender.cost_model.workloads.queue import longest_waiting_s, waiting_s


def test_one_slot_waits_as_pollaczek_and_khinchine_have_it() -> None:
    for load in (0.1, 0.5, 0.9):
        assert waiting_s(load, 2.0, 1.0, 0.5) == pytest.approx(load / (2 * (1 - load)) * 2.0)
        late = 2.0 / (2 * (1 - load)) * math.log(100 * load)
        assert longest_waiting_s(load, 2.0, 1.0, 0.5) == pytest.approx(late)


def test_free_slots_leave_only_the_prefills_of_others() -> None:
    many = float(waiting_s(0.3, 0.02, 64.0, 0.01))
    # the replica prefills 15 % of the time, and half a prefill is left on average
    assert many == pytest.approx(0.15 * 0.5 * 0.01, rel=0.35)
    assert many < float(waiting_s(0.3, 0.02, 1.0, 0.01))


def test_a_higher_load_waits_longer_and_a_full_one_for_ever() -> None:
    waits = [float(waiting_s(load, 0.02, 8.0, 0.01)) for load in (0.0, 0.3, 0.6, 0.9, 0.99)]
    assert waits == sorted(waits)
    assert waits[0] == 0.0
    assert float(waiting_s(1.0, 0.02, 8.0, 0.01)) == math.inf
    assert float(longest_waiting_s(1.2, 0.02, 8.0, 0.01)) == math.inf
    assert float(longest_waiting_s(0.0, 0.02, 8.0, 0.01)) == 0.0
