"""Share of a search's proposals that fail by the cost model, on generated spaces, with and without its rule.

``python -m benchmarks.searches.infeasible_share [--seeds 2] [--quick]`` generates training and serving spaces of
several models on several machines, some of them tight in memory, and searches each cold within 60
evaluations of the cost model. ``infeasible_share`` counts proposals whose evaluation failed (out of memory,
a layout that cannot be, a precision that the device lacks) over all proposals; ``without`` is the same
search over the space without the rule; ``of_space`` is the share of the space that fails. Everything is
modelled. The last line is JSON.
"""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.searches.search_cost_model import BUDGET, tuner_of
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.errors import InfeasibleError
from kg.nouns.entities import Status
from recommender.cost_model.machine import machine
from recommender.cost_model.question import Question
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.search.run.assembly import SearchPlace, evaluator_of
from recommender.search.run.memory_tally import fit_tally
from recommender.search.run.task import Task
from recommender.search.run.task_file import TaskFile
from recommender.space.made.layouts import layout_space
from recommender.space.space import SearchSpace

TRAINING = (
    ("bert-large", "ascend-910b3", 8, "atlas-800t-a2", {"seq_len": 128, "global_batch": 512}),
    ("bert-large", "NVIDIA A100-SXM4-80GB", 8, "", {"seq_len": 512, "global_batch": 256}),
    ("qwen3-8b", "ascend-910b3", 8, "atlas-800t-a2", {"seq_len": 4096, "global_batch": 128}),
    ("qwen3-8b", "NVIDIA H100-SXM5-80GB", 4, "", {"seq_len": 8192, "global_batch": 64}),
    ("qwen3-32b", "ascend-910b3", 8, "atlas-800t-a2", {"seq_len": 4096, "global_batch": 128}),
    ("qwen3-32b", "ascend-910b3", 16, "atlas-800t-a2", {"seq_len": 4096, "global_batch": 128}),
    ("qwen3-30b-a3b", "ascend-910b3", 8, "atlas-800t-a2", {"seq_len": 4096, "global_batch": 64}),
    ("llama-3-70b", "ascend-910b3", 32, "atlas-800t-a2", {"seq_len": 8192, "global_batch": 128}),
)
SERVING = (
    ("qwen3-8b", "ascend-910b3", 1, "", {"input_len": 4096, "output_len": 1024}),
    ("qwen3-8b", "NVIDIA L40S", 1, "", {"input_len": 4096, "output_len": 1024}),
    ("qwen3-32b", "ascend-910b3", 2, "atlas-800t-a2", {"input_len": 4096, "output_len": 1024}),
    ("qwen3-32b", "ascend-910b3", 4, "atlas-800t-a2", {"input_len": 1024, "output_len": 128}),
    ("qwen3-30b-a3b", "ascend-910b3", 8, "atlas-800t-a2", {"input_len": 8192, "output_len": 2048}),
    ("llama-3-70b", "ascend-910b3", 4, "atlas-800t-a2", {"input_len": 4096, "output_len": 1024}),
    ("deepseek-v3", "ascend-910b3", 32, "atlas-800t-a2", {"input_len": 4096, "output_len": 1024}),
)


def file_of(
    shipped: ShippedKnowledge,
    phase: str,
    name: str,
    device: str,
    count: int,
    server: str,
    fixed: dict[str, Any],
) -> dict[str, Any]:
    """The search file that ``tunegraph search space`` would write."""
    model = shipped.names.model(name).id
    sizes = shipped.sizes(model)
    chip = shipped.names.hardware(device).id
    held = shipped.hardware.facts(server) if server else None
    made = layout_space(
        Question(
            model=sizes,
            machine=machine(
                chip, shipped.hardware.facts(chip), count=count, server=server, server_facts=held
            ),
            phase=phase,
            settings=fixed,
        )
    )
    section = {"phase": phase, "fixed": fixed, "model": model, "hardware": chip, "count": count}
    return {
        "cost_model": section | ({"server": server} if server else {}),
        "parameters": dict(made.parameters),
        "constraints": [dict(item) for item in made.constraints],
        "objectives": ["throughput"],
    }


