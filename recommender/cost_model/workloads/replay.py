"""A replay of the scheduler for many configurations at once: who has an answer sends the next request.

The rules are those of vLLM's scheduler: a step holds as many tokens as it has room for, decode before
prefill, or prefill alone where steps are not mixed; who comes as a step ends is seen by the next, or by the
one after it where a step is scheduled while one runs. Steps between two answers are alike and taken together.
Arrays run over configurations; all of them see the same draws of lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.terms.metrics import PERCENTILES

Floats = NDArray[np.float64]

LEAST_MEASURED = 32
"""Requests that are measured at least, after one of each user; of more users, one of each. A choice."""
LEAST_TOKENS = 1e-6
"""What is less is an error of rounding."""
EVENTS = 8
"""Steps, or rows of alike ones, for each request at most: a guard."""
SCATTER = 0.5
"""Standard deviation of the tokens of a step over their mean where 1 to 4 drafts are accepted: .3 to .6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """Engines with their load, each of shape (n,).

    Attributes:
        users: Requests in flight or waiting.
        seats: Requests that the engine works on at once.
        room: Tokens of a step.
        fresh: Tokens of a prompt that are computed.
        whole: Whether a prompt is prefilled in one step.
        steps: Decode steps of an answer after its first token.
        verified: Tokens of a decode step of a request.
        spread: Lengths are uniform within this share of their mean.
        ahead: Whether a step is scheduled while the one before runs.
        mixed: Whether a step holds prefill and decode.
        base_s: A step, whatever it holds.
        sequence_s: For each request that decodes.
        token_s: For each token that is prefilled.
    """

    users: Floats
    seats: Floats
    room: Floats
    fresh: Floats
    whole: NDArray[np.bool_]
    steps: Floats
    verified: Floats
    spread: Floats
    ahead: NDArray[np.bool_]
    mixed: NDArray[np.bool_]
    base_s: Floats
    sequence_s: Floats
    token_s: Floats


def replayed(asked: Scheduled) -> dict[str, Floats]:
    """TTFT and the time of a step of an answer after it, by name: the median and percentiles."""
    users, n = asked.users, len(asked.users)
    wanted = (users + np.maximum(users, LEAST_MEASURED)).astype(np.int64)
    most, rows = int((wanted + 2 * users).max()) + 1, np.arange(n)
    prompts, answers = _drawn(asked, most)
    sent, first, last = (np.full((n, most), np.nan) for _ in range(3))
    sent[np.arange(most) < users[:, None]] = 0.0
    ends = np.full((n, int(np.minimum(asked.seats, users).max())), np.inf)
    whose, begun = np.zeros(ends.shape, dtype=np.int64), np.zeros(n, dtype=np.int64)
    came, before, earlier = users.astype(np.int64), users, users
    now, step, filled, freed = (np.zeros(n) for _ in range(4))
    for _ in range(EVENTS * most):
        goes = came - users < wanted
        if not np.any(goes):
            break
        running = np.isfinite(ends).sum(axis=1)
        seen = np.where(asked.ahead, earlier, before)
        open_ = goes * np.minimum(seen - begun, asked.seats - running - np.where(asked.ahead, freed, 0.0))
        taken = _taken(asked, prompts, begun, np.maximum(open_, 0).astype(np.int64), filled, running)
        prefills = taken > LEAST_TOKENS
        till_end = np.maximum(ends.min(axis=1) - step, 0.0)
        till_end = np.where((seen < came) | (freed > 0), np.minimum(till_end, 1.0), till_end)
        steps = np.where(running > 0, np.where(prefills, asked.mixed, till_end), 0.0)
        decoding = np.where(prefills & ~asked.mixed, 0, running)
        now += np.where(prefills, 1.0, steps) * (asked.base_s + asked.sequence_s * decoding)
        now += taken * asked.token_s
        step, filled = step + steps, filled + taken
        over = ends <= step[:, None]
        freed = over.sum(axis=1).astype(np.float64)
        earlier = np.where((steps > 1) | ~(prefills | (steps > 0)), came, before)
        before = came.astype(np.float64)
        if np.any(over):  # who has an answer sends the next request
            at, seat = np.nonzero(over)
            last[at, whose[at, seat]] = now[at]
            ends[at, seat] = np.inf
            place = np.minimum(came[at] + np.arange(len(at)) - np.searchsorted(at, at), most - 1)
            sent[at, place] = now[at]
            came = np.minimum(came + freed.astype(np.int64), most)
        done = prefills
        while np.any(done := done & (prompts[rows, begun] <= filled + LEAST_TOKENS)):
            at = np.nonzero(done)[0]
            seat = np.argmax(np.isinf(ends[at]), axis=1)
            ends[at, seat], whose[at, seat] = step[at] + answers[at, begun[at]], begun[at]
            first[at, begun[at]] = now[at]
            begun[at] += 1
    return _figures(asked, wanted, first - sent, (last - first) / np.maximum(answers, 1.0))


