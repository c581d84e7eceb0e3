"""What outcomes cost: one acknowledged at a time, many taken in at once, and that their order does not matter.

    python -m benchmarks.learning.outcomes [--problems 100000] [--outcomes 20000] [--quick]

Problems and outcomes are generated: training problems of three models on four devices, gains of 40 strategies.
Drawn from all problems, hardly two outcomes share an effect; drawn from 200, effects fill up as where a team tunes
the same workloads again and again. Each of the two is taken in by a copy of the same workspace.
CPU time is user + system of this process. The last line is JSON.
"""

import math
import random
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import harness
from kg.nouns.effects import Effect
from kg.nouns.entities import (
    Baseline,
    Better,
    Case,
    Hardware,
    Kind,
    Measurement,
    Objective,
    Problem,
    Source,
    Workload,
    WorkloadKind,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.triples.serialisation import all_of
from recommender.experiment.concluding import Conclusion
from recommender.workspace.workspace import Workspace

DEVICES = ("ascend-910b3", "ascend-910b2", "ascend-910a", "nvidia-h100-sxm")
MODELS = ("llama-2-7b", "qwen3-32b", "bert-large")
START = datetime(2026, 1, 1, tzinfo=UTC)
ONE_BY_ONE, ORDERED = 300, 2_000
BATCH = 4_000
RECURRING = 200
"""Problems that recur, as in ``benchmarks.learning.season``."""


def problem(number: int) -> Problem:
    work = Workload(
        kind=WorkloadKind.TRAINING,
        operator="pretrain",
        model=MODELS[number % 3],
        shape=Settings({"seq_len": 128 + number}),
    )
    return Problem(
        workload=work,
        hardware=Hardware(name=DEVICES[number % 4], count=8),
        objective=Objective(metric="throughput", better=Better.HIGHER, unit="1/s"),
    )


def conclusion(number: int, where: Problem, rng: random.Random) -> Conclusion:
    gain, source = rng.gauss(0.05, 0.1), Source(title=f"A/B {number}")
    case = Case(
        problem=where,
        configuration=Settings({"option": number % 7}),
        measurement=Measurement(metric="throughput", unit="1/s", value=100 * math.exp(gain), repeats=12),
        kind=Kind.MEASURED,
        source=source,
        baseline=Baseline(value=100.0),
        strategy=f"strategy-{number % 40}",
    )
    outcome = Outcome(
        id=f"outcome-{number}",
        problem=where.id,
        metric="throughput",
        configuration=case.configuration,
        verdict="better" if gain > 0 else "worse",
        scheme="randomised",
        pairs=12,
        alpha=0.01,
        margin=0.01,
        time=START + timedelta(minutes=number),
        source=source,
        gain=gain,
        low=gain - 0.01,
        high=gain + 0.01,
        p=0.001,
        strategy=case.strategy,
    )
    return Conclusion(case=case, outcome=outcome)


def made(folder: Path) -> Path:
    Workspace.create(folder / "workspace", cache=folder / "cache", text_model=None)
    return folder / "workspace"


def cpu_s(path: Path, told: list[Conclusion]) -> float:
    """CPU time in which a copy of a workspace takes in many outcomes at once."""
    copy = path.with_name("copy")
    shutil.copytree(path, copy)
    with Workspace.editor(copy, cache=path.parent / "cache") as editor:
        began = time.process_time()
        editor.add_outcomes(told)
        took = time.process_time() - began
    shutil.rmtree(copy)
    return took


def effects_in_order(folder: Path, told: list[Conclusion]) -> dict[object, Effect]:
    path = made(folder)
    with Workspace.editor(path, cache=folder / "cache") as editor:
        editor.add_outcomes(told)
    with Workspace.open(path, cache=folder / "cache") as opened:
        return {
            item.about: item for item in all_of(opened.graph, Effect) if item.strategy.startswith("strategy-")
        }


def main() -> None:
    options = harness.read(
        __doc__,
        harness.option("--problems", type=int, default=100_000),
        harness.option("--outcomes", type=int, default=20_000),
        quick="2,000 problems and outcomes",
        published=1,
    )
    problems, outcomes = (2_000, 2_000) if options.quick else (options.problems, options.outcomes)
    rng = options.random()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = made(folder)
        source = Source(title="generated")
        with Workspace.editor(path, cache=folder / "cache") as editor:
            for start in range(0, problems, BATCH):
                editor.add_cases(
                    [
                        Case(
                            problem=problem(number),
                            configuration=Settings({"option": 0}),
                            measurement=Measurement(
                                metric="throughput", unit="1/s", value=100 + rng.random()
                            ),
                            kind=Kind.MEASURED,
                            source=source,
                        )
                        for number in range(start, min(problems, start + BATCH))
                    ]
                )
        with Workspace.editor(path, cache=folder / "cache") as editor:
            took = []
            for number in range(ONE_BY_ONE):
                told = conclusion(number, problem(rng.randrange(problems)), rng)
                began = time.process_time()
                editor.add_outcomes([told])
                took.append(1e3 * (time.process_time() - began))
            took.sort()
        few: list[Conclusion] = []
        taken = []
        for drawn in (problems, RECURRING):
            many = [
                conclusion(ONE_BY_ONE + number, problem(rng.randrange(drawn)), rng)
                for number in range(outcomes)
            ]
            few = few or many[:ORDERED]
            taken.append(cpu_s(path, many))
        first = effects_in_order(folder / "one", few)
        rng.shuffle(few)
        second = effects_in_order(folder / "other", few)
    result = {
        "problems": problems,
        "ack_ms_median": took[len(took) // 2],
        "ack_ms_p95": took[int(0.95 * len(took))],
        "outcomes": outcomes,
        "replay_s": taken[0],
        "replay_s_per_100k": taken[0] / outcomes * 1e5,
        "recurring_s_per_100k": taken[1] / outcomes * 1e5,
        "order_differs": sum(first[key] != second.get(key) for key in first)
        + len(second.keys() - first.keys()),
    }
    for name, value in result.items():
        print(f"{name:20} {value:,.4g}")
    options.last_line(result)


if __name__ == "__main__":
    main()
