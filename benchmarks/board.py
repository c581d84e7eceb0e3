"""The board: official recipes, measured passes and measured tables asked blind, our answer beside their owner's.

``python -m benchmarks.board DATA --output PAGE [--all | --seed N] [--quick]`` asks what it finds in the folder DATA:

* each recipe of ``recipes/recipes.jsonl`` and ``recipes_more/recipes.jsonl``, its family and its document withheld, as
  :mod:`benchmarks.answers.recipes` does: the layout that its authors launch, and what they measured with it;
* each pass of ``measured/forward_passes.csv`` by physics alone (:mod:`benchmarks.cost_models.passes`), which has no interval;
* each table of served models in ``cases/`` without any run of theirs (:mod:`benchmarks.answers.serving`): what the layout that
  we name reaches there, beside the best of the table.

A group whose folder is not there is skipped and says so; what could not be answered stands with the reason and is a
miss. Misses come first, the farthest off before all. The page is one file without references to others; nothing of DATA
stays here. Groups are asked in processes of their own, as many at once as there are processors.
"""

import csv
import datetime
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.answers import recipes, serving
from benchmarks.answers.served_work import DeploymentQuestion
from benchmarks.cost_models import passes
from benchmarks.protocols.processes import children_import_from_here
from benchmarks.worlds.recipe_rows import degrees_of, task_of
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from benchmarks.worlds.world import fresh_workspace
from data import text as shipped
from kg.errors import TuningError
from kg.nouns.gain import NORMAL_90
from recommender.report.charts import BAR_WIDTH, interval
from recommender.report.markup import Markup, joined, shorten, table, tag
from recommender.report.scales import Scale
from recommender.workspace.workspace import Workspace