def _drawn(asked: Scheduled, most: int) -> tuple[Floats, Floats]:
    """Where the prompt of each request ends among all of their tokens, and the decode steps of its answer."""
    numbers, apart = np.random.default_rng(0), asked.spread[:, None]
    longer, slower = numbers.uniform(-1, 1, (2, most)), numbers.normal(size=most)
    prompts = np.cumsum(asked.fresh[:, None] * (1 + apart * longer[0]), axis=1)
    answers = asked.steps[:, None] * (1 + apart * longer[1])
    scatter = np.where(asked.verified > 1, SCATTER, 0.0)[:, None] * slower / np.sqrt(np.maximum(answers, 1.0))
    prompts = np.column_stack([prompts, np.full(len(prompts), np.inf)])  # no request comes after the last
    return prompts, np.ceil(answers * np.maximum(1 + scatter, 0.1) - LEAST_TOKENS)


def _taken(
    asked: Scheduled,
    prompts: Floats,
    begun: NDArray[np.int64],
    open_: NDArray[np.int64],
    filled: Floats,
    running: NDArray[np.int64],
) -> Floats:
    """Tokens of prompts that the next step prefills: of so many requests, as far as it has room."""
    rows, most = np.arange(len(begun)), prompts.shape[1] - 1
    left = np.where(asked.mixed, asked.room - running * asked.verified, asked.room)
    till = np.minimum(begun + open_, most)
    if np.any(asked.whole):  # one that is longer than a step has a step of its own
        alone = np.where(running <= 0, prompts[rows, begun] - filled, 0.0)
        fit = (prompts <= (filled + np.maximum(left, alone) + LEAST_TOKENS)[:, None]).sum(axis=1)
        till, left = (
            np.where(asked.whole, one, other)
            for one, other in ((np.minimum(fit, till), till), (np.inf, left))
        )
    reach = np.where(till > begun, prompts[rows, till - 1] - filled, 0.0)
    return np.maximum(np.minimum(left, reach), 0.0)


def _figures(asked: Scheduled, wanted: NDArray[np.int64], waits: Floats, paces: Floats) -> dict[str, Floats]:
    """Quantiles of the measured requests of each configuration."""
    places = np.arange(waits.shape[1])
    measured = (places >= asked.users[:, None]) & (places < wanted[:, None])
    found: dict[str, Floats] = {}
    for kind, values in (("ttft", waits), ("tpot", paces)):
        held = np.sort(np.where(measured, values, np.nan), axis=1)  # what is not known comes last
        known = np.isfinite(held).sum(axis=1)
        for name, share in {"": 0.5, **PERCENTILES}.items():
            place = np.maximum(known - 1, 0) * share
            low = place.astype(np.int64)
            pair = [
                held[np.arange(len(held)), np.minimum(low + one, np.maximum(known - 1, 0))] for one in (0, 1)
            ]
            found[f"{kind}_{name}_s" if name else f"{kind}_s"] = pair[0] + (pair[1] - pair[0]) * (place - low)
    return found
