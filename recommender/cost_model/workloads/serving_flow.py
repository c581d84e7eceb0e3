"""A serving load composed of the times of its steps: how prefills and decode steps share an engine.

Where the times come from does not matter here: the operators of a network, or a function that a scheduler was
run under (``benchmarks/cost_models/scheduling.py``). Arrays run over configurations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kg.terms.metrics import PERCENTILES
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import Floats
from recommender.cost_model.settings.drafts import tokens_a_step
from recommender.cost_model.settings.plans import CHOICES, Columns
from recommender.cost_model.workloads.launching import room_of
from recommender.cost_model.workloads.queue import longest_waiting_s, waiting_s
from recommender.cost_model.workloads.replay import LEAST_MEASURED, Scheduled, replayed

LEAST_S = 1e-9
"""Least time of a pass that costs a step nothing: its prefill is launched with the decode step anyway."""
MOST_REPLAYED, MOST_USERS, LEAST_IN_STEP = 256, 1024, 8
"""Configurations that are replayed, those with most throughput, their users, and engines in step of more
users: a choice."""
MOST_TURNS = 4096
"""Steps that prefill what is sent and measured, of a configuration that is replayed: .1 ms each; a choice."""
ROUNDS = 12
"""After which the number of running requests stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """Contents of the steps of a load.

    Attributes:
        tokens: Tokens that a decode step gives a sequence.
        steps: Decode steps of an answer.
        fresh: Tokens of a prompt that no prefix holds.
        chunk: Those of them that one pass prefills.
        count: Passes of a prefill.
        together: Requests that are prefilled in one pass.
        room: Tokens of a step.
    """

    tokens: Floats
    steps: Floats
    fresh: Floats
    chunk: Floats
    count: Floats
    together: Floats
    room: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Times of the steps of a load, in seconds.

    Attributes:
        decode_s: A decode step of all sequences of an engine.
        alone_s: The passes of a prefill where no other request is prefilled.
        passes_s: The same where as many are as come together.
        transfer_s: Moving the cache to the engine that decodes; 0 where the same one does.
        base_s: The part of a decode step that its sequences share, such as the weights, and a prefill pass in
            the same step too (``mixed_steps``).
    """

    decode_s: Floats
    alone_s: Floats
    passes_s: Floats
    transfer_s: Floats
    base_s: Floats | float = 0.0


def step_plan(s: Columns, device: Device) -> StepPlan:
    """The contents of the steps of checked columns: tokens, chunks, and room for requests."""
    tokens = tokens_a_step(s["speculative_tokens"], s["acceptance"], s["draft_method"], s["draft_steps"])
    # what the prefix holds is not redone
    fresh = np.maximum(s["input_len"] * (1 - s["prefix_hit"]), 1)
    chunk = np.where(s["chunk"] > 0, np.minimum(s["chunk"], fresh), fresh)
    steps, room = s["output_len"] / tokens, room_of(s, device)
    # as many are prefilled in one pass as finish a step in the mean, as far as it has room for them
    at_once = np.maximum(np.floor(np.minimum(s["batch"] / steps, room / fresh)), 1)
    return StepPlan(
        tokens=tokens,
        steps=steps,
        fresh=fresh,
        chunk=chunk,
        count=np.ceil(fresh / chunk),
        together=np.maximum(s["prefill_batch"], at_once),
        room=room,
    )


def serving_flow(
    s: Columns, plan: StepPlan, times: StepTimes, in_step: Floats | float = 1.0
) -> tuple[Floats, Mapping[str, Floats]]:
    """Output tokens a second of all engines; TTFT, TPOT, their tails and the load by name.

    Args:
        s: Checked columns.
        plan: What the steps hold.
        times: What they take.
        in_step: Engines that take each step together.
    """
    dp, pp, batch, length, produced = (
        s[name] for name in ("data_parallel", "pipeline_parallel", "batch", "input_len", "output_len")
    )
    step_s, steps, count, transfer_s = times.decode_s, plan.steps, plan.count, times.transfer_s
    # c chunks through p stages take c + p - 1 turns of one stage; the pipeline is busy for c of them
    prefill_s = times.alone_s * (count + pp - 1) / (count * pp)
    busy_s = times.passes_s / pp / plan.together
    apart = is_apart(s)
    # A request's share of the engine: its prefill and its part of the decode steps.
    passes = count / plan.together
    each = passes / np.maximum(steps, 1)
    base_s = np.minimum(times.base_s, step_s)
    shared_s = np.where((s["mixed_steps"] > 0) & (batch > 1) & ~apart, base_s, 0.0)
    pass_s = np.maximum(busy_s / passes - shared_s, LEAST_S)
    rate, alone = s["request_rate"], s["prefill_engines"] > 0

    def taken_s(running: Floats) -> tuple[Floats, Floats]:
        """The step of so many requests, and the time of a token with the prefills of others between steps."""
        others = np.maximum(running - 1, 0.0)
        stalled = np.where(apart, 0.0, pass_s * _prefilling(each * others, each * running, in_step))
        beside_s = base_s + (step_s - base_s) * running / batch
        return beside_s, (beside_s + stalled) / plan.tokens

    running = batch
    beside_s, tpot = taken_s(running)
    for _ in range(ROUNDS if np.any(rate > 0) else 0):
        # as many run as come while one is answered (Little)
        came = np.clip(rate * produced * tpot / np.maximum(dp - s["prefill_engines"], 1), 1.0, batch)
        running = np.where(rate > 0, came, batch)
        beside_s, tpot = taken_s(running)
    held_s = np.where(
        apart, busy_s, pass_s * _prefilling(each * batch, each * batch, in_step) * steps / batch
    )
    capacity, load, turn = _pace(s, held_s, steps * step_s / batch)
    queue = (load, turn, np.where(alone, 1.0, batch), busy_s)
    # a prefill waits for the end of a step, and its passes hold the decode steps of the others
    met = np.where(
        apart | (running <= 1), 0.0, beside_s / 2 + np.where(shared_s > 0, count * (beside_s - base_s), 0.0)
    )
    first_s = prefill_s + met + transfer_s
    answered_s = first_s + produced * tpot
    # users beyond the seats wait until one is free: all of them over the pace is the time of a turn (Little)
    seated = np.where(rate > 0, 0.0, np.maximum(s["concurrency"] / capacity - answered_s, 0.0))
    seated = np.where(s["concurrency"] > batch * dp, seated, 0.0)
    ttft = first_s + np.where(rate > 0, waiting_s(*queue), seated)
    flowing = _flowing(s, capacity, answered_s)
    others_s, coming = np.where(apart, 0.0, pass_s * passes), flowing / dp * first_s
    tails = {}
    for name, share in PERCENTILES.items():
        met_s = seated + others_s * (coming + NormalDist().inv_cdf(share) * np.sqrt(coming))
        tails[f"ttft_{name}_s"] = first_s + np.where(rate > 0, longest_waiting_s(*queue, share), met_s)
        late = np.where(apart, 0.0, _late(running * in_step, share))
        tails[f"tpot_{name}_s"] = tpot + late * busy_s / produced
    output = produced * flowing
    seen = {"ttft_s": ttft, "tpot_s": tpot, **tails}
    waiting = np.where(s["concurrency"] > 0, s["concurrency"] / dp, batch)
    users = np.where(rate > 0, np.ceil(running), waiting)
    # a step goes through all stages while those of as many groups of requests follow it: as engines in step
    groups = np.minimum(pp, batch)
    some, rows = _replays(s, plan, users / groups, in_step * groups, np.where(~apart & (load < 1), output, 0))
    if len(rows):
        token_s = np.maximum(busy_s * pp / passes - base_s, LEAST_S) * passes / plan.fresh
        times_s = (base_s, (step_s - base_s) / batch * groups, token_s)
        sharing = (users / groups, some, groups, in_step * groups > 1)
        seen, output = _with_replay(seen, output, s, plan, sharing, times_s, (prefill_s, times.alone_s), rows)
    return output, {
        **seen,
        "first_s": first_s,
        "prefill_s": prefill_s,
        "kv_transfer_s": transfer_s,
        "prefill_throughput": np.where(alone, s["prefill_engines"], dp) * length / busy_s,
        "decode_throughput": dp * batch * plan.tokens / step_s,
        "prefill_share": held_s / (held_s + steps * step_s / batch),
        "load": load,
        "tokens_per_step": plan.tokens,
        "request_s": seen["ttft_s"] + produced * seen["tpot_s"],
        # a request that is slow in both: no fewer than that share of them are done by then
        **{
            f"request_{end}_s": seen[f"ttft_{end}_s"] + produced * seen[f"tpot_{end}_s"]
            for end in PERCENTILES
        },
    }


def _replays(
    s: Columns, plan: StepPlan, users: Floats, in_step: Floats, output: Floats
) -> tuple[Floats, NDArray[np.int64]]:
    """Engines in step that a replay takes, and the configurations that are replayed: the best by output."""
    some = engines_replayed(users, in_step)
    sent = np.maximum(users, 1.0) * some
    turns = np.where(s["chunk"] > 0, np.ceil(plan.fresh / plan.room), 1.0)
    turns *= users + np.maximum(users, LEAST_MEASURED)
    loop = np.nonzero((output > 0) & (sent <= MOST_USERS) & (turns <= MOST_TURNS))[0]
    best = loop[np.argsort(-output[loop], kind="stable")[:MOST_REPLAYED]]
    return some, best[: max(1, int(np.searchsorted(np.cumsum(sent[best]), MOST_USERS * 2, side="right")))]


def _with_replay(
    seen: Mapping[str, Floats],
    output: Floats,
    s: Columns,
    plan: StepPlan,
    sharing: tuple[Floats, Floats, Floats, NDArray[np.bool_]],
    times: tuple[Floats, Floats, Floats],
    prefill: tuple[Floats, Floats],
    rows: NDArray[np.int64],
) -> tuple[dict[str, Floats], Floats]:
    """The times that users see and the output, where some rows are replayed.

    Of users who wait, the mean time of a token and the output are those of the closed form, but for engines
    in step and full caches. Passes of one prompt follow each other through the stages of a pipeline, where
    the replay takes them one by one.
    """
    users, in_step, groups, waits = sharing
    prefill_s, alone_s = prefill
    asked = {
        **dict(zip(("base_s", "sequence_s", "token_s"), times, strict=True)),
        "users": users,
        "rate": s["request_rate"],
        "engines": s["data_parallel"] * groups,
        "in_step": in_step,
        "seats": np.ceil(s["batch"] / groups),
        "room": np.maximum(plan.room, plan.fresh * (s["chunk"] <= 0)),
        "cache": np.where(s["cache_tokens"] > 0, s["cache_tokens"] / groups, np.inf),
        "fresh": plan.fresh,
        "whole": s["chunk"] <= 0,
        "steps": np.maximum(s["output_len"] - 1, 0.0) / plan.tokens,
        "tokens": plan.tokens,
        "verified": 1 + s["speculative_tokens"],
        "spread": s["length_spread"],
        "burst": s["burst"] > 0,
        "ahead": s["async_scheduling"] > 0,
        "mixed": s["mixed_steps"] > 0,
    }
    found = replayed(Scheduled(**{name: values[rows] for name, values in asked.items()}))
    is_open = s["request_rate"][rows] > 0
    other = (np.broadcast_to(waits, users.shape)[rows] | (found["preempted"] > 0)) & ~is_open
    mean, replaced = seen["tpot_s"], {name: values.copy() for name, values in seen.items()}
    for name in seen:
        said = found[name] if name.startswith("ttft") else found[name] / plan.tokens[rows]
        if name.startswith("ttft"):
            late = (alone_s - prefill_s)[rows]
            said = np.where(late > 0, np.maximum(said - late, prefill_s[rows]), said)
        if name.startswith("tpot"):
            least = np.where(other | is_open, 0.0, mean[rows])
            said = np.maximum(said, least) if name != "tpot_s" else np.where(least > 0, least, said)
        replaced[name][rows] = np.where(np.isnan(said), seen[name][rows], said)
    pace = found["pace"] * (s["data_parallel"] * groups * s["output_len"])[rows]
    replaced["output"] = output.copy()
    replaced["output"][rows] = np.where(other & (pace > 0) & np.isfinite(pace), pace, output[rows])
    return replaced, replaced.pop("output")


def engines_replayed(users: Floats | float, in_step: Floats | float) -> Floats:
    """Engines in step that a replay takes.

    Some of a wide group stand for all where many users keep each busy; else they would see too few prefills
    of others.
    """
    most = np.maximum(MOST_USERS // np.maximum(users, 1.0), LEAST_IN_STEP)
    return np.asarray(np.minimum(np.maximum(np.round(in_step), 1.0), most))


def is_apart(s: Columns) -> NDArray[np.bool_]:
    """Mask of rows in which separate engines prefill."""
    return np.asarray(s["separation"] == CHOICES["separation"].index("separate"))


def _prefilling(own: Floats, each: Floats, engines: Floats | float) -> Floats:
    """Prefill passes that a step waits for, where engines that share experts step together.

    Args:
        own: Passes of the engine itself in a step, in the mean.
        each: Those of each of the others; they come at random.
        engines: Engines in step.
    """
    none = (1 - np.minimum(own, 1.0)) * (1 - np.minimum(each, 1.0)) ** (engines - 1)
    return np.asarray(np.maximum(own, 1 - none))


def _late(batch: Floats, share: float) -> Floats:
    """Prefills of others beyond their mean that a share of the answers stays within; they come at random."""
    others = np.maximum(batch - 1, 0.0)
    return np.maximum(NormalDist().inv_cdf(share) * np.sqrt(others), others > 0)


def _pace(s: Columns, prefill_s: Floats, decode_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Requests a second that all engines take, load of the busier side, and seconds of an engine for each.

    Told how many engines prefill, the slower side sets the pace; prefill apart without that is done elsewhere
    and costs these devices nothing.

    Args:
        s: Checked columns.
        prefill_s: Seconds of an engine that the prefill of a request takes.
        decode_s: The same of its decode steps.
    """
    engines, ahead, rate = s["data_parallel"], s["prefill_engines"], s["request_rate"]
    behind = np.maximum(engines - ahead, 1) / decode_s
    is_split = ahead > 0
    both = engines / (np.where(is_apart(s), 0.0, prefill_s) + decode_s)
    first = ahead / np.where(is_split, prefill_s, 1.0)  # among decode steps it may cost nothing of its own
    capacity = np.where(is_split, np.minimum(first, behind), both)
    turn = np.where(is_split, prefill_s, prefill_s + decode_s)
    load = rate * turn / np.where(is_split, np.maximum(ahead, 1), np.maximum(engines, 1))
    load = np.where(is_split & (rate > behind), np.maximum(load, rate / behind), load)
    return capacity, load, turn


def _flowing(s: Columns, capacity: Floats, answered_s: Floats) -> Floats:
    """Requests a second where no more than ``concurrency`` are in flight, each for so long (Little's law)."""
    return np.where(s["concurrency"] > 0, np.minimum(capacity, s["concurrency"] / answered_s), capacity)
