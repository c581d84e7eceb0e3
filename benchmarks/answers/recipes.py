"""Plans beside official recipes that were withheld: layouts, settings, and what does not belong.

``python -m benchmarks.answers.recipes --asked DIR [--known DIR] [--quick]`` asks for the situation of each recipe of
``DIR/recipes.jsonl``. The recipe, its family and its source are withheld, by id, family and address, also where the
shipped knowledge has them; ``known_family`` asks once more with the recipe alone withheld. Beside the plan stand the
nearest recipe copied, the most popular settings of framework and phase, the trivial layout (tensors split over a
server, replicas beyond), the cost model alone and recipes alone.

A seed draws families (``--by``: programs or devices): their recipes are withheld together, and alone are asked.
``nested`` has the layouts with the weight of the cost model against recipes chosen on the other families (with
``--all`` before each family is asked).
``whole`` counts a recipe that was not answered as a miss; one that states no hardware is no question. ``near_expert`` is
of training: whether one of three layouts fits and takes at most 10 % longer than the expert's, both as modelled.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks import harness
from benchmarks.harness import mean, share
from benchmarks.worlds.recipe_rows import (
    PLACES,
    Pairs,
    alike,
    degrees_of,
    network_of,
    question_of,
    software_of,
    task_of,
    text_of,
    tuning,
)
from benchmarks.worlds.world import fresh_workspace
from kg.errors import TuningError
from kg.nouns.entities import Problem
from kg.nouns.layout import ParallelLayout
from kg.nouns.look_up import Standing
from kg.nouns.recipe import Recipe
from kg.nouns.setting import SettingPlace
from kg.terms.parts import part_of
from kg.terms.successors import newest_word
from recommender.ranking.plan.planner import Planned
from recommender.ranking.plan_setting import FIELDS
from recommender.ranking.starts.finder import StartFinder
from recommender.ranking.starts.layout_choice import TRUST_IN_TIMES, choose_layouts, degrees
from recommender.ranking.starts.layout_options import layout_options
from recommender.ranking.starts.starts import Starts
from recommender.workspace.workspace import Workspace

TRUSTS = (0.0, 0.1, 0.3, 1.0, 3.0)
RULES = (0.0, 0.1, 0.25, 0.5, 1.0)
NEAR = 0.9
"""Share of the expert's modelled throughput from which a layout is as good."""
CHANGES = 10
DEGREES = ("tp", "pp", "cp")

GROUPS: dict[str, Callable[[Recipe], str]] = {
    "family": lambda item: item.family,
    "framework": lambda item: item.framework,
    "hardware_node": lambda item: item.hardware,
}
"""Groups that may be withheld at once: columns of recipes.jsonl, and the same of a shipped recipe."""


@dataclass(slots=True)
class Verdicts:
    """Verdicts on the proposals for some recipes."""

    first: list[bool] = field(default_factory=list)
    top3: list[bool] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    near: list[bool] = field(default_factory=list)
    wrong: int = 0
    refused: int = 0

    def take(self, layouts: Sequence[bool] | None, proposed: Pairs | None, truth: Pairs) -> None:
        """Judge one proposal: whether each of its layouts is the expert's, and its settings."""
        if layouts is not None:
            self.first.append(list(layouts[:1]) == [True])
            self.top3.append(any(layouts[:3]))
        if proposed is not None and truth:
            hits = sum(alike(truth[key], value) for key, value in proposed.items() if key in truth)
            self.recall.append(hits / len(truth))
            if proposed:
                self.precision.append(hits / len(proposed))

    def to_json(self) -> dict[str, Any]:
        """Means; null where nothing was judged."""
        return {
            "n": max(len(self.first), len(self.recall)) + self.refused,
            "layout_first": mean(self.first),
            "layout_top3": mean(self.top3),
            "near_expert": mean(self.near),
            "near_n": len(self.near),
            "settings_recall": mean(self.recall),
            "settings_precision": mean(self.precision),
            "wrong": self.wrong,
            "refused": self.refused,
            "whole": {
                "layout_first": share(self.first, self.refused),
                "layout_top3": share(self.top3, self.refused),
                "settings_recall": share(self.recall, self.refused),
            },
        }


