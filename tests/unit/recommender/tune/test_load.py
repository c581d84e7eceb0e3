"""Loads: the same requests for all arms, and a client that puts them on a real server in time."""

import threading
import time
from collections.abc import Iterator

import pytest

from kg.errors import InputError
from recommender.measuring.outcome import CancelledError
from recommender.tune.http_stream import Address
from recommender.tune.load import Load, LoadKind, put
from recommender.tune.ports import free_port
from tests.fake_engine import running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A server of four slots and 4 ms a token."""
    port = free_port()
    with running(tmp_path_factory.mktemp("engine"), port, "--max-num-seqs", "4"):
        yield Address(port=port)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("concurrency=64", (LoadKind.CONCURRENCY, 64.0)),
        ("20/s", (LoadKind.RATE, 20.0)),
        ("2.5", (LoadKind.RATE, 2.5)),
        ("find", (LoadKind.FIND, 0.0)),
    ],
)
def test_loads_as_people_write_them(text: str, found: tuple[LoadKind, float]) -> None:
    assert Load.parse(text) == found


@pytest.mark.parametrize("text", ["", "0/s", "concurrency=0", "much", "-3/s", "inf"])
def test_what_is_no_load_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Load.parse(text)


def test_arrivals_are_those_of_the_seed_and_as_many_as_asked() -> None:
    load = Load(kind=LoadKind.RATE, value=10, requests=50, input_len=7, output_len=3)
    first, again, other = load.draw(1), load.draw(1, salt=1), load.draw(2)
    assert len(first) == 50
    assert [item.moment for item in first] == [item.moment for item in again]
    assert [item.moment for item in first] != [item.moment for item in other]
    assert [item.moment for item in first] == sorted(item.moment for item in first)
    assert not {item.prompt for item in first} & {
        item.prompt for item in again
    }  # nothing is in a prefix cache
    assert all(len(item.prompt.split()) == 7 for item in first)
    assert load.draw(1, 2.0)[0].prompt.count(" ") == 13


def test_a_trace_keeps_its_lengths_and_its_gaps() -> None:
    load = Load(kind=LoadKind.RATE, requests=3, shapes=((10.0, 5, 1), (11.0, 6, 2), (14.0, 7, 3)))
    drawn = load.draw(0)
    assert [item.moment for item in drawn] == [0.0, 0.25, 1.0]
    assert [len(item.prompt.split()) for item in drawn] == [5, 6, 7]
    assert [item.output_len for item in drawn] == [1, 2, 3]


def test_a_fast_server_gets_more_requests_and_never_too_many() -> None:
    load = Load(kind=LoadKind.FIND, requests=100, least_s=5)
    assert [load.count(rate) for rate in (1, 30, 1e6)] == [100, 150, 5000]


def test_an_open_loop_sends_when_it_is_due_whatever_the_server_does(address: Address) -> None:
    load = Load(kind=LoadKind.RATE, value=40, requests=40, input_len=4, output_len=5)
    found = put(address, "model", load.draw(0), rate=40, cancel=threading.Event())
    assert len(found.ended) == 40
    assert found.send_lag_s < 0.2
    assert all(item.tokens == 5 for item in found.ended)
    assert all(item.prompt_tokens == 4 for item in found.ended)
    dues = sorted(item.due for item in found.records)
    assert dues == pytest.approx([item.moment for item in load.draw(0)])
    first = found.ended[0]
    assert 0.003 < (first.latency("ttft") or 0) < (first.latency("e2e") or 0)


def test_a_queue_counts_from_when_a_request_was_due(address: Address) -> None:
    """Twelve at once for four slots of 40 ms: the last wait for two rounds, and that is their latency."""
    drawn = Load(kind=LoadKind.RATE, requests=12, input_len=4, output_len=10).draw(0)
    found = put(address, "model", drawn, rate=1e4, cancel=threading.Event())
    assert (found.percentile("ttft", 0.99) or 0) > 0.07


def test_a_closed_loop_has_so_many_users(address: Address) -> None:
    drawn = Load(kind=LoadKind.CONCURRENCY, requests=8, input_len=4, output_len=5).draw(0)
    one = put(address, "model", drawn, users=1, cancel=threading.Event())
    four = put(address, "model", drawn, users=4, cancel=threading.Event())
    assert one.wall_s > 0.15
    assert four.tokens_per_s > 1.5 * one.tokens_per_s


def test_a_probe_ends_when_it_is_decided(address: Address) -> None:
    drawn = Load(kind=LoadKind.RATE, requests=200, input_len=4, output_len=2).draw(0)
    found = put(
        address,
        "model",
        drawn,
        rate=50,
        cancel=threading.Event(),
        is_decided=lambda records: len(records) >= 10,
    )
    assert found.is_cut
    assert 10 <= len(found.records) < 100


def test_a_probe_can_be_interrupted(address: Address) -> None:
    cancel, began = threading.Event(), time.monotonic()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(CancelledError):
        put(address, "model", Load(kind=LoadKind.RATE, requests=100).draw(0), rate=1, cancel=cancel)
    assert time.monotonic() - began < 20


def test_who_does_not_answer_is_an_error_of_each_request() -> None:
    drawn = Load(kind=LoadKind.RATE, requests=3).draw(0)
    found = put(Address(port=free_port()), "m", drawn, rate=100, cancel=threading.Event())
    assert found.ended == ()
    assert all(item.error for item in found.records)
    assert found.percentile("ttft", 0.5) is None
