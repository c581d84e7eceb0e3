"""Layouts proposed for measured serving tables with a limit.

``python -m benchmarks.answers.serving --known DIR --asked DIR [--quick]`` asks for the best
layout of each table: a model on a device in a precision, with lengths and a limit on the time of an output token.
Stated is what a user states: engines, numbers of devices, whether experts may be spread and tokens drafted, and the
largest load of an instance; never which combinations were measured. A proposal is worth the best measured throughput of
each device that its layout reaches under the limit, at any load. Instances that prefill and decode apart are left out
of tables and domain.

Hits are within 10 % of the best, over the questions whose proposal the table holds (``in_table``); a layout that keeps
the limit at no measured load costs a factor of 10. ``whole`` counts what no table holds as a miss. ``load_unstated``
asks once more without the largest load.

``with_runs`` asks once more with measured runs of the same model known, none of them on the asked device
with the asked lengths; ``ours`` knows none. A seed draws models: their tables alone are asked and no one copies from
them, and the scales of errors of runs are fitted without them.

Beside ours, which prices layouts as ``size --pareto`` does: the nearest known table of other work copied, the
fewest devices, and random. The last line is JSON.
"""

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

from benchmarks import harness
from benchmarks.answers.run_scales import fitted
from benchmarks.answers.served_cases import ServedCase, deployment_of, served_cases
from benchmarks.answers.served_work import DeploymentDomain, DeploymentQuestion, Deployments, Work
from benchmarks.harness import Run, json_rows, mean
from benchmarks.protocols.baselines import UNTRIED, random_choice
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.world import World, load
from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Limit
from kg.nouns.knowledge import Model
from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Settings
from kg.terms.precisions import canonical_precision
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import facts_of
from kg.triples.serialisation import from_graph
from recommender.cost_model.measured.correction import SCALES, RunCorrection
from recommender.ranking.deployments.deployment import Deployment, RatedDeployment
from recommender.ranking.deployments.fleet import Fleet
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.measured.near_runs import MOST_PROBLEMS
from recommender.ranking.measured.runs import RunReader
from recommender.workspace.workspace import Workspace

Layout = tuple[str, ParallelLayout, bool]

_POINTS = tuple(NormalDist().inv_cdf((place + 0.5) / 15) for place in range(15))
"""Quantiles of a normal error, equally likely."""
WITHIN = 0.9
"""A layout counts as right from this share of the best throughput."""
UNSTATED = 1024.0
"""Largest load of an instance where none is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A measured table, and the question that it answers.

    Attributes:
        question: What is asked.
        values: Best throughput of each device under the limit, by layout; 0 where no load keeps it.
        counts_prompts: Whether tokens of prompts count too, not those of answers alone.
    """

    question: DeploymentQuestion
    values: Mapping[Layout, float]
    counts_prompts: bool = False

    @property
    def best(self) -> float:
        """The best value."""
        return max(self.values.values())

    @property
    def is_telling(self) -> bool:
        """True if a wrong layout can be chosen at all."""
        return self.best > 0 and min(self.values.values()) < WITHIN * self.best


@dataclass(slots=True)
class Scores:
    """Judged proposals of one method."""

    held: list[bool] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    third: list[float] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def take(self, table: Table, proposed: Sequence[Layout], cpu_s: float) -> None:
        """Judge the proposals for a table."""
        self.judge([table.values.get(item) for item in proposed], table.best)
        self.cpu_s.append(cpu_s)

    def judge(self, values: Sequence[float | None], best: float) -> None:
        """Judge proposals by what each reaches, None where nobody knows, beside the best."""
        self.held.append(bool(values) and values[0] is not None)
        hits = [value is not None and value >= WITHIN * best for value in values[:3]]
        self.first.append(float(hits[:1] == [True]))
        self.third.append(float(any(hits)))
        if self.held[-1]:
            value = values[0] or 0.0
            self.regrets.append(min(math.log(best / value), UNTRIED) if value else UNTRIED)

    def to_json(self) -> dict[str, Any]:
        """Means; null where nothing was judged."""
        held = [place for place, is_held in enumerate(self.held) if is_held]
        return {
            "n": len(self.held),
            "in_table": mean(self.held),
            "hit10_k1": mean([self.first[place] for place in held]),
            "hit10_k3": mean([self.third[place] for place in held]),
            "log_regret_k1": mean(self.regrets),
            "cpu_s": mean(self.cpu_s),
            "whole": {"hit10_k1": mean(self.first), "hit10_k3": mean(self.third)},
        }