REACH = 4.0
"""Ratio of ours to theirs at which the drawing ends."""
NEAR = 0.25
"""Share by which a time without an interval may be off and still count as right."""
Asker = Callable[[Path, harness.Run, Workspace], Iterator["Row"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question and both answers.

    Attributes:
        name: What was asked.
        theirs: What its owner launches or measured, in words.
        source: The owner's address; empty where it is none.
        ours: Our answer in words.
        hit: Whether ours counts as right.
        numbers: Our number with the ends of its 90 % interval, which are the same where it has none.
        measured: What the owner measured.
        unit: Of the numbers.
    """

    name: str
    theirs: str
    source: str = ""
    ours: str = ""
    hit: bool = False
    numbers: tuple[float, float, float] | None = None
    measured: float | None = None
    unit: str = ""

    @property
    def is_inside(self) -> bool | None:
        """True if the measured value lies in our interval; None where one of them is not known."""
        if self.numbers is None or self.measured is None or self.numbers[1] == self.numbers[2]:
            return None
        return self.numbers[1] <= self.measured <= self.numbers[2]

    @property
    def off(self) -> float:
        """Log distance of our number from theirs; without a number, 0 for a hit, else infinite."""
        if self.numbers and self.measured:
            return abs(math.log(self.numbers[0] / self.measured))
        return 0.0 if self.hit else math.inf


def recipe_rows(folder: Path, run: harness.Run, workspace: Workspace) -> Iterator[Row]:
    """Plans for the recipes of a folder, each without its family and document."""
    bench = recipes.Bench(workspace, None, "family")
    lines = (folder / "recipes.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [
        row | {"group": str(row["family"])}
        for row in map(json.loads, filter(None, lines))
        if row["hardware_node"]
    ]
    drawn = run.draw(f"family of {folder.name}", (row["group"] for row in asked))
    for row in [row for row in asked if row["group"] in drawn][:: 5 if run.quick else 1]:
        truth = degrees_of(row)
        words = " x ".join(f"{name.upper()} {size}" for name, size in truth.items() if size > 1)
        name = "{model}, {phase}, {devices} x {hardware_node}, {framework}".format_map(row)
        words = words or ("one device" if row["devices"] == 1 else "no division stated")
        plain = Row(name=name, theirs=words, source=row["source"])
        try:
            planned = bench.plan(bench.problem(row), bench.withheld(row))
        except TuningError as fault:
            yield replace(plain, ours=f"refused: {fault}")
            continue
        if planned is None or not planned.plan.fits or planned.plan.start.layout is None:
            yield replace(plain, ours="refused: no layout")
            continue
        layouts = [one.layout for one in (planned.plan.start, *planned.plan.alternatives) if one.layout][:3]
        hit = any(recipes.is_same(one, truth, training=task_of(row) == "train") for one in layouts)
        plain = replace(plain, ours=" or ".join(map(str, layouts)), hit=hit)
        expected, measured = next(iter(planned.plan.start.expected), None), _measured(row)
        if measured and expected and expected.unit == "tokens/s":
            numbers = (expected.value, expected.low, expected.high)
            plain = replace(plain, numbers=numbers, measured=measured, unit=expected.unit)
        yield plain


def _measured(row: dict[str, Any]) -> float | None:
    """Output tokens a second that the owner of a recipe measured in the context of its question."""
    names = ("input_len", "output_len", "concurrency")
    for item in row["measured"]:
        context = {name: item.get(name) for name in names}
        if item["metric"] == "output_token_throughput" and context == {
            n: row["context"].get(n) for n in names
        }:
            return float(item["value"])
    return None


def pass_rows(path: Path, run: harness.Run, _: Workspace) -> Iterator[Row]:
    """Measured passes of whole models."""
    known = ShippedKnowledge.load()
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    drawn = run.draw("model of passes", (row["model"] for row in rows), share=0.5)
    for row in (row for row in rows if row["model"] in drawn):
        measured = float(row["measured_s"]) * 1e3
        split = f"TP {row['tp']} x DP {row['dp']} x EP {row['ep']} on {row['hardware']}"
        name = f"{row['model']}, {row['phase']} of {row['batch_per_dp_rank']} x {row['query_len']}, {split}"
        plain = Row(name=name, theirs=f"{measured:.4g} ms", measured=measured, unit="ms")
        try:
            ours = passes.priced(row, known).time_s * 1e3
        except (NotExpressibleError, TuningError) as fault:
            yield replace(plain, ours=f"refused: {fault}")
            continue
        hit = abs(ours / measured - 1) <= NEAR
        yield replace(plain, ours=f"{ours:.4g} ms", hit=hit, numbers=(ours, ours, ours))


def table_rows(folder: Path, run: harness.Run, workspace: Workspace) -> Iterator[Row]:
    """Measured tables of served models, asked without any run."""
    tables, _ = serving.drawn_tables(run, serving.asked_tables(folder, workspace))
    bench = serving.Bench(workspace, drawn=frozenset())
    rate = cache(lambda work, domain: bench.deployments.rate(DeploymentQuestion(work=work, domain=domain)))
    for one in tables:
        work, question = one.question.work, one.question
        limit = "".join(f", {item.metric} <= {1e3 * (item.maximum or 0):g} ms" for item in question.limits)
        best = max(one.values, key=one.values.__getitem__)
        plain = Row(
            name=f"{work.model}, {work.device}, {work.precision}, {work.input_len:g} + {work.output_len:g}{limit}",
            theirs=f"{best[0]} {best[1]}: {one.best:,.0f}",
            unit="tokens/s a device",
        )
        try:
            rated = [item for item in rate(work, question.domain) if serving.is_open(item, one)]
        except TuningError as fault:
            yield replace(plain, ours=f"refused: {fault}")
            continue
        if not rated:
            yield replace(plain, ours="refused: nothing fits")
            continue
        first = serving.best_layouts(rated, question)[0]
        loads = [item for item in rated if serving.layout_of(item.deployment) == first]
        counted = 1 + work.input_len / work.output_len if one.counts_prompts else 1.0
        value = counted * serving.layout_value(loads, question)
        factor = math.exp(NORMAL_90 * max(item.spread for item in loads))
        there = one.values.get(first)
        says = "no load there is measured" if there is None else f"reaches {there:,.0f}"
        yield replace(
            plain, ours=f"{first[0]} {first[1]}: {says}", measured=there, numbers=(value, value / factor, value * factor),
            hit=there is not None and there >= serving.WITHIN * one.best,
        )  # fmt: skip


GROUPS: dict[str, tuple[str, Asker]] = {
    "Measured tables of served models": ("cases", table_rows),
    "Official recipes": ("recipes", recipe_rows),
    "Official recipes, more": ("recipes_more", recipe_rows),
    "Measured passes": ("measured/forward_passes.csv", pass_rows),
}
"""Title, place under DATA, and who asks; what takes longest first."""
TOLD_S = 30.0
"""Time between two lines that say how far a group is."""


def rows_of(title: str, run: harness.Run) -> tuple[list[Row], dict[str, list[str] | str]]:
    """Rows of a group, and what its seed drew; prints its progress now and then."""
    where, ask = GROUPS[title]
    found: list[Row] = []
    told = time.monotonic()
    with fresh_workspace() as workspace:
        for row in ask(run.data / where, run, workspace):
            found.append(row)
            if time.monotonic() > told + TOLD_S:
                told = time.monotonic()
                print(f"{title}: {len(found)} asked", file=sys.stderr, flush=True)
    return found, run.held_out


def section(title: str, rows: list[Row]) -> Markup:
    """A group of the page: its counts, then its rows, misses first."""
    rows = sorted(rows, key=lambda one: (one.hit and one.is_inside is not False, -one.off, one.name))
    judged = [one.is_inside for one in rows if one.is_inside is not None]
    counts = f"{sum(one.hit for one in rows)} of {len(rows)} right"
    if judged:
        counts += f"; {sum(judged)} of {len(judged)} measurements inside our 90 % interval"
    cells = [
        (
            shorten(one.name, 110),
            one.ours,
            tag("a", one.theirs, href=one.source) if one.source.startswith("https://") else one.theirs,
            _drawn(one),
            tag("span", "right" if one.hit else "missed", class_="better" if one.hit else "worse"),
        )
        for one in rows
    ]
    columns = ("asked", "ours", "theirs", "ours / theirs, with our interval", "")
    return tag("section", tag("h2", title), tag("p", counts, class_="lead"), table(columns, cells))


def _drawn(one: Row) -> Markup | str:
    """Our number and interval over theirs, which is the dotted line."""
    if not one.numbers or not one.measured or not one.numbers[0]:
        return ""
    scale = Scale(1 / REACH, REACH, 0, BAR_WIDTH, is_log=True)
    middle, low, high = (value / one.measured for value in one.numbers)
    bar = interval(scale, low, middle, high, 1.0, "s1" if one.is_inside is not False else "s8")
    return joined(
        [bar, tag("span", f"{one.numbers[0]:,.4g} for {one.measured:,.4g} {one.unit}", class_="soft")]
    )


def page(sections: list[Markup], when: str) -> str:
    """The whole page."""
    title = "tunegraph: the board"
    says = (
        "What official recipes launch and what their owners measured, asked blind: the family and document of a recipe, "
        "and all runs of a table, are withheld; passes were in view while the model of cost was built. Misses first. A "
        "recipe is right where one of our first three layouts is its own, a pass within 25 %, a table where our layout "
        f"reaches nine tenths of the best. {when}"
    )
    head = (
        tag("meta", charset="utf-8"),
        tag("title", title),
        tag("style", Markup(shipped("report/report.css"))),
    )
    wide = tag("style", Markup("main,body>header{max-width:84rem}"))
    body = (tag("header", tag("h1", title), tag("p", says)), tag("main", *sections))
    return f"<!doctype html>\n{tag('html', tag('head', *head, wide), tag('body', *body), lang='en')}\n"


def main() -> None:
    """Ask everything and write the page."""
    run = harness.read(
        __doc__,
        harness.place("data", help="folder of data: recipes, recipes_more, measured, cases"),
        harness.option("--output", type=Path, required=True, help="the page"),
        quick="ask a fifth",
    )
    sections, figures = [], {}
    there = [title for title, (where, _) in GROUPS.items() if (run.data / where).exists()]
    children_import_from_here()
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:  # stores have threads: no fork
        asked = dict(zip(there, pool.map(rows_of, there, [run] * len(there)), strict=True))
    for title, (where, _) in GROUPS.items():
        if title not in asked:
            print(f"skipped: {title}: {where} is not in {run.data}")
            sections.append(tag("section", tag("h2", title), tag("p", f"skipped: {where} is not there")))
            continue
        rows, drawn = asked[title]
        run.held_out |= drawn
        sections.append(section(title, rows))
        inside = [one.is_inside for one in rows if one.is_inside is not None]
        figures[title] = {
            "n": len(rows), "right": harness.mean(one.hit for one in rows),
            "inside": harness.mean(inside), "inside_n": len(inside),
        }  # fmt: skip
    draw = "Every group was asked." if run.all else f"A part was asked, drawn by seed {run.seed}."
    run.output.write_text(page(sections, f"{datetime.date.today()}. {draw}"), encoding="utf-8")
    spent = round(sum(os.times()[:4]), 1)  # with the processes of the groups
    run.last_line({"groups": figures, "cpu_s": spent}, n=sum(int(one["n"] or 0) for one in figures.values()))


if __name__ == "__main__":
    main()
