"""Tunes replayed on a real engine's table: starts to within 5 % of the best, gains claimed, false gains.

The table of :mod:`benchmarks.searches.tune_table` is replayed: whoever starts a configuration gets its fitted
number, moved by what one of the measured starts differed from the fit.

Each way to search has the same settings and values and begins with the script as it is, which is its first start:

    ours, cold        ``tunegraph tune``'s own loop and candidates: what is furthest from its default first
    ours, drawn       the same loop, its changes in a drawn order
    ours, a twin      the drawn one, after what a cold tune of the same script with other luck has ended with
    one at a time     each value of each setting in order, the best is kept (SGLang's first tier)
    TPE               Optuna's
    swarm             eight particles (optix of msmodeling)
    grid              all combinations in order (vLLM's auto_tune)

Counted are the starts until what a way holds for the best is truly within 5 % of the best; never counts as 24.
Then tunes with their confirmation: how often the true gain lies in the claimed interval, and how often one that
compares equal things, or begins at the best, reports a gain.

Run: ``python -m benchmarks.searches.replayed_tunes [--quick]``. Ends in one line of JSON.
"""

import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TypeAlias

import optuna

from benchmarks import harness
from benchmarks.searches.tune_table import CELLS, SCRIPT, SPACE, START, Cell, Table, cell_of, edits_of
from ingest.questions.patches.script_edits import ScriptEdits
from kg.nouns.entities import Better
from kg.nouns.values import Settings
from recommender.experiment.verdict import Verdict
from recommender.tune.candidates import TuneChange, script_changes
from recommender.tune.launch_script import LaunchScript
from recommender.tune.starts.budget import Budget
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneObjective, TuneOutcome, TuneResult, TuneStart
from recommender.tune.tuner import TuneLoop

Proposals: TypeAlias = Generator[Cell, tuple[float, Cell], None]
"""Configurations to start; each gets its number and the best so far."""
PARTICLES = 8


@dataclass
class Replay:
    """Gives what was measured, by the luck of a seed."""

    table: Table
    luck: random.Random
    start: Cell = START
    starts: int = 0
    objective: TuneObjective = field(
        default_factory=lambda: TuneObjective(
            metric="throughput", better=Better.HIGHER, unit="tokens/s", text="tokens a second"
        )
    )

    def value(self, cell: Cell) -> float:
        """The number of a start."""
        self.starts += 1
        return self.table.fitted[cell] * math.exp(self.luck.choice(self.table.residuals))

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        """See :class:`recommender.tune.tune_result.TuneEvaluator`."""
        value = self.value(cell_of(start.edits, self.start))
        if start.bar is not None and value < 0.9 * start.bar:
            return TuneResult(is_dropped=True, reason="below the best", cost_s=self.table.cost_s)
        return TuneResult(value=value, cost_s=self.table.cost_s)


def changes(start: Cell, luck: random.Random, first: Cell | None = None) -> list[TuneChange]:
    """The changes of one setting each in a drawn order; before them all of a configuration's."""
    found = []
    for name, values, was in zip(SPACE, SPACE.values(), start, strict=True):
        for value in values:
            flags = {name: () if value == "true" else (value,)} if value else {}
            edits = ScriptEdits(flags=flags, removed=() if value else (name,))
            if value != was:
                found.append(TuneChange(name=f"{name} {value}", edits=edits, why="asked for", key=name))
    luck.shuffle(found)
    if first is not None:
        found.insert(0, TuneChange(name="a twin", edits=edits_of(first), why="a twin"))
    return found


def tune(
    replay: Replay, candidates: Sequence[TuneChange], seed: int, evaluations: int | None = None
) -> TuneOutcome:
    """A tune by tunegraph's own loop; without room for a confirmation where evaluations are few."""
    with (
        tempfile.TemporaryDirectory() as name,
        TuneJournal(Path(name) / "tune", {"of": "a table"}) as journal,
    ):
        loop = TuneLoop(
            evaluator=replay,
            candidates=candidates,
            budget=Budget(evaluations=evaluations),
            journal=journal,
            experiment=Path(name) / "tune.jsonl",
            settings_of=lambda edits: Settings(
                {**dict(zip("abcd", cell_of(edits, replay.start), strict=True)), **edits.variables}
            ),
            seed=seed,
        )
        return loop.run(Event())


def held(outcome: TuneOutcome, start: Cell) -> Iterator[Cell]:
    """After each start of a tune's search the configuration that it holds for the best."""
    best = start
    for step, edits in outcome.tried():
        best = cell_of(edits, start) if step.is_accepted else best
        yield best


def by_value(replay: Replay, cells: Proposals) -> Iterator[Cell]:
    """The same of a search that holds for the best what gave the most, and is told each number."""
    best, most, value = START, -math.inf, None
    with suppress(StopIteration):
        while True:
            cell = next(cells) if value is None else cells.send((value, best))
            value = replay.value(cell)
            best, most = (cell, value) if value > most else (best, most)
            yield best


def grid(luck: random.Random) -> Proposals:
    """All in order, after the script as it is."""
    del luck
    for cell in (START, *(one for one in CELLS if one != START)):
        _ = yield cell