FOLDERS = (
    harness.place("--known", help="folder of cases to know"),
    harness.place("--asked", help="folder of cases whose tables are asked"),
)


def main() -> None:
    """Print the figures; the last line is JSON."""
    one_thread()
    given = harness.read(__doc__, *FOLDERS, quick="ask a fifth")
    with tempfile.TemporaryDirectory() as folder:
        world = known_world(given.known, Path(folder))
        tables, drawn = drawn_tables(given, asked_tables(given.asked, world.workspace))
        bench = Bench(world.workspace, drawn=drawn)
        given.last_line(bench.run(tables), n=len(tables))


def drawn_tables(run: Run, tables: Sequence[Table]) -> tuple[Sequence[Table], frozenset[str]]:
    """The tables of drawn models, and these models; all tables and none with ``--all``; a fifth if it is to be quick."""
    held = run.draw("model", (table.question.work.model for table in tables))
    kept = [table for table in tables if table.question.work.model in held]
    return kept[:: 5 if run.quick else 1], frozenset() if run.all else held


def known_world(known: Path, folder: Path) -> World:
    """A workspace under ``folder`` that knows the tables of serving among the files of ``known``."""
    source = folder / "known"
    source.mkdir()
    for path in sorted(known.glob("*.jsonl*")):
        if is_serving(path):
            (source / path.name).symlink_to(path.resolve())
    return load(source, folder / "world", {"*": 1.0})


def asked_tables(asked: Path, workspace: Workspace) -> list[Table]:
    """The tables of all files of a folder that can be asked."""
    files = [path for path in sorted(asked.glob("*.jsonl*")) if is_serving(path)]
    return [table for path in files for table in tables_of(path, workspace)]


def is_serving(path: Path) -> bool:
    """True if a file holds throughputs of served models."""
    first = next(json_rows(path), {})
    task = first.get("task", {})
    return task.get("kind") == "serving" and "throughput" in str(first.get("outcome", {}).get("metric"))


