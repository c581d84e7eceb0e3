"""Unions of times that overlap."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.stretches import length_us
from recommender.diagnosis.rank.view import exclusive_shares

spans = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 80)), min_size=1, max_size=30)


@given(spans)
def test_the_union_is_what_a_ruler_says(given_spans: list[tuple[int, int]]) -> None:
    start = np.array([s for s, _ in given_spans], dtype=np.int64)
    end = np.array([s + d for s, d in given_spans], dtype=np.int64)
    covered = {t for s, d in given_spans for t in range(s, s + d)}
    assert round(length_us(start, end) * 1e3) == len(covered)


@given(spans)
def test_time_alone_is_what_nothing_else_shares(given_spans: list[tuple[int, int]]) -> None:
    builder = KernelBuilder("x")
    for row, (start, lasted) in enumerate(given_spans):
        builder.add(row, start * 1000, duration_us=float(lasted))
    found = exclusive_shares(builder.build())
    for row, (start, lasted) in enumerate(given_spans):
        others = {t for r, (s, d) in enumerate(given_spans) if r != row for t in range(s, s + d)}
        mine = set(range(start, start + lasted))
        assert abs(found[row] - len(mine - others) / lasted) < 1e-9


def test_parallel_streams_are_not_added_up() -> None:
    builder = KernelBuilder("x")
    builder.add(1, 0, duration_us=10.0, name="a", core="AI_CORE")
    builder.add(2, 2000, duration_us=10.0, name="b", core="AI_CORE")
    builder.add(3, 10_000, duration_us=10.0, name="hcom_allReduce__1", core="HCCL")
    builder.add(4, 30_000, duration_us=5.0, name="c", core="AI_CORE")
    [step] = split_steps(builder.build())
    assert (step.computing_us, step.exposed_us, step.overlapped_us, step.free_us) == (17.0, 8.0, 2.0, 10.0)
    assert step.step_us == 35.0
    assert step.is_counted


def test_what_lies_between_steps_belongs_to_the_later_one() -> None:
    builder = KernelBuilder("x")
    for row, (step, start, lasted) in enumerate((("3", 0, 10), ("4", 25, 10), ("4", 40, 5), ("9", 90, 10))):
        builder.add(row, start * 1000, duration_us=float(lasted), name="a", core="GPU", step=step)
    kernels = builder.build()
    assert [(s.step, s.step_us, s.free_us) for s in split_steps(kernels)] == [
        ("3", 10.0, 0.0), ("4", 20.0, 5.0), ("9", 10.0, 0.0),
    ]  # fmt: skip
    joined = split_steps(kernels, joined=True)
    assert [(s.step_us, s.free_us) for s in joined] == [(10.0, 0.0), (35.0, 20.0), (10.0, 0.0)]
    assert all(s.computing_us + s.exposed_us + s.free_us == s.step_us for s in joined)
