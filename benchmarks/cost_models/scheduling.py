"""The cost model's serving load against an engine's own scheduler, both given the same time of a step.

``python -m benchmarks.cost_models.scheduling [--known FILE] [--quick]``. The table is what vLLM's scheduler made of
drawn loads (``tools/oracle/scheduling.py``); each row has the time of a step as a function of what it holds. Nothing is
fitted to it, so a seed draws nothing but requests, and with ``--quick`` the rows.

The answers of today (``recommender.cost_model.workloads.serving_flow``) get that function instead of their operators, and
what a user knows of the load: lengths and how far they differ, users or rate, limits of the engine, its cache, drafts
with their mean acceptance, the share of the prompts that is shared.

Errors are absolute, of a figure over the table's; the wait for what cannot be answered is infinitely wrong.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from recommender.cost_model.facts.device import Device
from recommender.cost_model.settings.plans import SERVING, columns
from recommender.cost_model.workloads.serving_flow import StepPlan, StepTimes, serving_flow, step_plan
from tools.oracle.scheduling import TABLE, read_table
from tools.oracle.serving_load import BLOCK, KINDS, ServingLoad

Floats = NDArray[np.float64]

GOALS: Mapping[str, tuple[str, float]] = {
    "throughput": ("output_tokens_per_s", 0.03),
    "ttft_p50": ("ttft_p50_s", 0.10),
    "ttft_p99": ("ttft_p99_s", 0.10),
    "tpot_p50": ("tpot_p50_s", 0.10),
    "tpot_p99": ("tpot_p99_s", 0.10),
}
"""Figures, their column of the table, and the error to stay within."""
EACH = 10
"""Loads that are asked together: of more, answers replay the best alone."""


def closed_form(loads: Sequence[ServingLoad], *, mixed: bool = True) -> dict[str, Floats]:
    """The figures that the cost model composes, where a step holds prefill and decode or not; means for medians."""
    if len(loads) > EACH:
        parts = [closed_form(loads[at : at + EACH], mixed=mixed) for at in range(0, len(loads), EACH)]
        return {name: np.concatenate([one[name] for one in parts]) for name in GOALS}
    s = columns([_settings(load) | {"mixed_steps": int(mixed), "burst": 1} for load in loads], SERVING)
    plan = step_plan(s, Device("given", {}))
    in_step = np.array([float(load.engines) if load.lockstep else 1.0 for load in loads])
    output, extra = serving_flow(s, plan, _times(loads, s, plan), in_step)
    rate = s["request_rate"]
    return {
        "throughput": np.where(rate > 0, np.minimum(rate * s["output_len"], output), output),
        "ttft_p50": extra["ttft_s"],
        "ttft_p99": extra["ttft_p99_s"],
        "tpot_p50": extra["tpot_s"],
        "tpot_p99": extra["tpot_p99_s"],
    }


def _settings(load: ServingLoad) -> dict[str, object]:
    """A load as a user tells it to the cost model."""
    at_once = (
        min(load.max_num_seqs, math.ceil(load.users / load.engines)) if load.users else load.max_num_seqs
    )
    return {
        "batch": at_once,
        "concurrency": load.users,
        "request_rate": load.rate,
        "input_len": load.input_len,
        "output_len": load.output_len,
        "chunk": load.max_num_batched_tokens,
        "data_parallel": load.engines,
        "prefix_hit": load.prefix_share,
        "speculative_tokens": load.drafts,
        "acceptance": accepted_share(load.acceptance),
        "async_scheduling": load.async_scheduling,
        "length_spread": load.spread,
        "cache_tokens": (load.blocks - 1) * BLOCK,
    }


def accepted_share(acceptance: Sequence[float]) -> float:
    """Accepted drafts over drafted ones, as engines report them."""
    kept = [math.prod(acceptance[: place + 1]) for place in range(len(acceptance))]
    return sum(kept) / len(kept) if kept else 0.0


def _times(loads: Sequence[ServingLoad], s: Mapping[str, Floats], plan: StepPlan) -> StepTimes:
    """Times of the steps of a plan by the function that the scheduler was given."""
    step, token, context, pair, host = (
        np.array([getattr(load, name) for load in loads])
        for name in ("step_s", "token_s", "context_s", "pair_s", "host_s")
    )
    batch, length = s["batch"], s["input_len"]
    middle = length + s["output_len"] / 2
    decode = step + token * batch * (1 + s["speculative_tokens"]) + context * batch * middle
    decode = np.where(s["async_scheduling"] > 0, np.maximum(decode, host), decode + host)
    # what the passes of a prefill end at, in the mean, and the pairs of its tokens
    reached = length - (plan.count - 1) * plan.chunk / 2
    pairs = (length**2 - (length - plan.fresh) ** 2) / 2
    passes = plan.count * step + plan.together * (
        token * plan.fresh + context * plan.count * reached + pair * pairs
    )
    return StepTimes(
        decode_s=decode, alone_s=passes, passes_s=passes, transfer_s=np.zeros_like(decode), base_s=step
    )


def errors_of(
    said: Mapping[str, Floats], rows: Sequence[tuple[ServingLoad, Mapping[str, float]]]
) -> dict[str, Floats]:
    """Absolute relative errors of what is said, by figure; NaN where the table has none."""
    errors = {}
    for name, (column, _) in GOALS.items():
        true = np.array([figures[column] for _, figures in rows])
        errors[name] = np.abs(said[name] / true - 1)
    return errors


def summary(errors: Mapping[str, Floats], chosen: NDArray[np.bool_]) -> dict[str, dict[str, object]]:
    """Median and 90th percentile in per cent, and the share within the goal, by figure."""
    found: dict[str, dict[str, object]] = {}
    for name, (_, goal) in GOALS.items():
        held = errors[name][chosen & ~np.isnan(errors[name])]
        found[name] = {
            "median": harness.percentile(100 * held),
            "p90": harness.percentile(100 * held, 90),
            "within_goal": harness.share([*(held <= goal)]),
        }
    return found


def main() -> None:
    """Print the errors by figure and kind; the last line is JSON."""
    run = harness.read(
        __doc__,
        harness.place("--known", default=TABLE, help="table of loads and figures"),
        quick="a fifth of the rows",
    )
    rows = read_table(run.known)
    if run.quick:
        count = len(rows)
        places = range(0, count, 5) if run.all else sorted(run.random().sample(range(count), count // 5))
        rows = [rows[place] for place in places]
    loads = [load for load, _ in rows]
    mixed = "sglang" not in run.known.name
    errors = errors_of(closed_form(loads, mixed=mixed), rows)
    kinds = np.array([load.kind for load in loads])
    is_open = np.array([load.rate > 0 for load in loads])
    groups = {"all": np.ones(len(rows), dtype=bool)}
    groups |= {kind: kinds == kind for kind in KINDS if kind in kinds}
    groups |= {"users who wait": ~is_open, "at a rate": is_open}
    found = {name: summary(errors, chosen) for name, chosen in groups.items()}
    run.last_line({"answers": found}, n=len(rows))


if __name__ == "__main__":
    main()
