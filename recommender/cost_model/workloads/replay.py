"""A replay of the scheduler for many configurations at once: users who wait, or requests that come at a rate.

The rules are those of vLLM's scheduler: a step holds as many tokens as it has room for, decode before
prefill, or prefill alone where steps are not mixed; who comes as a step ends is seen by the next but one, or
by the one after that where a step is scheduled while one runs. Where the cache is full, who began last gives
up its place and begins again. Engines in step take as long as the slowest of them. Steps between two events
are alike and taken together. Arrays run over engines; all configurations see the same draws, and the figures
of one do not depend on which others are replayed beside it.
"""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kg.terms.metrics import PERCENTILES
from recommender.cost_model.facts.physics import PHYSICS, Floats

Number = TypeVar("Number", np.bool_, np.float64)
Ints = NDArray[np.int64]

LEAST_MEASURED = 32
"""Requests that are measured at least, after one of each user; of more users, one of each. A choice."""
LEAST_TOKENS = 1e-6
"""Smaller counts are errors of rounding."""
EVENTS = 8
"""Steps, or rows of alike ones, for each request at most: a guard."""
MOST_TURNS = 64
"""Engines that a rate is dealt to at most: the gaps of one are even then."""
KEPT = 16384
"""Configurations whose replay is remembered, some kilobyte each. A choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """Engines with their load, each of shape (n,).

    Attributes:
        users: Requests of an engine in flight or waiting; at a rate, those that run in the mean.
        rate: Requests a second of all engines that come at random; 0 where users wait for their answers.
        engines: That share the rate.
        in_step: Of them, those that take each step together.
        seats: Requests that the engine works on at once.
        room: Tokens of a step.
        cache: Tokens that the cache of an engine holds.
        fresh: Tokens of a prompt that are computed.
        whole: Whether a prompt is prefilled in one step.
        steps: Decode steps of an answer after its first token.
        tokens: Of a decode step of a request.
        verified: Tokens of a decode step of a request that the engine computes.
        spread: Lengths are uniform within this share of their mean.
        burst: Whether users of engines in step begin together; each is anywhere in an answer else.
        ahead: Whether a step is scheduled while the one before runs.
        mixed: Whether a step holds prefill and decode.
        base_s: A step, whatever it holds.
        sequence_s: For each request that decodes.
        token_s: For each token that is prefilled.
    """

    users: Floats
    rate: Floats
    engines: Floats
    in_step: Floats
    seats: Floats
    room: Floats
    cache: Floats
    fresh: Floats
    whole: NDArray[np.bool_]
    steps: Floats
    tokens: Floats
    verified: Floats
    spread: Floats
    burst: NDArray[np.bool_]
    ahead: NDArray[np.bool_]
    mixed: NDArray[np.bool_]
    base_s: Floats
    sequence_s: Floats
    token_s: Floats


def replayed(load: Scheduled) -> dict[str, Floats]:
    """TTFT, the time of a step of an answer after it, and requests a second of an engine.

    The times are medians and percentiles, by name. A configuration that was replayed before is not again.
    """
    names = [field.name for field in fields(Scheduled)]
    rows = np.column_stack([getattr(load, name) for name in names]).astype(np.float64)
    keys = [row.tobytes() for row in rows]
    known = {key: kept for key in keys if (kept := _replays.get(key)) is not None}
    new = {key: at for at, key in enumerate(keys) if key not in known}
    if new:
        places = np.array(list(new.values()))
        figures = _figures_of(Scheduled(**{name: getattr(load, name)[places] for name in names}))
        found = {key: {name: values[at] for name, values in figures.items()} for at, key in enumerate(new)}
        if len(_replays) + len(found) > KEPT:
            _replays.clear()
        _replays.update(found)
        known |= found
    return {name: np.array([known[key][name] for key in keys]) for name in known[keys[0]]}


_replays: dict[bytes, dict[str, float]] = {}
"""Figures of the configurations that were replayed, by their columns."""


def _figures_of(load: Scheduled) -> dict[str, Floats]:
    """The figures of configurations, all of them served now."""
    wide = load.in_step.astype(np.int64)
    groups = np.cumsum(wide) - wide
    place = np.repeat(np.arange(len(wide)), wide)
    each = Scheduled(**{field.name: getattr(load, field.name)[place] for field in fields(Scheduled)})
    run = _Replay(each, np.arange(len(place)) - groups[place], groups, place)
    run.run()
    return run.figures()


class _Replay:
    """The state of the engines; ``group`` are those in step, ``place`` the group of each engine."""

    def __init__(self, load: Scheduled, member: Ints, groups: Ints, place: Ints) -> None:
        n = len(member)
        self.asked, self.groups, self.place, self.rows = load, groups, place, np.arange(n)
        self.open = load.rate > 0
        self.is_open = bool(np.any(self.open))
        total = np.ceil(load.users * load.in_step - LEAST_TOKENS)  # some of the engines have a user more
        self.users = np.floor(total / load.in_step) + (member < total % load.in_step)
        self.warm = np.maximum(self.users, np.where(self.open, LEAST_MEASURED / 4, 0)).astype(np.int64)
        turns = self.users * np.ceil(LEAST_MEASURED / np.maximum(self.users, 1))
        measured = np.where(
            self.open, np.maximum(PHYSICS["measured_at_a_rate"] / load.engines, LEAST_MEASURED), turns
        )
        self.wanted = self.warm + np.ceil(measured).astype(np.int64)
        self.sends = self._most(self.wanted + 2 * self.warm) + 1
        self.most = int(self.sends.max())
        self.prompts, self.answers = _drawn(load, member, self.sends)
        self.left = self.answers.copy()
        phase = _draws("phase", member, self.most)
        apart = (load.in_step > 1) & ~load.burst & ~self.open
        is_first = (np.arange(self.most) < self.users[:, None]) & apart[:, None]
        self.left = np.where(is_first, np.ceil(self.left * phase), self.left)
        self.first, self.last = (np.full((n, self.most), np.nan) for _ in range(2))
        self.sent = _arrivals(load, member, self.sends)
        self.sent[~self.open[:, None] & (np.arange(self.most) < self.users[:, None])] = 0.0
        seats = int(np.minimum(load.seats, np.where(self.open, self.sends - 1, self.users)).max())
        self.ends, self.size = np.full((n, seats), np.inf), np.zeros((n, seats))
        self.soon = np.full(n, np.inf)
        self.whose, self.begun = np.zeros((n, seats), dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.free, self.running = np.tile(np.arange(seats), (n, 1)), np.zeros(n, dtype=np.int64)
        self.came = np.where(self.open, 0, self.users).astype(np.int64)
        self.before = self.earlier = self.came
        self.now, self.step, self.filled, self.freed = (np.zeros(n) for _ in range(4))
        self.answered, self.since, self.made, self.held = (np.zeros(n) for _ in range(4))

    def run(self) -> None:
        """Serve until the measured requests are answered."""
        asked, rows = self.asked, self.rows
        longest = (asked.fresh + asked.steps * asked.tokens) * (1 + asked.spread) + PHYSICS["cache_block"]
        is_tight = bool(np.any(asked.cache < longest * self.ends.shape[1]))
        self.preempted = none = np.zeros(len(rows), dtype=bool)
        for _ in range(EVENTS * self.most):
            goes = self._most(self.answered < self.wanted)
            if not goes.any():
                break
            preempted, space = none, np.full(len(rows), np.inf)
            if is_tight:
                preempted, space = self._preempt()
                self.preempted = self.preempted | preempted
            running = self.running
            seen = np.where(asked.ahead, self.earlier, self.before)
            free = asked.seats - running - np.where(asked.ahead, self.freed, 0.0)
            open_ = np.where(goes & ~preempted, np.minimum(seen - self.begun, free), 0)
            taken = self._taken(np.maximum(open_, 0).astype(np.int64), running, space)
            prefills = taken > LEAST_TOKENS
            decoding = np.where(prefills & ~asked.mixed, 0, running)
            busy = prefills | (running > 0)
            unit = self._most(
                np.where(busy, asked.base_s + asked.sequence_s * decoding + taken * asked.token_s, 0)
            )
            comes = self._next()
            steps = self._alike(running, prefills, seen, unit, space, comes)
            idle = ~self._most(busy)
            until = np.where(idle & np.isfinite(comes), comes, self.now + steps * unit)
            self.now = np.where(goes, until, self.now)
            made = np.where((running > 0) & goes, np.where(prefills, asked.mixed, steps), 0.0)
            self.step = self.step + made
            after = goes & (self.answered >= self.warm)
            self.since = np.where(goes & ~after, self.now, self.since)
            self.made = self.made + np.where(after, made * running, 0)
            self.filled = self.filled + taken
            self._come(steps, idle)
            self._end()
            done = prefills
            while done.any():
                done = done & (self.prompts[rows, self.begun] <= self.filled + LEAST_TOKENS)
                self._begin(done.nonzero()[0])

    def _alike(
        self,
        running: Ints,
        prefills: NDArray[np.bool_],
        seen: Ints,
        unit: Floats,
        space: Floats,
        comes: Floats,
    ) -> Floats:
        """Steps until something happens to an engine or one in step with it."""
        till = self.soon - self.step
        waits = (seen < self.came) | (self.freed > 0)
        if self.is_open:
            till = np.minimum(till, np.ceil((comes - self.now) / np.maximum(unit, 1e-12)))
        grown = np.floor(space / (self.asked.tokens * np.maximum(running, 1))) + 1
        till = np.minimum(till, np.where(running > 0, grown, np.inf))
        till = np.where(prefills | waits, np.minimum(till, 1.0), till)
        least = -self._most(-np.maximum(till, 1.0))
        return np.where(np.isfinite(least), least, 1.0)

    def _preempt(self) -> tuple[NDArray[np.bool_], Floats]:
        """Take the cache of those that began last, where it is full; they wait before all others.

        Returns:
            The engines where some did, and the tokens that the cache has room for after the next step.
        """
        found, tokens = np.zeros(len(self.rows), dtype=bool), self.asked.tokens
        while True:
            running = self.running
            done = np.where(self.begun > 0, self.prompts[self.rows, self.begun - 1], 0.0)
            partial = np.maximum(self.filled - done, 0.0)  # of a prompt that is half prefilled
            used = self.held + tokens * self.step * running + partial
            over = used + tokens * running > self.asked.cache + LEAST_TOKENS
            over &= (running > 1) | ((running > 0) & (partial > LEAST_TOKENS))
            if not over.any():
                return found, self.asked.cache - used - tokens * running
            found |= over
            halves = over & (partial > LEAST_TOKENS)
            self.filled = np.where(halves, self.filled - partial, self.filled)
            at = np.nonzero(over & ~halves)[0]
            seat = np.argmax(np.where(np.isfinite(self.ends[at]), self.whose[at], -1), axis=1)
            mine, place = self.whose[at, seat], self.begun[at] - 1
            for kept in (self.sent, self.first, self.last, self.answers, self.left):
                kept[at, mine], kept[at, place] = kept[at, place], kept[at, mine]
            self.left[at, place] = self.ends[at, seat] - self.step[at]
            held = self.size[at, seat] + self.asked.tokens[at] * self.step[at]
            start = np.where(place > 0, self.prompts[at, place - 1], 0.0)
            longer = held - (self.prompts[at, place] - start)
            later = np.arange(self.prompts.shape[1]) >= place[:, None]
            self.prompts[at] += np.where(later, longer[:, None], 0.0)
            self.filled[at], self.begun[at] = start, place
            self._leave(at, seat)

    def _come(self, steps: Floats, idle: NDArray[np.bool_]) -> None:
        """Note the requests that have come by now; the next step, or a later one, takes them."""
        alike = (steps > 1) | idle
        self.earlier = np.where(alike & (~self.open | idle), self.came, self.before)
        self.before = self.came
        if self.is_open:
            self.came = self.came.copy()
            while np.any(more := self.open & (self.sent[self.rows, self.came] <= self.now)):
                self.came += more & (self.came < self.sends - 1)
                if np.all(self.came[more] >= self.sends[more] - 1):
                    break
            self.before = np.where(self.open, self.came, self.before)
            self.earlier = np.where(self.open & idle, self.came, self.earlier)

    def _end(self) -> None:
        """Whose answer is complete sends the next request, where users wait."""
        some = (self.soon <= self.step).nonzero()[0]
        if not len(some):
            if self.freed.any():
                self.freed = np.zeros(len(self.rows))
            return
        which, seat = (self.ends[some] <= self.step[some, None]).nonzero()
        at = some[which]
        self.last[at, self.whose[at, seat]] = self.now[at]
        self._leave(at, seat)
        self.freed = np.bincount(at, minlength=len(self.rows)).astype(np.float64)
        self.answered = self.answered + self.freed
        waits = ~self.open[at]
        place = np.minimum(self.came[at] + np.arange(len(at)) - np.searchsorted(at, at), self.sends[at] - 1)
        self.sent[at[waits], place[waits]] = self.now[at[waits]]
        came = np.minimum(self.came + self.freed.astype(np.int64), self.sends)
        self.came = np.where(self.open, self.came, came)

    def _leave(self, at: Ints, seat: Ints) -> None:
        """Free seats; the engines are in order."""
        self.ends[at, seat] = np.inf
        many = np.bincount(at, minlength=len(self.rows))
        some = many.nonzero()[0]
        self.soon[some] = self.ends[some].min(axis=1)
        self.held = self.held - np.bincount(at, self.size[at, seat], len(self.rows))
        self.running = self.running - many
        self.free[at, self.running[at] + np.arange(len(at)) - np.searchsorted(at, at)] = seat

    def _begin(self, at: Ints) -> None:
        """A prompt is prefilled: the first token is there."""
        if not len(at):
            return
        seat, mine = self.free[at, self.running[at]], self.begun[at]
        start = np.where(mine > 0, self.prompts[at, mine - 1], 0.0)
        self.ends[at, seat], self.whose[at, seat] = self.step[at] + self.left[at, mine], mine
        self.soon[at] = np.minimum(self.soon[at], self.ends[at, seat])
        held = self.prompts[at, mine] - start + PHYSICS["cache_block"] / 2 * np.isnan(self.first[at, mine])
        self.size[at, seat] = held - self.asked.tokens[at] * self.step[at]
        self.first[at, mine] = np.where(np.isnan(self.first[at, mine]), self.now[at], self.first[at, mine])
        self.held[at] += self.size[at, seat]
        self.begun[at] += 1
        self.running[at] += 1

    def _taken(self, open_: Ints, running: Ints, space: Floats) -> Floats:
        """Tokens of prompts that the next step prefills: of so many requests, as far as it has room."""
        asked, prompts, filled = self.asked, self.prompts, self.filled
        most = self.sends
        left = np.where(asked.mixed, asked.room - running * asked.verified, asked.room)
        till = np.minimum(self.begun + open_, most)
        if np.any(asked.whole):  # the first of them at least: such a step has room for the longest prompt
            alone = prompts[self.rows, np.minimum(self.begun, most)] - filled
            fit = (prompts <= (filled + np.maximum(left, alone) + LEAST_TOKENS)[:, None]).sum(axis=1)
            till, left = (
                np.where(asked.whole, one, other)
                for one, other in ((np.minimum(fit, till), till), (np.inf, left))
            )
        reach = np.where(till > self.begun, prompts[self.rows, till - 1] - filled, 0.0)
        return np.maximum(np.minimum(np.minimum(left, space), reach), 0.0)

    def _next(self) -> Floats:
        """The time of the next request; infinite where users wait."""
        if not self.is_open:
            return np.full(len(self.rows), np.inf)
        comes = self.sent[self.rows, np.minimum(self.came, self.sends - 1)]
        return -self._most(np.where(self.open & np.isfinite(comes), -comes, -np.inf))

    def _most(self, values: NDArray[Number]) -> NDArray[Number]:
        """The largest of the engines in step, of each; of truths whether any is."""
        if len(self.groups) == len(self.rows):
            return values
        return np.asarray(np.maximum.reduceat(values, self.groups)[self.place])

    def figures(self) -> dict[str, Floats]:
        """Quantiles of the measured requests of each configuration, and their pace."""
        places = np.arange(self.most)
        measured = (places >= self.warm[:, None]) & (places < self.wanted[:, None])
        pace = self.made / np.maximum(self.asked.steps, 1) / np.maximum(self.now - self.since, 1e-12)
        found = {
            "pace": np.add.reduceat(pace, self.groups) / self.asked.in_step[self.groups],
            "preempted": np.add.reduceat(self.preempted.astype(np.float64), self.groups),
        }
        each = np.bincount(self.place).max() * self.most
        for kind, values in (
            ("ttft", self.first - self.sent),
            ("tpot", (self.last - self.first) / np.maximum(self.answers, 1.0)),
        ):
            table = np.full((len(self.groups), each), np.nan)
            member = (self.rows - self.groups[self.place])[:, None]
            table[self.place[:, None], member * self.most + places] = np.where(measured, values, np.nan)
            held = np.sort(table, axis=1)  # what is not known comes last
            known = np.isfinite(held).sum(axis=1)
            for name, share in {"": 0.5, **PERCENTILES}.items():
                at = np.maximum(known - 1, 0) * share
                low = at.astype(np.int64)
                pair = [
                    held[np.arange(len(held)), np.minimum(low + one, np.maximum(known - 1, 0))]
                    for one in (0, 1)
                ]
                found[f"{kind}_{name}_s" if name else f"{kind}_s"] = pair[0] + (pair[1] - pair[0]) * (
                    at - low
                )
        return found


def _arrivals(load: Scheduled, member: Ints, sends: Ints) -> Floats:
    """Times of requests that come at a rate, dealt to engines in turn; their mean gap fits the rate."""
    most = int(sends.max())
    if not np.any(load.rate > 0):
        return np.full((len(member), most), np.nan)
    turns = np.maximum(np.minimum(load.engines, MOST_TURNS), load.in_step)  # of more the gaps are alike
    gaps = np.random.default_rng(1).exponential(size=most * int(turns.max()))
    at = np.cumsum(gaps)
    places = np.arange(most) * turns[:, None].astype(np.int64) + member[:, None]
    # the mean gap of those that are measured is that of the rate
    window = (np.minimum(PHYSICS["measured_at_a_rate"], sends) * turns).astype(np.int64)
    each = np.maximum(load.rate, 1e-12) * turns / load.engines * at[window - 1] / window
    return np.where(load.rate[:, None] > 0, at[places] / each[:, None], np.nan)


def _drawn(load: Scheduled, member: Ints, sends: Ints) -> tuple[Floats, Floats]:
    """The end of each request's prompt among the tokens of all, and the decode steps of its answer."""
    most, apart = int(sends.max()), load.spread[:, None]
    prompts = load.fresh[:, None] * (1 + apart * (2 * _draws("prompt", member, most) - 1))
    answers = load.steps[:, None] * (1 + apart * (2 * _draws("answer", member, most) - 1))
    slower = _draws("drafts", member, most)
    scatter = (
        np.where(load.verified > 1, PHYSICS["draft_scatter"], 0.0)[:, None]
        * slower
        / np.sqrt(np.maximum(answers, 1.0))
    )
    ends = np.column_stack([np.cumsum(prompts, axis=1), np.full(len(prompts), np.inf)])
    ends[np.arange(most + 1) >= sends[:, None]] = np.inf  # no request comes after the last
    return ends, np.ceil(answers * np.maximum(1 + scatter, 0.1) - LEAST_TOKENS)


def _draws(what: str, member: Ints, most: int) -> Floats:
    """So many draws for each engine, by its place among those in step: normal for drafts, of [0, 1) else."""
    kinds = ("prompt", "answer", "drafts", "phase")
    each = [np.random.default_rng((kinds.index(what), one)) for one in range(int(member.max()) + 1)]
    return np.stack([(one.normal if what == "drafts" else one.uniform)(size=most) for one in each])[member]