def tables_of(path: Path, workspace: Workspace) -> list[Table]:
    """The tables of a file that can be asked: a limit or the greatest throughput, two layouts, one of them wrong."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in json_rows(path):
        if {"slo", "load"} & set(row["task"]):  # the load is chosen with the layout, or is all that fits
            groups[row["group_id"]].append(row)
    found = []
    for rows in groups.values():
        table = _table(rows, workspace)
        if table is not None and table.is_telling:
            found.append(table)
    return found


def _table(rows: Sequence[Mapping[str, Any]], workspace: Workspace) -> Table | None:
    task = rows[0]["task"]
    values: dict[Layout, float] = {}
    deployments: list[Deployment] = []
    offline = "slo" not in task
    for row in rows:
        one = deployment_of(Settings(row["config"]), UNSTATED if offline else None)
        if one is None:
            continue
        deployments.append(one)
        key = layout_of(one)
        value = row["outcome"]["value"] if row["outcome"]["status"] == "ok" else 0.0
        values[key] = max(values.get(key, 0.0), value or 0.0)
    if len(values) < 2 or not {"input_len", "output_len"} <= set(task["shape"]):
        return None
    try:
        model = workspace.names.model(task["model"]).id
        count = max(one.layout.devices for one in deployments)
        device = workspace.names.hardware(rows[0]["hardware"]["name"], count).id
    except LookupError:
        return None
    work = Work(
        device=device,
        model=model,
        precision=canonical_precision(task["dtype"]),
        input_len=float(task["shape"]["input_len"]),
        output_len=float(task["shape"]["output_len"]),
    )
    limit = (task.get("slo") or {}).get("tpot_ms")
    question = DeploymentQuestion(
        work=work,
        domain=DeploymentDomain(
            frameworks=tuple(sorted({one.framework for one in deployments})),
            counts=tuple(sorted({one.layout.devices for one in deployments})),
            most_at_once=max(one.concurrency for one in deployments),
            drafts=any(one.drafts for one in deployments),
        ),
        limits=() if limit is None else (Limit(metric="tpot", maximum=limit / 1e3, unit="s"),),
    )
    counted = str(rows[0]["outcome"].get("counts", ""))
    return Table(question=question, values=values, counts_prompts="input" in counted)


class Bench:
    """Asks about tables.

    Args:
        workspace: Knows models, hardware and the known cases.
        drawn: Models whose tables nobody may know, and without whose runs the scales of errors are fitted.
    """

    def __init__(self, workspace: Workspace, *, drawn: frozenset[str]) -> None:
        self.tree: HardwareTree = workspace.hardware
        graph = workspace.graph
        self.sizes_of = lambda model: facts_of(from_graph(graph, Model, model))
        self.deployments = Deployments(self.tree, self.sizes_of)
        self.runs = runs_by_model(workspace)
        cases = served_cases(workspace.snapshot.graph, workspace.trials)
        self.cases = [case for case in cases if case.work.model not in drawn]
        others = {model: found for model, found in self.runs.items() if model not in drawn and found}
        self.scales = fitted(others) if drawn else SCALES
        self.scores: dict[str, Scores] = defaultdict(Scores)

    def run(self, tables: Sequence[Table]) -> dict[str, Any]:
        """Ask all, and sum up."""
        for table in tables:
            self.ask(table)
        names = ("ours", "with_runs", "load_unstated", "nearest", "fewest", "random")
        return {name: self.scores[name].to_json() if name in self.scores else None for name in names}

    def ask(self, table: Table) -> None:
        """Ask one table, and judge ours and what is simpler."""
        question = table.question
        work = question.work
        elsewhere = [run for run in self.runs[work.model] if not is_there(work, run)]
        near = nearest_runs(work, elsewhere, partial(self.tree.distance, work.device))
        runs = RunCorrection(runs=near, scales=self.scales)
        informed = Deployments(self.tree, self.sizes_of, lambda asked: replace(asked, measured=runs))
        questions = {"ours": (self.deployments, question), "with_runs": (informed, question)}
        if question.limits:
            domain = replace(question.domain, most_at_once=UNSTATED)
            questions["load_unstated"] = (self.deployments, replace(question, domain=domain))
        for name, (deployments, one) in questions.items():
            started = time.process_time()
            try:
                open_ = [item for item in deployments.rate(one) if is_open(item, table)]
                proposed = best_layouts(open_, one)
            except (InputError, MissingFactError):
                proposed = []
            self.scores[name].take(table, proposed, time.process_time() - started)
        self.scores["nearest"].take(table, self.nearest(table), 0.0)
        by_devices = sorted(table.values, key=lambda item: (item[1].devices, str(item)))
        self.scores["fewest"].take(table, by_devices, 0.0)
        self.drawn(table)

    def drawn(self, table: Table) -> None:
        """Judge a random layout of the table: chances in place of hits."""
        logs = [
            min(math.log(table.best / value), UNTRIED) if value else UNTRIED
            for value in table.values.values()
        ]
        chances = [random_choice(logs, k, -math.log(WITHIN) + 1e-9) for k in (1, 3)]
        scores = self.scores["random"]
        scores.held.append(True)
        scores.first.append(chances[0][0])
        scores.third.append(chances[1][0])
        scores.regrets.append(chances[0][1])
        scores.cpu_s.append(0.0)

    def nearest(self, table: Table) -> list[Layout]:
        """The layouts of the nearest other work by what each device reached there under the limit."""
        question = table.question
        work = question.work
        by_work: dict[Work, list[ServedCase]] = defaultdict(list)
        for case in self.cases:
            if case.work != work and case.deployment.layout.devices in question.domain.counts:
                by_work[case.work].append(case)
        limit = next((item.maximum for item in question.limits), math.inf)

        def apart(other: Work) -> tuple[float, ...]:
            lengths = abs(math.log2(work.input_len / other.input_len))
            lengths += abs(math.log2(work.output_len / other.output_len))
            return (
                float(self.tree.distance(work.device, other.device)),
                float(other.model != work.model),
                float(other.precision != work.precision),
                lengths,
            )

        for other in sorted(by_work, key=apart):
            best: dict[Layout, float] = {}
            for case in by_work[other]:
                one = case.deployment
                devices = one.layout.devices
                request_s = one.concurrency * (other.input_len + other.output_len) / (case.rate * devices)
                if one.framework in question.domain.frameworks and request_s / other.output_len <= limit:
                    best[layout_of(one)] = max(best.get(layout_of(one), 0.0), case.rate)
            if best:
                return sorted(best, key=lambda item: -best[item])
        return []


def runs_by_model(workspace: Workspace) -> dict[str, list[MeasuredRun]]:
    """The measured runs of a workspace, by the id of their model."""
    snapshot = workspace.snapshot
    reader = RunReader(workspace.trials, snapshot.graph, snapshot.hardware)
    found: dict[str, list[MeasuredRun]] = defaultdict(list)
    for row in workspace.trials.summary(workspace.trials.keys()):
        if row.model:
            found[row.model] += reader.runs([row], "serving")
    return found


def is_there(work: Work, run: MeasuredRun) -> bool:
    """True if a run is on the device of some work, with its lengths."""
    return (run.place.device, run.place.lengths) == (work.device, work.lengths)


def nearest_runs(
    work: Work, runs: Sequence[MeasuredRun], distance: Callable[[str], float]
) -> tuple[MeasuredRun, ...]:
    """The runs of as many problems as a question reads, near devices and like lengths first."""

    def apart(run: MeasuredRun) -> tuple[float, float]:
        doublings = zip(run.place.lengths, work.lengths, strict=True)
        return float(distance(run.place.device)), sum(abs(one - other) for one, other in doublings)

    groups = list(dict.fromkeys(run.group for run in sorted(runs, key=apart)))[:MOST_PROBLEMS]
    return tuple(run for run in runs if run.group in groups)


def best_layouts(loads: Sequence[RatedDeployment], question: DeploymentQuestion) -> list[Layout]:
    """Layouts by what they are expected to reach under the limits, best first; of as much, the fewest devices."""
    by_layout: dict[Layout, list[RatedDeployment]] = defaultdict(list)
    for one in loads:
        by_layout[layout_of(one.deployment)].append(one)
    return sorted(
        by_layout, key=lambda key: (-layout_value(by_layout[key], question), by_layout[key][0].devices)
    )


def is_open(one: RatedDeployment, table: Table) -> bool:
    """True if it splits attention by tensors or by data alone, and experts only where the table does."""
    layout = one.deployment.layout
    splits_experts = any(other.ep > 1 for _, other, _ in table.values)
    return layout.pp == 1 and (layout.dp == 1 or layout.tensors == 1) and (layout.ep == 1 or splits_experts)


def layout_value(loads: Sequence[RatedDeployment], question: DeploymentQuestion) -> float:
    """Output tokens a second and device that a layout reaches once its load is tuned to the limits, expected.

    The error of its time is one for all loads: whoever runs it finds the largest load that keeps the limits.
    """
    total = 0.0
    for point in _POINTS:
        factors = [math.exp(one.spread * point) for one in loads]
        reached = [
            one.throughput / one.devices / factor
            for one, factor in zip(loads, factors, strict=True)
            if Fleet(rated=one).keeps(question.limits, factor)
        ]
        total += max(reached, default=0.0)
    return total / len(_POINTS)


def layout_of(one: Deployment) -> Layout:
    return one.framework, one.layout, one.drafts


if __name__ == "__main__":
    main()
