"""Plans beside official recipes that were withheld: layouts, settings, and what does not belong.

``python -m benchmarks.answers.recipes --asked DIR [--known DIR] [--quick]`` asks for the situation of each recipe of
``DIR/recipes.jsonl``. The recipe, its family and its source are withheld, by id, family and address, also where the
shipped knowledge has them; ``known_family`` asks once more with the recipe alone withheld. Beside the plan stand the
nearest recipe copied, the most popular settings of framework and phase, the trivial layout (tensors split over a
server, replicas beyond), the cost model alone and recipes alone.

``nested`` chooses the weight of the cost model against recipes on the other families before each family is asked.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.protocols.lines import last_line
from kg.errors import TuningError
from kg.nouns.recipe import experts_spread
from kg.nouns.setting import SettingPlace
from kg.terms.purposes import Purpose, plain_key, purpose
from recommender.ranking.starts.finder import StartFinder
from recommender.ranking.starts.layout_choice import TRUST_IN_TIMES, choose_layouts, degrees
from recommender.ranking.starts.layout_options import layout_options
from recommender.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.nouns.entities import Problem
    from kg.nouns.layout import ParallelLayout
    from kg.nouns.recipe import Recipe
    from recommender.ranking.plan.planner import Planned
    from recommender.ranking.starts.starts import Starts

PHASES = {
    "serve": "serving",
    "train": "training",
    "finetune": "training",
    "prefill": "prefill",
    "decode": "decode",
}
TRUSTS = (0.0, 0.1, 0.3, 1.0, 3.0)
RULES = (0.0, 0.1, 0.25, 0.5, 1.0)
CHANGES = 10
DEGREES = ("tp", "pp", "cp")

Pairs = dict[str, str]


@dataclass(slots=True)
class Verdicts:
    """What was proposed for some recipes, judged."""

    first: list[bool] = field(default_factory=list)
    top3: list[bool] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    wrong: int = 0

    def take(self, layouts: Sequence[bool] | None, proposed: Pairs | None, truth: Pairs) -> None:
        """Judge one proposal: whether each of its layouts is the expert's, and its settings."""
        if layouts is not None:
            self.first.append(list(layouts[:1]) == [True])
            self.top3.append(any(layouts[:3]))
        if proposed is not None and truth:
            hits = sum(_alike(truth[key], value) for key, value in proposed.items() if key in truth)
            self.recall.append(hits / len(truth))
            if proposed:
                self.precision.append(hits / len(proposed))

    def to_json(self) -> dict[str, Any]:
        """Means; null where nothing was judged."""
        return {
            "n": max(len(self.first), len(self.recall)),
            "layout_first": _mean(self.first),
            "layout_top3": _mean(self.top3),
            "settings_recall": _mean(self.recall),
            "settings_precision": _mean(self.precision),
            "wrong": self.wrong,
        }