def one_at_a_time(luck: random.Random) -> Proposals:
    """Each value of each setting in order, on the best so far."""
    del luck
    _, best = yield START
    for place, values in enumerate(SPACE.values()):
        for value in values:
            if value != best[place]:
                _, best = yield (*best[:place], value, *best[place + 1 :])


def tpe(luck: random.Random) -> Proposals:
    """Optuna's sampler, after the script as it is."""
    sampler = optuna.samplers.TPESampler(seed=luck.randrange(2**31))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(dict(zip(SPACE, START, strict=True)))
    for _ in CELLS:
        trial = study.ask()
        value, _ = yield tuple(trial.suggest_categorical(name, values) for name, values in SPACE.items())
        study.tell(trial, value)


def swarm(luck: random.Random) -> Proposals:
    """Particles over the numbers of the values, with the usual weights (inertia .7, both pulls 1.5)."""
    sizes = [len(values) for values in SPACE.values()]
    spots = [[luck.uniform(0, size - 1) for size in sizes] for _ in range(PARTICLES)]
    speeds = [[0.0] * len(sizes) for _ in spots]
    own: list[tuple[float, list[float]]] = [(-math.inf, spot[:]) for spot in spots]
    yield START
    for _ in range(len(CELLS) // PARTICLES):
        for number, spot in enumerate(spots):
            value, _ = yield tuple(values[round(at)] for values, at in zip(SPACE.values(), spot, strict=True))
            own[number] = max(own[number], (value, spot[:]))
        top = max(own)[1]
        for number, spot in enumerate(spots):
            for axis, size in enumerate(sizes):
                pull = 1.5 * luck.random() * (own[number][1][axis] - spot[axis])
                pull += 1.5 * luck.random() * (top[axis] - spot[axis])
                speeds[number][axis] = 0.7 * speeds[number][axis] + pull
                spot[axis] = min(size - 1.0, max(0.0, spot[axis] + speeds[number][axis]))


WAYS: Mapping[str, Callable[[random.Random], Proposals]] = {
    "one_at_a_time": one_at_a_time,
    "tpe": tpe,
    "swarm": swarm,
    "grid": grid,
}


def starts_to_near(table: Table, course: Iterator[Cell]) -> int:
    """Starts until what is held for the best is near it; all of them where it never is."""
    return next((number for number, cell in enumerate(course, 1) if table.is_near(cell)), len(CELLS))


def main() -> None:
    """Run the benchmark."""
    run = harness.read(__doc__, quick="10 searches and 20 tunes instead of 40 and 100")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    table, began = Table.read(), time.process_time()
    searches, tunes = (10, 20) if run.quick else (40, 100)
    found: dict[str, list[int]] = {}
    loop_s, loop_starts = 0.0, 0
    script = LaunchScript.read(Path("serve.sh"), Path(), SCRIPT)
    own = [
        item for item in script_changes(script) if item.key in SPACE and cell_of(item.edits, START) in CELLS
    ]
    for seed in run.seed_range(searches):
        luck = random.Random(seed)
        for name, way in WAYS.items():
            course = by_value(Replay(table, luck), way(luck))
            found.setdefault(name, []).append(starts_to_near(table, course))
        before = time.perf_counter()
        cold = tune(Replay(table, luck), own, seed, evaluations=len(CELLS))
        loop_s, loop_starts = loop_s + time.perf_counter() - before, loop_starts + cold.starts
        other = tune(Replay(table, luck), changes(START, luck), seed, evaluations=len(CELLS))
        *_, twin = held(other, START)
        warm = tune(Replay(table, luck), changes(START, luck, twin), seed, evaluations=len(CELLS))
        for name, outcome in (("ours_cold", cold), ("ours_drawn", other), ("ours_twin", warm)):
            found.setdefault(name, []).append(starts_to_near(table, held(outcome, START)))
    within, false, best_cell = [], [], max(CELLS, key=table.fitted.__getitem__)
    nothing: list[bool] = []
    for seed in run.seed_range(tunes):
        luck = random.Random(f"claims {seed}")
        outcome = tune(Replay(table, luck), changes(START, luck), seed)
        if outcome.is_better and outcome.state is not None:
            interval = outcome.state.comparisons[0].interval
            truth = math.log(table.fitted[cell_of(outcome.edits, START)] / table.fitted[START])
            within.append(interval.low <= truth <= interval.high)
        same = [
            TuneChange(name=f"the same {one}", edits=ScriptEdits(variables={"X": one}), why="")
            for one in "abcd"
        ]
        false.append(tune(Replay(table, luck), same, seed).verdict is Verdict.BETTER)
        top = tune(Replay(table, luck, start=best_cell), changes(best_cell, luck), seed)
        nothing.append(top.verdict is not Verdict.BETTER)
    run.last_line(
        {
            "starts": {name: statistics.median(counts) for name, counts in found.items()},
            "starts_p90": {name: harness.percentile(counts, 90) for name, counts in found.items()},
            "gain_in_interval": harness.share(within),
            "false_gain": harness.share(false),
            "nothing_better": harness.share(nothing),
            "noise": round(table.noise, 4),
            "loop_share": round(loop_s / (loop_starts * table.cost_s), 5),
            "cpu_s": round(time.process_time() - began, 1),
        },
        n=searches,
    )


if __name__ == "__main__":
    main()
