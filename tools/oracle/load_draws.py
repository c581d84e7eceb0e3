"""Loads drawn by a seed over wide ranges, as many of each kind."""

import math
import random
from dataclasses import replace

from tools.oracle.serving_load import BLOCK, KINDS, ServingLoad, StepWork

MEASURED = 240
"""Requests that are measured at least; in a closed loop as many of each user."""
MOST_TOKENS = 80_000
"""Output tokens of a load about which it is drawn, so that it takes a second or two."""


def draw_loads(seed: int, each: int) -> list[ServingLoad]:
    """Draw ``each`` loads of each kind; those of a seed stay the same when more are asked for."""
    return [
        _draw(kind, 1_000_003 * seed + 1009 * place + at)
        for at, kind in enumerate(KINDS)
        for place in range(each)
    ]


def _draw(kind: str, seed: int) -> ServingLoad:
    """One load."""
    numbers = random.Random(seed)
    engines = numbers.choice((2, 4, 8)) if kind in {"engines", "lockstep"} else 1
    is_open = kind != "preempting" and numbers.random() < 0.4
    seats = numbers.choice((8, 16, 32, 64, 128, 256))
    users = 0 if is_open else _count(numbers, 16 if kind == "preempting" else 1, 192)
    requests = MEASURED if is_open else users * math.ceil(MEASURED / users)
    drafts = numbers.randint(1, 7) if kind == "drafts" else 0
    first, fall = numbers.uniform(0.5, 0.95), numbers.uniform(0.75, 1.0)
    load = ServingLoad(
        kind=kind,
        seed=seed,
        requests=requests,
        users=users,
        rate=0.0,
        input_len=_count(
            numbers, *{"chunked": (1024, 16384), "preempting": (64, 1024)}.get(kind, (64, 8192))
        ),
        output_len=_count(numbers, 128 if kind == "preempting" else 24, 512),
        spread=numbers.choice((0.0, 0.3, 0.8)),
        max_num_seqs=max(seats, users) if kind == "preempting" else seats,
        max_num_batched_tokens=numbers.choice((2048, 4096, 8192, 16384)),
        blocks=0,
        prefix_caching=int(kind == "prefix" or (kind == "preempting" and numbers.random() < 0.5)),
        prefix_share=round(numbers.uniform(0.2, 0.95), 3) if kind == "prefix" else 0.0,
        prefix_groups=numbers.choice((1, 2, 8)) if kind == "prefix" else 0,
        drafts=drafts,
        acceptance=tuple(round(first * fall**place, 3) for place in range(drafts)),
        async_scheduling=int(numbers.random() < 0.5),
        engines=engines,
        step_s=_size(numbers, 2e-3, 4e-2),
        token_s=_size(numbers, 3e-6, 1.5e-4),
        context_s=_size(numbers, 1e-9, 6e-8),
        pair_s=_size(numbers, 5e-11, 2e-9),
        host_s=_size(numbers, 3e-4, 4e-3),
    )
    if kind == "plain":
        load = replace(load, max_num_batched_tokens=max(load.max_num_batched_tokens, 2 * load.input_len))
    if kind == "chunked":
        half = max(256, load.input_len // 2)
        load = replace(load, max_num_batched_tokens=min(numbers.choice((256, 512, 1024, 2048, 4096)), half))
    most = MOST_TOKENS / 2 if is_open else MOST_TOKENS
    load = replace(load, output_len=max(16, min(load.output_len, int(most / (load.warm + requests)))))
    longest = math.ceil((load.input_len + load.output_len) * (1 + load.spread) / BLOCK) + 2
    room = load.max_num_seqs * longest + 100
    if kind == "preempting":
        running = min(users, load.max_num_seqs)
        share = numbers.uniform(0.35, 0.85)
        room = max(longest + 8, int(share * running * (load.input_len + load.output_len) / BLOCK))
    load = replace(load, blocks=room)
    share = numbers.uniform(0.15, 0.75)
    return replace(load, rate=float(f"{share * _capacity(load):.4g}")) if is_open else load


def _capacity(load: ServingLoad) -> float:
    """About the requests a second that the engines can answer: to draw rates below it, not to judge by."""
    batch, fresh = min(load.max_num_seqs, 64), load.input_len * (1 - load.prefix_share)
    middle = int(load.input_len + load.output_len / 2)
    step = load.host_s + load.step_time(
        StepWork(tokens=batch * (1 + load.drafts), context=batch * middle, decodes=batch)
    )
    kept = 1.0
    chance = 1.0
    for one in load.acceptance:
        chance *= one
        kept += chance
    chunks = math.ceil(fresh / load.max_num_batched_tokens)
    ahead = chunks * load.step_s + load.token_s * fresh + load.pair_s * fresh * load.input_len / 2
    return load.engines / (
        load.output_len / kept * step / batch + ahead * (load.engines if load.lockstep else 1)
    )


def _size(numbers: random.Random, low: float, high: float) -> float:
    """A size between two, all magnitudes alike."""
    return float(f"{math.exp(numbers.uniform(math.log(low), math.log(high))):.3g}")


def _count(numbers: random.Random, low: int, high: int) -> int:
    """A whole number between two, all magnitudes alike."""
    return round(math.exp(numbers.uniform(math.log(low), math.log(high))))
