"""The scheduler of one engine."""

import random
from dataclasses import dataclass

import pytest

from benchmarks.scheduler.engine import FreeBlocks, LoopEngine, LoopSequence, blocks_of
from benchmarks.scheduler.load import LoopSettings
from kg.errors import InputError


@dataclass(frozen=True)
class Asked:
    """A request of a test."""

    input_len: int
    output_len: int
    shared: int = 0
    group: int = 0
    gap: float = 0.0


def settings_of(**changes: object) -> LoopSettings:
    base: dict[str, object] = {"users": 1, "warm": 0, "measured": 1, "seats": 8, "room": 256, "blocks": 101}
    return LoopSettings(**base | changes)  # type: ignore[arg-type]


def engine_of(*asked: Asked, **changes: object) -> LoopEngine:
    engine = LoopEngine(settings_of(**changes))
    engine.inbox += [sequence_of(one) for one in asked]
    return engine


def sequence_of(one: Asked) -> LoopSequence:
    return LoopSequence(request=one, sent=0.0, engine=0, target=one.input_len, left=one.output_len)


def run(engine: LoopEngine, steps: int = 1) -> list[LoopSequence]:
    """Run planned steps at once; which requests they answered."""
    done: list[LoopSequence] = []
    for at in range(steps):
        plan = engine.plan()
        done += engine.settle(plan, 1, at + 1.0, random.Random(1), flies=False)[1]
    return done


def test_a_prompt_is_cut_where_the_step_is_full_and_those_that_run_go_first() -> None:
    engine = engine_of(Asked(300, 9), Asked(100, 9))
    first, second, third = engine.plan(), engine.plan(), engine.plan()
    assert (first.tokens, first.sequences, first.pairs) == (256, [], 256 * 128)
    assert second.tokens == 44 + 100
    assert second.context == 300 + 100
    assert second.pairs == 44 * 278 + 100 * 50
    assert [one.request.input_len for one in second.sequences] == [300, 100]
    assert (third.tokens, third.decodes, third.context) == (2, 2, 301 + 101)


def test_no_more_run_than_there_are_seats() -> None:
    engine = engine_of(*[Asked(10, 2)] * 5, seats=2)
    assert engine.plan().tokens == 20
    assert len(engine.waiting) == 3
    assert not run(engine_of(Asked(10, 2)))
    assert len(run(engine_of(Asked(10, 2)), 2)) == 1


def test_steps_that_differ_in_their_context_alone_are_planned_together() -> None:
    engine = engine_of(Asked(10, 30), Asked(10, 50))
    plan = engine.plan()
    assert plan.steps == 1  # prompts
    engine.settle(plan, 1, 1.0, random.Random(1), flies=False)
    plan = engine.plan()
    assert plan.steps == 29  # until the first is answered
    engine.advance(plan, 28)
    produced, done = engine.settle(plan, 29, 2.0, random.Random(1), flies=False)
    assert produced == 2 * 29
    assert [one.request.output_len for one in done] == [30]
    assert engine.running[0].reached == 10 + 29


def test_the_last_to_come_loses_its_blocks_and_is_prefilled_again_with_what_it_had() -> None:
    engine = engine_of(Asked(30, 40), Asked(30, 40), blocks=6)  # five to use: two and two, one to grow
    run(engine, 4)
    assert engine.preemptions == 1
    assert [one.request.input_len for one in engine.waiting] == [30]
    lost = engine.waiting[0]
    assert (lost.blocks, lost.reached, lost.target) == (0, 0, 30 + 40 - lost.left)
    run(engine, 36)  # until the other is answered
    target = lost.target
    assert engine.plan().tokens == target
    cached = engine_of(Asked(30, 40), Asked(30, 40), blocks=8, prefix_caching=True)
    run(cached, 40)
    assert cached.preemptions == 1
    target = cached.waiting[0].target
    assert cached.plan().tokens == target - 2 * 16  # of its three blocks one was taken since


def test_a_shared_prefix_is_prefilled_by_the_first_of_its_group() -> None:
    asked = [Asked(100, 5, shared=50), Asked(100, 5, shared=50), Asked(100, 5, shared=50, group=1)]
    assert engine_of(*asked, prefix_caching=True, room=1000).plan().tokens == 100 + 52 + 100
    assert engine_of(*asked, room=1000).plan().tokens == 300


def test_accepted_drafts_are_tokens_and_rejected_ones_are_taken_back() -> None:
    engine = engine_of(Asked(10, 20), acceptance=(1.0, 0.0))
    run(engine)
    plan = engine.plan()
    assert (plan.tokens, plan.steps) == (3, 1)
    assert engine.settle(plan, 1, 1.0, random.Random(1), flies=False)[0] == 2
    assert engine.running[0].reached == 12


def test_a_request_that_never_fits_is_refused() -> None:
    with pytest.raises(InputError, match="blocks: 4 do not hold 100 tokens"):
        engine_of(Asked(100, 5), blocks=4).plan()


def test_blocks_are_taken_in_the_order_in_which_they_became_free() -> None:
    owner, other = sequence_of(Asked(1, 1)), sequence_of(Asked(1, 1))
    free = FreeBlocks(4)
    free.take(4)
    free.give(owner, 2)
    free.give(other, 2)
    free.take(3)
    assert (free.held(owner), free.held(other), free.count) == (0, 1, 1)
    assert (free.claim(other), free.count) == (1, 0)
    assert (blocks_of(16), blocks_of(17)) == (1, 2)
