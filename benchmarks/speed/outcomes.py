"""Speed of learning from many A/B tests: taking their outcomes in, and the step of evolution that follows.

    python -m benchmarks.speed.outcomes [--quick]

The outcomes are of 40 teams, three strategies and 500 problems, told at once to a new workspace of the shipped
knowledge. `add_cpu_s`, `evolve_cpu_s`: user and system time of this process; `help_cpu_s`: of `tunegraph --help`,
to compare machines by. The last line is JSON.
"""

import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.speed.scale import run
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
from recommender.experiment.concluding import Conclusion
from recommender.workspace.workspace import Workspace

PROBLEMS, TEAMS, STRATEGIES = 500, 40, 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def conclusion(number: int) -> Conclusion:
    """The finding of one test: 0 to 9 per cent faster."""
    problem = Problem(
        workload=Workload(
            kind=WorkloadKind.OPERATOR, operator="copy", shape=Settings({"batch": 1 + number % PROBLEMS})
        ),
        hardware=Hardware(name="card"),
        objective=Objective(metric="throughput", better=Better.HIGHER, unit="1/s"),
    )
    case = Case(
        problem=problem,
        configuration=Settings({"tile": number}),
        measurement=Measurement(metric="throughput", unit="1/s", value=100.0 + number // TEAMS % 10),
        kind=Kind.MEASURED,
        source=Source(title=f"team {number % TEAMS}"),
        baseline=Baseline(value=100.0),
        strategy=f"strategy-{number % STRATEGIES}",
    )
    outcome = Outcome(
        id=f"outcome-{number}", problem=problem.id, metric="throughput", configuration=case.configuration,
        verdict="better", scheme="randomised", pairs=12, alpha=0.01, margin=0.01,
        time=NOW + timedelta(minutes=number), source=case.source, gain=case.log_gain, strategy=case.strategy,
    )  # fmt: skip
    return Conclusion(case=case, outcome=outcome)


def main() -> None:
    """Run and print."""
    options = harness.read(__doc__, quick="3,000 outcomes")
    number = 3000 if options.quick else 100_000
    told = [conclusion(n) for n in range(number)]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tunegraph-outcomes-") as place:
        path, cache = Path(place, "workspace"), Path(place, "cache")
        Workspace.create(path, cache=cache, text_model=None)
        started = time.process_time()
        with Workspace.editor(path, cache=cache) as editor:
            editor.add_outcomes(told)
        found["add_cpu_s"], started = time.process_time() - started, time.process_time()
        with Workspace.editor(path, cache=cache) as editor:
            editor.evolve(NOW + timedelta(days=1000))
        found["evolve_cpu_s"] = time.process_time() - started
        found["help_cpu_s"] = min(run(["--help"], cache)["cpu_s"] for _ in range(3))
    found["rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    options.last_line(found, n=number)


if __name__ == "__main__":
    main()