def searched(task: Task, space: SearchSpace, seed: int) -> tuple[int, int, float, float]:
    """Proposals, those that failed, the best throughput, CPU seconds."""
    evaluator, _ = evaluator_of(task, SearchPlace(folder=Path.cwd(), base={}))
    assert evaluator is not None
    start = time.process_time()
    search = Search(space=space, objectives=task.objectives, seed=seed)
    asked = failed = 0
    best = 0.0
    while asked < BUDGET and (found := search.ask()):
        outcome = evaluator.evaluate(found[0].configuration, threading.Event())
        value = outcome.values.get("throughput") if outcome.status is Status.OK else None
        asked, failed, best = asked + 1, failed + (value is None), max(best, value or 0.0)
        told = (
            Evaluation(configuration=found[0].configuration, values=(value,))
            if value is not None
            else Evaluation(configuration=found[0].configuration, values=(None,), status=Status.FAILED)
        )
        search.tell(told, found[0].number)
    return asked, failed, best, time.process_time() - start


def main() -> None:
    one_thread()
    arguments = harness.read(
        __doc__, harness.option("--seeds", type=int, default=2), quick="two spaces, one seed"
    )
    shipped = ShippedKnowledge.load()
    tuner = tuner_of(shipped)
    cases = [("training", *item) for item in TRAINING] + [("serving", *item) for item in SERVING]
    if arguments.quick:
        cases, arguments.seeds = [cases[2], cases[-4]], 1
    seeds = arguments.seed_range(arguments.seeds)
    print("space                                        of_space  without  with  best without/with")
    totals, rows = np.zeros(4), []
    for phase, *rest in cases:
        name = f"{rest[0]}, {rest[2]} x {rest[1]}, {phase}"
        try:
            raw = file_of(shipped, phase, *rest)  # type: ignore[arg-type]  # rows of the two tables above
        except InfeasibleError as fault:
            print(f"{name}: not searched: {fault}")
            continue
        task = tuner.prepare(TaskFile(raw, name=name), base={}, cold=True).task
        tally = fit_tally(task.space, most=1_000_000)
        assert tally is not None  # a generated space has memory to check
        of_space = 1 - tally.remaining / tally.checked
        before = [searched(task, task.space.declared, seed) for seed in seeds]
        after = [searched(task, task.space, seed) for seed in seeds]
        shares = [sum(x[1] for x in runs) / sum(x[0] for x in runs) for runs in (before, after)]
        totals += [sum(x[k] for x in runs) for runs in (before, after) for k in (0, 1)]
        ratio = float(np.mean([a[2] / max(b[2], 1e-12) for a, b in zip(before, after, strict=True)]))
        rows.append((of_space, *shares, ratio, sum(x[3] for x in before), sum(x[3] for x in after)))
        print(f"{name:<44} {of_space:8.1%} {shares[0]:8.1%} {shares[1]:5.1%} {ratio:8.3f}", flush=True)
    table = np.array(rows)
    report = {
        "spaces": len(rows),
        "seeds": arguments.seeds,
        "proposals": int(totals[2]),
        "infeasible_share": totals[3] / totals[2],
        "infeasible_share_worst_space": table[:, 2].max(),
        "infeasible_share_without": totals[1] / totals[0],
        "infeasible_share_of_space_mean": table[:, 0].mean(),
        "best_without_over_with_mean": table[:, 3].mean(),
        "cpu_with_over_without": table[:, 5].sum() / table[:, 4].sum(),
    }
    arguments.last_line({key: round(value, 4) for key, value in report.items()}, n=int(totals[2]))


if __name__ == "__main__":
    main()
