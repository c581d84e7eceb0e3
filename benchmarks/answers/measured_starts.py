"""Starts of plans for measured serving tables, with and without measured runs of the model.

``python -m benchmarks.answers.measured_starts --known DIR --asked DIR [--quick]`` asks for each table of
``benchmarks.answers.serving``, engine and number of devices for the start of a plan. The layouts of the table that divide
that number count, as copies where they take fewer; a layout is worth its best measured throughput of each device under
the limit. ``none`` knows no run, ``elsewhere`` runs of the same network but none on the asked device with the asked
lengths, ``nested`` the same with the scales of errors fitted to other models, ``all`` knows the table too. A seed draws
models; their tables alone are asked, and the scales are fitted without all of them. Right is within 10 % of the best;
layouts that the table lacks are passed over. The last line is JSON.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.answers.run_scales import fitted
from benchmarks.answers.served_work import Work
from benchmarks.answers.serving import (
    FOLDERS,
    WITHIN,
    Scores,
    Table,
    asked_tables,
    drawn_tables,
    is_there,
    known_world,
    nearest_runs,
    runs_by_model,
)
from benchmarks.protocols.processes import one_thread
from kg.errors import UnknownEntityError
from kg.nouns.layout import ParallelLayout
from kg.triples.finders import ModelFinder
from recommender.cost_model.measured.correction import ErrorScales, RunCorrection
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.model_traits import ModelTraits, is_same_network
from recommender.ranking.starts.layout_choice import choose_layouts
from recommender.ranking.starts.layout_options import layout_options
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.workspace.workspace import Workspace

Split = tuple[int, int, int, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTable:
    """A question for a start, and what its layouts reach.

    Attributes:
        work: What is served.
        asked: Layouts and prices.
        recipes: Recipes for such problems.
        model: Traits of the model.
        values: Throughput of each device, by tensor split, stages, copies, and whether experts are spread.
    """

    work: Work
    asked: LayoutQuestion
    recipes: Sequence[WeighedRecipe]
    model: ModelTraits
    values: Mapping[Split, float]


def main() -> None:
    """Print the figures; the last line is JSON."""
    one_thread()
    given = harness.read(__doc__, *FOLDERS, quick="ask a fifth")
    with tempfile.TemporaryDirectory() as folder:
        workspace = known_world(given.known, Path(folder)).workspace
        runs = {model: found for model, found in runs_by_model(workspace).items() if found}
        tables, drawn = drawn_tables(given, asked_tables(given.asked, workspace))
        starts = [asked for table in tables for asked in start_tables(workspace, table)]
        models = ModelFinder(workspace.snapshot.graph)
        traits = {model: ModelTraits.of(models.find(model), model) for model in runs}
        given.last_line(judged(starts, runs, traits, drawn), n=len(starts))


def judged(
    tables: Sequence[StartTable],
    runs: Mapping[str, Sequence[MeasuredRun]],
    traits: Mapping[str, ModelTraits],
    drawn: frozenset[str],
) -> dict[str, Any]:
    """Ask all tables with each kind of knowledge; scales are fitted without the drawn models and the asked one."""
    hits: dict[str, Scores] = defaultdict(Scores)
    scales: dict[str, ErrorScales] = {}
    for table in tables:
        network = [
            name
            for name, one in traits.items()
            if name == table.model.id or is_same_network(table.model, one)
        ]
        left_out = drawn.union(network)
        if (name := str(sorted(left_out))) not in scales:
            scales[name] = fitted({model: found for model, found in runs.items() if model not in left_out})
        known = [run for model in network for run in runs[model]]
        work = table.work
        apart = partial(ne, work.device)
        elsewhere = nearest_runs(work, [run for run in known if not is_there(work, run)], apart)
        corrections = {
            "none": RunCorrection(),
            "elsewhere": RunCorrection(runs=elsewhere),
            "nested": RunCorrection(runs=elsewhere, scales=scales[name]),
            "all": RunCorrection(runs=nearest_runs(work, known, apart)),
        }
        for kind, measured in corrections.items():
            question = replace(table.asked.question, measured=measured)
            options = layout_options(replace(table.asked, question=question))
            chosen = choose_layouts(options, table.recipes, training=False, model=table.model)
            splits = (split_of(one.option.layout) for one in chosen)
            reached = [table.values[split] for split in splits if split in table.values]
            hits[kind].judge(reached, max(table.values.values()))
    return {kind: hits[kind].to_json() for kind in ("none", "elsewhere", "nested", "all")}


def start_tables(workspace: Workspace, table: Table) -> Iterator[StartTable]:
    """The questions for a start that a table answers: one for each engine and number of devices."""
    work = table.question.work
    values: dict[tuple[str, int], dict[Split, float]] = defaultdict(dict)
    for (framework, layout, _), value in table.values.items():
        for count in table.question.domain.counts:
            copies, rest = divmod(count, layout.devices)
            tensor, stages, replicas, experts, _ = layout.split
            if not rest and (copies == 1 or experts == 1):
                split = (tensor, stages, replicas * copies, experts > 1)
                found = values[framework, count]
                found[split] = max(found.get(split, 0.0), value)
    finder = workspace.snapshot.recommender.planner.starts
    for (framework, count), found in values.items():
        best = max(found.values())
        if not best or min(found.values()) >= WITHIN * best:
            continue
        raw = {
            "model": work.model, "phase": "serving", "hardware": work.device, "count": count,
            "precision": work.precision, "software": {framework: ""},
            "shape": {"input_len": int(work.input_len), "output_len": int(work.output_len)},
            "limits": [f"{item.metric}<={item.maximum * 1e3:g}ms" for item in table.question.limits],
        }  # fmt: skip
        try:
            problem, _ = workspace.problem(raw)
        except UnknownEntityError:
            continue  # an engine of which nothing is known
        situation, sizes = finder.situation(problem), workspace.ask.model_facts(problem)
        if situation is None:
            continue
        recipes = finder.find(situation, sizes).recipes
        asked = finder.priced(situation, recipes, sizes)
        if asked is not None and layout_options(asked):
            yield StartTable(work=work, asked=asked, recipes=recipes, model=situation.model, values=found)


def split_of(layout: ParallelLayout) -> Split:
    """The part of a layout that a table distinguishes."""
    tensor, stages, replicas, experts, _ = layout.split
    return tensor, stages, replicas, experts > 1


if __name__ == "__main__":
    main()