def main() -> None:
    """Print the figures; the last line is JSON."""
    given = harness.read(
        __doc__,
        harness.place("--asked", help="folder with recipes.jsonl"),
        harness.place(
            "--known", help="folder with recipes.jsonl to take in beside the shipped ones", required=False
        ),
        harness.option("--by", choices=GROUPS, default="family", help="what is drawn and withheld"),
        quick="ask a fifth",
    )
    path = given.asked / "recipes.jsonl"
    if not path.is_file():
        harness.refuse(f"{path} is not there: give the folder that holds recipes.jsonl")
    rows = (row for row in harness.json_rows(path) if row["hardware_node"])
    asked = [row | {"group": str(row[given.by])} for row in rows]
    groups = given.draw(given.by, (row["group"] for row in asked))
    drawn = None if given.all else groups
    if given.quick:  # what is not drawn only chooses the weight
        asked = [row for at, row in enumerate(asked) if at % 5 == 0 or (drawn and row["group"] in drawn)]
    with fresh_workspace() as workspace:
        if given.known:
            workspace.ingest(given.known / "recipes.jsonl")
        given.last_line(
            Bench(workspace, drawn, given.by).run(asked),
            n=sum(drawn is None or row["group"] in drawn for row in asked),
        )


class Bench:
    """Asks a workspace about recipes that it may not look at.

    Args:
        workspace: What is known.
        drawn: Groups that are asked, and withheld together; each in turn if None.
        by: What makes a group, of :data:`GROUPS`.
    """

    def __init__(self, workspace: Workspace, drawn: frozenset[str] | None, by: str) -> None:
        self.workspace = workspace
        self.drawn, self.by = drawn, by
        self.recipes = workspace.knowledge.recipes()
        self.verdicts: dict[tuple[str, str], Verdicts] = defaultdict(Verdicts)
        self.by_trust: dict[tuple[str, tuple[float, float]], list[tuple[str, bool, bool]]] = defaultdict(list)
        self.unasked: Counter[str] = Counter()

    def run(self, asked: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Ask all, and sum up."""
        for row in asked:
            try:
                self.ask(row)
            except TuningError as fault:
                self.refuse(row, str(fault)[:60])
        names = {name for name, _ in self.verdicts} - {"ours"}
        return {
            **{group: self.verdicts["ours", group].to_json() for group in ("all", "serve", "train")},
            "known_family": {
                g: self.verdicts["known_family", g].to_json() for g in ("all", "serve", "train")
            },
            "by_program": {
                program: self.verdicts["ours", program].to_json()
                for name, program in sorted(self.verdicts)
                if name == "ours" and program not in {"all", "serve", "train"}
            },
            "nested": {group: self.nested(group) for group in ("serve", "train")},
            "baselines": {
                name: {g: self.verdicts[name, g].to_json() for g in ("all", "serve", "train")}
                for name in sorted(names - {"known_family"})
            },
            "unasked": dict(self.unasked),
        }

    def ask(self, row: dict[str, Any]) -> None:
        """Ask for the situation of one recipe, and judge plan and baselines."""
        problem = self.problem(row)
        truth, layout = self.truth(problem, row), degrees_of(row)
        group = task_of(row)
        planned = self.plan(problem, self.withheld(row))
        if planned is None:
            self.refuse(row, "no framework runs it there")
            return
        if self.drawn and row["group"] not in self.drawn:
            self.trusts(group, row, problem, planned.starts, layout)
            return
        self.judge("ours", (group, row["framework"]), planned, layout, truth)
        if group == "train" and (near := self.near_expert(planned, layout)) is not None:
            self.verdicts["ours", group].near.append(near)
        if (known := self.plan(problem, frozenset({row["id"]}))) is not None:
            self.judge("known_family", (group, row["framework"]), known, layout, truth)
        self.baselines(group, row, problem, planned.starts, layout, truth)

    def withheld(self, row: dict[str, Any]) -> frozenset[str]:
        """The recipes that a question may not look at: its group, itself and its document."""
        address, groups = row["source"].split("#")[0], {row["group"], *(self.drawn or ())}
        return frozenset(
            item.id
            for item in self.recipes
            if GROUPS[self.by](item) in groups
            or item.id == row["id"]
            or item.source.url.split("#")[0] == address
        )

    def refuse(self, row: dict[str, Any], reason: str) -> None:
        """Count a recipe that was not answered; it can be: somebody runs it."""
        self.unasked[reason] += 1
        if not self.drawn or row["group"] in self.drawn:
            for name in ("ours", "known_family"):
                for kind in ("all", task_of(row), row["framework"]):
                    self.verdicts[name, kind].refused += 1

    def truth(self, problem: Problem, row: dict[str, Any]) -> Pairs:
        """The tuning settings of a recipe in the words of the release.

        Those that do nothing are none: what the release does untold or does not take, and settings of a split
        that the recipe's own layout has not (Megatron turns sequence parallelism off where tensors are whole).
        """
        starts = self.workspace.snapshot.recommender.planner.starts
        situation = starts.situation(problem)
        release = starts.release(situation) if situation is not None else None
        sizes, said = degrees_of(row), []
        for s in row["settings"]:
            place = PLACES.get(s["where"]) or SettingPlace(s["where"])
            part = part_of(s["key"], s["value"], row["framework"])
            found = release.look_up(s["key"], place, suggest=False) if release is not None else None
            is_gone = found is not None and found.standing in {Standing.REMOVED, Standing.NOT_YET}
            is_whole = part is not None and part.is_split and bool(part.lacking(sizes))
            if not (is_gone or is_whole or (found and found.is_default(s["value"]))):
                said.append((place, s["key"], newest_word(found, s["value"]) if found else s["value"]))
        return tuning(said)

    def problem(self, row: dict[str, Any]) -> Problem:
        """The question of a recipe: its model, phase, devices, framework and context."""
        raw = question_of(row) | {"software": software_of(row)} | network_of(row)
        if raw["phase"] in {"prefill", "decode"}:
            raw["traits"] |= {"disaggregated": True, "role": raw["phase"]}
        return self.workspace.problem(raw)[0]

    def plan(self, problem: Problem, withheld: frozenset[str]) -> Planned | None:
        """The plan without some recipes."""
        snapshot = self.workspace.snapshot
        recommender = snapshot.recommender
        finder = StartFinder(snapshot.graph, snapshot.hardware, withheld)
        facts = self.workspace.ask.model_facts(problem)
        rules = recommender.feasibility.of(problem, facts, [])
        return replace(recommender.planner, starts=finder).plan(problem, CHANGES, model=facts, rules=rules)

    def judge(
        self, name: str, groups: tuple[str, str], planned: Planned, layout: dict[str, int], truth: Pairs
    ) -> None:
        """Judge a plan, for its task and its program."""
        plan = planned.plan
        layouts = [item.layout for item in (plan.start, *plan.alternatives) if item.layout is not None]
        settings = [*plan.start.settings, *(s for change in plan.changes for s in change.settings)]
        proposed = tuning((str(s.where), s.key, text_of(s.value)) for s in reversed(settings))
        hits = (
            [is_same(item, layout, training=groups[0] == "train") for item in layouts] if plan.fits else None
        )
        for kind in ("all", *groups):
            verdicts = self.verdicts[name, kind]
            verdicts.take(hits, proposed, truth)
            verdicts.wrong += self.wrong(planned)

    def near_expert(self, planned: Planned, truth: dict[str, int]) -> bool | None:
        """True if one of three layouts fits and is modelled as fast as the expert's; None without a price of that."""
        starts, plan = planned.starts, planned.plan
        asked = self.workspace.snapshot.recommender.planner.starts.priced(
            starts.situation, starts.recipes, self.workspace.ask.model_facts(starts.situation.problem)
        )
        found = layout_options(asked) if asked is not None else []
        merits = {one.layout: one.log_merit for one in found if one.log_merit is not None}
        expert = [merit for one, merit in merits.items() if is_same(one, truth, training=True)]
        mine = [merits[one.layout] for one in (plan.start, *plan.alternatives)[:3] if one.layout in merits]
        return max(mine, default=-math.inf) >= max(expert) + math.log(NEAR) if expert else None

    def wrong(self, planned: Planned) -> int:
        """Settings of a plan that the release does not take."""
        recommender = self.workspace.snapshot.recommender
        release = recommender.planner.starts.release(planned.starts.situation)
        settings = [*planned.plan.start.settings, *(s for c in planned.plan.changes for s in c.settings)]
        if release is None:
            return 0
        return sum(
            not release.look_up(item.key, None if item.where in FIELDS else item.where, suggest=False).usable
            for item in settings
            if item.where is not SettingPlace.CODE
        )

    def baselines(
        self,
        group: str,
        row: dict[str, Any],
        problem: Problem,
        starts: Starts,
        layout: dict[str, int],
        truth: Pairs,
    ) -> None:
        """Judge what is simpler than a plan."""
        training = group == "train"
        weighed = starts.recipes
        nearest = weighed[0].recipe if weighed else None
        copied = tuning((str(s.where), s.key, s.value) for s in nearest.settings) if nearest else {}
        counts: Counter[tuple[str, str]] = Counter()
        for one in weighed:
            counts.update(tuning((str(s.where), s.key, s.value) for s in one.recipe.settings).items())
        popular = {key: value for (key, value), n in counts.items() if n > len(weighed) / 2}
        found: dict[str, tuple[list[bool] | None, Pairs | None]] = {
            "nearest": ([_is_as(nearest, layout, training=training)] if nearest else [False], copied),
            "popular": (None, popular),
            "trivial": ([self.trivial(problem, layout, training=training)], None),
        }
        found |= self.trusts(group, row, problem, starts, layout)
        for name, (hits_of, pairs) in found.items():
            for kind in ("all", group):
                self.verdicts[name, kind].take(hits_of, pairs, truth)

    def trusts(
        self, group: str, row: dict[str, Any], problem: Problem, starts: Starts, layout: dict[str, int]
    ) -> dict[str, tuple[list[bool] | None, Pairs | None]]:
        """Judge the layouts of each weight; return recipes alone and the cost model alone."""
        training, weighed = group == "train", starts.recipes
        found: dict[str, tuple[list[bool] | None, Pairs | None]] = {}
        asked = self.workspace.snapshot.recommender.planner.starts.priced(
            starts.situation, weighed, self.workspace.ask.model_facts(problem)
        )
        if asked is not None and (options := layout_options(asked)):
            for trust, rule in itertools.product(TRUSTS, (0.0,) if training else RULES):
                chosen = choose_layouts(
                    options,
                    weighed,
                    training=training,
                    model=starts.situation.model,
                    trust=trust,
                    rule=rule,
                )
                hits = [is_same(item.option.layout, layout, training=training) for item in chosen]
                self.by_trust[group, (trust, rule)].append((row["group"], hits[0], any(hits[:3])))
                if trust == rule == 0:
                    found["recipes_alone"] = (hits, None)
            alone = choose_layouts(options, [], training=training)
            hits = [is_same(item.option.layout, layout, training=training) for item in alone]
            found["cost_model"] = (hits, None)
        return found

    def trivial(self, problem: Problem, layout: dict[str, int], *, training: bool) -> bool:
        """True if experts split tensors over a server and replicate beyond it, as anyone would."""
        count = problem.hardware.count or 1
        tensor = min(count, 8)
        experts = layout["ep"] > 1
        same = layout["tp"] == tensor and layout["pp"] == 1 and layout["cp"] == 1
        return same and (not training or layout["ep"] == 1 or experts)

    def nested(self, group: str) -> dict[str, Any]:
        """Layout shares with the weight chosen on the other families: those not drawn, or all but the asked one."""
        rows = {trust: found for (name, trust), found in self.by_trust.items() if name == group}
        families = {family for found in rows.values() for family, _, _ in found}
        first, top3, chosen = [], [], Counter[tuple[float, float]]()
        for family in sorted(families & self.drawn if self.drawn else families):
            apart = self.drawn or {family}
            others = {t: [hit for f, hit, _ in found if f not in apart] for t, found in rows.items()}
            best = max(
                others,
                key=lambda t: (sum(others[t]) / max(len(others[t]), 1), -abs(t[0] - TRUST_IN_TIMES)),
            )
            chosen[best] += 1
            first += [hit for f, hit, _ in rows[best] if f == family]
            top3 += [hit for f, _, hit in rows[best] if f == family]
        ours = self.verdicts["ours", group]
        missed = max(len(ours.first) + ours.refused - len(first), 0)
        return {
            "n": len(first) + missed,
            "layout_first": mean(first),
            "layout_top3": mean(top3),
            "whole": {"layout_first": share(first, missed), "layout_top3": share(top3, missed)},
            "chosen": {f"trust {trust}, rule {rule}": n for (trust, rule), n in sorted(chosen.items())},
        }


def is_same(layout: ParallelLayout, truth: dict[str, int], *, training: bool) -> bool:
    """Equal splits of tensors, stages and sequences; experts alike: when serving, spread or not."""
    same = layout.tensors == truth["tp"] and layout.pp == truth["pp"] and layout.cp == truth["cp"]
    return same and (layout.ep == truth["ep"] if training else (layout.ep > 1) == (truth["ep"] > 1))


def _is_as(recipe: Recipe, truth: dict[str, int], *, training: bool) -> bool:
    sizes = degrees(recipe)
    same = all(sizes[name] == truth[name] for name in DEGREES)
    return same and (sizes["ep"] == truth["ep"] if training else (sizes["ep"] > 1) == (truth["ep"] > 1))


if __name__ == "__main__":
    main()
