"""Requests at once, by Little's law."""

import pytest

from ingest.door.requests import PIECE, told_requests

TASK = {"shape": {"input_len": 128, "output_len": 128}}


@pytest.mark.parametrize(("rate", "is_one"), [(110.0, True), (16 * 110.0, False), (300.0, False)])
def test_a_batch_beside_the_latency_of_one_request_is_none_of_requests(rate: float, is_one: bool) -> None:
    config = {"batch_size": 16, "framework": "wolf"}
    outcome = {"metric": "throughput", "value": rate, "latency_s": 2.33}
    found, assumed = told_requests(TASK, config, outcome)
    assert (found["batch_size"], found.get(PIECE)) == ((1, 16) if is_one else (16, None))
    assert bool(assumed) is is_one


def test_what_does_not_say_enough_stays_as_it_is() -> None:
    config = {"batch_size": 16}
    for outcome in (
        {"metric": "throughput", "value": 110.0},
        {"metric": "latency", "value": 2.0, "latency_s": 2.0},
    ):
        assert told_requests(TASK, config, outcome) == (config, "")
    assert told_requests({"shape": "128"}, config, {"metric": "throughput", "value": 1, "latency_s": 1}) == (
        config,
        "",
    )