def main() -> int:
    """Print the figures; the last line is JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--asked", type=Path, required=True, help="folder with recipes.jsonl")
    parser.add_argument(
        "--known", type=Path, help="folder with recipes.jsonl to take in beside the shipped ones"
    )
    parser.add_argument("--quick", action="store_true", help="ask a fifth")
    given = parser.parse_args()
    path = given.asked / "recipes.jsonl"
    if not path.is_file():
        print(f"{path} is not there: give the folder that holds recipes.jsonl", file=sys.stderr)
        return 2
    asked = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        Workspace.create(place / "w", cache=place / "cache", text_model=None)
        with Workspace.open(place / "w", cache=place / "cache") as workspace:
            if given.known:
                workspace.ingest(given.known / "recipes.jsonl")
            last_line(Bench(workspace).run(asked[:: 5 if given.quick else 1]))
    return 0


class Bench:
    """Asks a workspace about recipes that it may not look at."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.recipes = workspace.recipes()
        self.verdicts: dict[tuple[str, str], Verdicts] = defaultdict(Verdicts)
        self.by_trust: dict[tuple[str, tuple[float, float]], list[tuple[str, bool, bool]]] = defaultdict(list)
        self.unasked: Counter[str] = Counter()

    def run(self, asked: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Ask all, and sum up."""
        for row in asked:
            try:
                self.ask(row)
            except TuningError as fault:
                self.unasked[str(fault)[:60]] += 1
        for (name, group), verdicts in sorted(self.verdicts.items()):
            print(f"{name:14} {group:6} {verdicts.to_json()}")
        names = {name for name, _ in self.verdicts} - {"ours"}
        return {
            **{group: self.verdicts["ours", group].to_json() for group in ("all", "serve", "train")},
            "known_family": {
                g: self.verdicts["known_family", g].to_json() for g in ("all", "serve", "train")
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
        truth, layout = self.truth(problem, row), _degrees(row)
        address = row["source"].split("#")[0]
        family = {
            item.id
            for item in self.recipes
            if item.family == row["family"]
            or item.id == row["id"]
            or item.source.url.split("#")[0] == address
        }
        group = "train" if PHASES[row["phase"]] == "training" else "serve"
        planned = self.plan(problem, frozenset(family))
        if planned is None:
            self.unasked["no framework runs it there"] += 1
            return
        self.judge("ours", group, planned, layout, truth)
        if (known := self.plan(problem, frozenset({row["id"]}))) is not None:
            self.judge("known_family", group, known, layout, truth)
        self.baselines(group, row, problem, planned.starts, layout, truth)

    def truth(self, problem: Problem, row: dict[str, Any]) -> Pairs:
        """The tuning settings of a recipe; what the release does without being told is none."""
        starts = self.workspace.snapshot.recommender.planner.starts
        situation = starts.situation(problem)
        release = starts.release(situation) if situation is not None else None
        return _tuning(
            (s["where"], s["key"], s["value"])
            for s in row["settings"]
            if release is None
            or not release.look_up(s["key"], SettingPlace(s["where"]), suggest=False).is_default(s["value"])
        )

    def problem(self, row: dict[str, Any]) -> Problem:
        """The question of a recipe: its model, phase, devices, framework and context."""
        context, phase = row.get("context") or {}, PHASES[row["phase"]]
        names = ("input_len", "output_len", "seq_len")
        shape = {name: context[name] for name in names if isinstance(context.get(name), int | float)}
        traits: dict[str, object] = {}
        if isinstance(context.get("concurrency"), int):
            traits["concurrency"] = context["concurrency"]
        if phase in {"prefill", "decode"}:
            traits |= {"disaggregated": True, "role": phase}
        raw = {
            "model": row["model"], "phase": phase, "hardware": row["hardware_node"], "shape": shape,
            "count": row["devices"] // (row.get("instances") or 1), "traits": traits,
            "software": {row["framework"]: row["framework_version"]},
        }  # fmt: skip
        return self.workspace.problem(raw)[0]

    def plan(self, problem: Problem, withheld: frozenset[str]) -> Planned | None:
        """The plan without some recipes."""
        snapshot = self.workspace.snapshot
        recommender = snapshot.recommender
        finder = StartFinder(snapshot.graph, snapshot.hardware, withheld)
        facts = self.workspace.model_facts(problem)
        rules = recommender.feasibility.of(problem, facts, [])
        return replace(recommender.planner, starts=finder).plan(problem, CHANGES, model=facts, rules=rules)

    def judge(self, name: str, group: str, planned: Planned, layout: dict[str, int], truth: Pairs) -> None:
        """Judge a plan."""
        plan = planned.plan
        layouts = [item.layout for item in (plan.start, *plan.alternatives) if item.layout is not None]
        settings = [*plan.start.settings, *(s for change in plan.changes for s in change.settings)]
        proposed = _tuning((str(s.where), s.key, _text(s.value)) for s in reversed(settings))
        hits = [_is_same(item, layout, training=group == "train") for item in layouts] if plan.fits else None
        for kind in ("all", group):
            verdicts = self.verdicts[name, kind]
            verdicts.take(hits, proposed, truth)
            verdicts.wrong += self.wrong(planned)

    def wrong(self, planned: Planned) -> int:
        """Settings of a plan that the release does not take."""
        recommender = self.workspace.snapshot.recommender
        release = recommender.planner.starts.release(planned.starts.situation)
        settings = [*planned.plan.start.settings, *(s for c in planned.plan.changes for s in c.settings)]
        if release is None:
            return 0
        return sum(
            not release.look_up(item.key, item.where, suggest=False).usable
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
        copied = _tuning((str(s.where), s.key, s.value) for s in nearest.settings) if nearest else {}
        counts: Counter[tuple[str, str]] = Counter()
        for one in weighed:
            counts.update(_tuning((str(s.where), s.key, s.value) for s in one.recipe.settings).items())
        popular = {key: value for (key, value), n in counts.items() if n > len(weighed) / 2}
        found: dict[str, tuple[list[bool] | None, Pairs | None]] = {
            "nearest": ([_is_as(nearest, layout, training=training)] if nearest else [False], copied),
            "popular": (None, popular),
            "trivial": ([self.trivial(problem, layout, training=training)], None),
        }
        asked = self.workspace.snapshot.recommender.planner.starts.priced(
            starts.situation, weighed, self.workspace.model_facts(problem)
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
                hits = [_is_same(item.option.layout, layout, training=training) for item in chosen]
                self.by_trust[group, (trust, rule)].append((row["family"], hits[0], any(hits[:3])))
                if trust == rule == 0:
                    found["recipes_alone"] = (hits, None)
            alone = choose_layouts(options, [], training=training)
            hits = [_is_same(item.option.layout, layout, training=training) for item in alone]
            found["cost_model"] = (hits, None)
        for name, (hits_of, pairs) in found.items():
            for kind in ("all", group):
                self.verdicts[name, kind].take(hits_of, pairs, truth)

    def trivial(self, problem: Problem, layout: dict[str, int], *, training: bool) -> bool:
        """Whether splitting tensors over a server, with replicas beyond, is what experts do."""
        count = problem.hardware.count or 1
        tensor = min(count, 8)
        experts = layout["ep"] > 1
        same = layout["tp"] == tensor and layout["pp"] == 1 and layout["cp"] == 1
        return same and (not training or layout["ep"] == 1 or experts)

    def nested(self, group: str) -> dict[str, Any]:
        """Layout shares with the weight chosen on the other families."""
        rows = {trust: found for (name, trust), found in self.by_trust.items() if name == group}
        families = {family for found in rows.values() for family, _, _ in found}
        first, top3, chosen = [], [], Counter[tuple[float, float]]()
        for family in families:
            others = {t: [hit for f, hit, _ in found if f != family] for t, found in rows.items()}
            best = max(
                others,
                key=lambda t: (sum(others[t]) / max(len(others[t]), 1), -abs(t[0] - TRUST_IN_TIMES)),
            )
            chosen[best] += 1
            first += [hit for f, hit, _ in rows[best] if f == family]
            top3 += [hit for f, _, hit in rows[best] if f == family]
        return {
            "n": len(first),
            "layout_first": _mean(first),
            "layout_top3": _mean(top3),
            "chosen": {f"trust {trust}, rule {rule}": n for (trust, rule), n in sorted(chosen.items())},
        }


def _degrees(row: dict[str, Any]) -> dict[str, int]:
    sizes = {name: int(row["layout"].get(name) or 1) for name in ("tp", "pp", "dp", "cp")}
    settings = {item["key"]: item["value"] for item in row["settings"]}
    stated = {name: size for name, size in row["layout"].items() if size is not None}
    sizes["ep"] = experts_spread(row["framework"], stated, settings)
    if row["layout"].get("dp_attention") and sizes["dp"] > 1:
        sizes["tp"] = max(sizes["tp"] // sizes["dp"], 1)
    return sizes


def _is_same(layout: ParallelLayout, truth: dict[str, int], *, training: bool) -> bool:
    """Equal splits of tensors, stages and sequences; experts alike: when serving, spread or not."""
    same = layout.tensors == truth["tp"] and layout.pp == truth["pp"] and layout.cp == truth["cp"]
    return same and (layout.ep == truth["ep"] if training else (layout.ep > 1) == (truth["ep"] > 1))


def _is_as(recipe: Recipe, truth: dict[str, int], *, training: bool) -> bool:
    sizes = degrees(recipe)
    same = all(sizes[name] == truth[name] for name in DEGREES)
    return same and (sizes["ep"] == truth["ep"] if training else (sizes["ep"] > 1) == (truth["ep"] > 1))


def _tuning(settings: Iterable[tuple[str, str, object]]) -> Pairs:
    """Settings that tune, by place and plain key; of a key that stands twice the last."""
    return {
        f"{where}:{plain_key(key)}": str(value).lower()
        for where, key, value in settings
        if purpose(key) is Purpose.TUNING
    }


def _text(value: object) -> str:
    return "true" if value is None or value is True else "false" if value is False else str(value)


def _alike(one: str, other: str) -> bool:
    """Equal, or numbers within a factor of two: sizes that follow from lengths and memory."""
    if one == other:
        return True
    try:
        first, second = float(one), float(other)
    except ValueError:
        return False
    return first * second > 0 and 0.5 <= first / second <= 2


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


if __name__ == "__main__":
    sys.exit(main())
