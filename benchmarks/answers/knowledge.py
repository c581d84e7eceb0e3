"""Measures how far the shipped knowledge covers the writing of people who know these systems.

    python -m benchmarks.answers.knowledge --recipes RECIPES [--questions FILE]

Settings: of the keys in a folder of official recipes, the share that the registry of settings knows at the release
of the recipe, in the place where it is written and with the type of its value. A key counts once a software; beside it
stands the share of all lines. "Taken": the release takes it (or passes it on unchecked, counted apart). "Answered":
taken, or the registry says that this release dropped it or does not have it yet, or which key is meant by one that is
misspelt or stands in the wrong object. What is not taken is listed.

Strategies: how many have a scope that a question can decide, which apply to every model on every device, and which have
neither settings nor the kind of their work. Experts: how many actions that experts try first (``expert_actions.csv``) name strategies
of the graph. Recipes: how many ship, each with an address. Offers: settings that the gate lets through to a file of
questions (JSON lines with ``question.args`` and ``question.facts``) although the release has dropped them or has them by
default. The last line is JSON.
"""

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import data
from benchmarks import harness
from benchmarks.worlds.world import fresh_workspace
from cli.values import pairs
from ingest.knowledge.files import ARCHITECTURES, read_knowledge
from kg.errors import TuningError, UnknownEntityError
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Model, Strategy
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms.conditions import Truth
from kg.terms.setting_registry import registry, softwares
from kg.triples.serialisation import from_graph
from recommender.applicability.gate import judge, setting_key
from recommender.applicability.question_facts import question_facts
from recommender.store.shipped_knowledge import recipes as shipped_recipes
from recommender.workspace.workspace import Workspace

ACTIONS = Path(__file__).with_name("expert_actions.csv")
VENDORS = frozenset({"huawei", "nvidia", "amd", "intel"})
TABLES = {
    "--shape": "shape",
    "--trait": "traits",
    "--bottleneck": "bottlenecks",
    "--current": "current",
    "--software": "software",
}


@dataclass
class Keys:
    """The registry's verdicts on the keys of one software.

    Attributes:
        lines: Lines of recipes by what became of them.
        keys: Keys by the same; a key of several is what most of its lines are.
        examples: A line for each key that is not known, with what the registry says.
    """

    lines: Counter[str] = field(default_factory=Counter)
    keys: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[tuple[str, str], str] = field(default_factory=dict)


def main() -> None:
    """Print the figures and the lists; the last line is JSON."""
    given = harness.read(
        __doc__,
        harness.place("--recipes", "--known", help="folder with recipes.jsonl"),
        harness.place("--questions", help="questions, JSON lines", required=False),
    )
    path = given.recipes / "recipes.jsonl"
    if not path.is_file():
        harness.refuse(f"{path} is not there: give the folder that holds recipes.jsonl")
    nouns = [
        noun for name in data.files("knowledge", ".yaml") for noun in read_knowledge(data.text(name), name)
    ]
    strategies = [noun for noun in nouns if isinstance(noun, Strategy)]
    report = {
        "strategies": scopes(strategies),
        "experts": actions(strategies),
        "recipes": shipped(),
        "settings_known": settings(path),
    }
    if given.questions:
        frameworks = [noun for noun in nouns if isinstance(noun, Framework)]
        report["offers"] = offers(given.questions, strategies, frameworks)
    for name, figures in report.items():
        if name != "settings_known":
            print(f"{name}: {json.dumps(figures)}")
    given.last_line(report, n=report["settings_known"]["all"]["keys"])


def scopes(strategies: Sequence[Strategy]) -> dict[str, Any]:
    """Strategies with a scope, those that apply everywhere, and those that say neither settings nor work."""
    everywhere = [
        item.id
        for item in strategies
        if not item.applies_when
        and set(item.hardware) <= VENDORS
        and (not item.families or set(item.families) >= set(ARCHITECTURES) - {"other", "audio", "multimodal"})
    ]
    return {
        "strategies": len(strategies),
        "with_scope": sum(bool(item.families or item.hardware or item.applies_when) for item in strategies),
        "with_condition": sum(bool(item.applies_when) for item in strategies),
        "everywhere": everywhere,
        "with_settings": sum(bool(item.sets) for item in strategies),
        "work": dict(Counter(item.work for item in strategies if item.work)),
        "neither": [item.id for item in strategies if not item.sets and not item.work],
    }


def actions(strategies: Sequence[Strategy]) -> dict[str, Any]:
    """Actions that experts try first, and those without a strategy of the graph."""
    there = {item.id for item in strategies}
    with ACTIONS.open(encoding="utf-8", newline="") as stream:
        found = {row["action"]: row["strategies"].split() for row in csv.DictReader(stream)}
    refused = [name for name, ids in found.items() if not ids or set(ids) - there]
    return {"actions": len(found), "covered": len(found) - len(refused), "refused": refused}


def shipped() -> dict[str, int]:
    """Recipes that ship, their families and how many can be cited."""
    every = shipped_recipes()
    return {
        "recipes": len(every),
        "families": len({item.family for item in every}),
        "with_address": sum(item.source.url.startswith("https://") for item in every),
    }


def settings(path: Path) -> dict[str, Any]:
    """Keys of recipes that the registry knows, by software and in all; what it does not take is printed."""
    with path.open(encoding="utf-8") as stream:
        found = settings_known(json.loads(line) for line in stream)
    report: dict[str, Any] = {}
    every: Counter[str] = Counter()
    for software, keys in sorted(found.items()):
        by_key = Counter(outcomes.most_common(1)[0][0] for outcomes in keys.keys.values())
        every.update(by_key)
        report[software] = _figures(by_key, keys.lines)
        print(f"{software}: {_line(report[software])}")
        for (place, key), said in sorted(keys.examples.items()):
            print(f"  {place} {key}: {said}")
    lines = sum((keys.lines for keys in found.values()), Counter())
    report["all"] = _figures(every, lines)
    print(f"all: {_line(report['all'])}")
    return report


def offers(path: Path, strategies: Sequence[Strategy], frameworks: Sequence[Framework]) -> dict[str, Any]:
    """Strategies that the gate lets through to questions, and the dead or default settings among theirs."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with fresh_workspace() as workspace:
        for line in path.read_text(encoding="utf-8").splitlines():
            question = json.loads(line)["question"]
            try:
                problem, _ = workspace.problem(raw_question(question))
            except TuningError:
                counts["refused"] += 1
                continue
            model = _model(workspace, problem.workload.model)
            facts = question_facts(problem, workspace.hardware, model)
            counts["questions"] += 1
            for strategy in strategies:
                applies = judge(strategy, facts, frameworks).truth
                counts[applies.value] += 1
                if applies is not Truth.FAILS:
                    wrong += _dead(strategy, problem.software)
    return dict(counts) | {"dead_or_default": wrong}


def _dead(strategy: Strategy, software: Any) -> Iterable[str]:
    for name, release in software.items():
        if name not in softwares():
            continue
        looked = [
            (item, registry(name).at(str(release)).look_up(setting_key(item), item.place))
            for item in strategy.sets
            if item.place is not SettingPlace.CODE
        ]
        gone = [(item, answer) for item, answer in looked if answer.setting and not answer.usable]
        same = [(item, answer) for item, answer in looked if answer.is_default(item.value)]
        if len(same) < len(strategy.sets):
            same = []  # what goes with a setting that changes something belongs to it
        yield from (f"{strategy.id} {item.parameter}: {answer}" for item, answer in gone + same)


def _model(workspace: Workspace, name: str | None) -> Model | None:
    if name is None:
        return None
    try:
        return from_graph(workspace.graph, Model, name)
    except UnknownEntityError:
        return None


def raw_question(question: dict[str, Any]) -> dict[str, object]:
    """A question of the file as the workspace reads one."""
    raw: dict[str, object] = {}
    tables: dict[str, list[str]] = defaultdict(list)
    words = list(question["args"])
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option in TABLES:
            tables[option].append(value)
        elif option == "--limit":
            raw.setdefault("limits", []).append(value)  # type: ignore[attr-defined]
        else:
            raw[option.removeprefix("--")] = int(value) if option == "--count" else value
    for name, value in (question.get("facts") or {}).items():
        tables["--trait"].append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    for option, values in tables.items():
        raw[TABLES[option]] = pairs(
            option, values, bare=option == "--bottleneck", as_text=option == "--software"
        )
    return raw


def settings_known(recipes: Any) -> dict[str, Keys]:
    """The registry's verdicts on the settings of recipes, by software."""
    found: dict[str, Keys] = defaultdict(Keys)
    for recipe in recipes:
        software = recipe["framework"]
        here, places = found[software], set(SettingPlace) if software in softwares() else set()
        for setting in recipe["settings"]:
            if setting["where"] not in places:  # nothing of it is known
                here.lines["unknown"] += 1
                here.keys[setting["where"], setting["key"]]["unknown"] += 1
        if not places:
            continue
        try:
            release = registry(software).at(recipe["framework_version"])
        except UnknownEntityError:  # no release is stated
            release = registry(software).at("")
        for setting in (item for item in recipe["settings"] if item["where"] in places):
            place, key = SettingPlace(setting["where"]), setting["key"]
            answer = release.look_up(key, place)
            if answer.standing is Standing.PASSED_ON:
                outcome = "passed on"
            elif answer.setting is None:
                outcome = "misspelt" if answer.intended_key(key) else "unknown"
            elif answer.standing is not Standing.TAKEN:
                outcome = "not in the release"
            else:
                outcome = "known" if answer.setting.accepts(setting["value"]) else "another type"
            keys = found[software]
            keys.lines[outcome] += 1
            keys.keys[place.value, key][outcome] += 1
            if outcome in {"unknown", "misspelt", "not in the release"}:
                keys.examples[place.value, key] = str(answer)
            elif outcome == "another type" and answer.setting is not None:
                kind = answer.setting.type
                keys.examples[place.value, key] = (
                    f"{setting['value']!r} is none of its values ({kind}, {answer.setting.choices})"
                )
    return found


def _figures(keys: Counter[str], lines: Counter[str]) -> dict[str, float]:
    taken = [counts["known"] + counts["passed on"] for counts in (keys, lines)]
    return {
        "keys": keys.total(),
        "taken": taken[0],
        "passed_on": keys["passed on"],
        "another_type": keys["another type"],
        "not_in_release": keys["not in the release"],
        "misspelt": keys["misspelt"],
        "unknown": keys["unknown"],
        "taken_share": round(taken[0] / keys.total(), 4),
        "taken_share_of_lines": round(taken[1] / lines.total(), 4),
        "answered_share": round(1 - (keys["unknown"] + keys["another type"]) / keys.total(), 4),
        "answered_share_of_lines": round(1 - (lines["unknown"] + lines["another type"]) / lines.total(), 4),
    }


def _line(figures: dict[str, float]) -> str:
    return (
        f"of {figures['keys']} keys {figures['taken_share']:.1%} taken in place and type "
        f"({figures['taken_share_of_lines']:.1%} of lines; {figures['passed_on']} keys passed on unchecked), "
        f"{figures['answered_share']:.1%} answered; {figures['not_in_release']} not in the release, "
        f"{figures['misspelt']} misspelt or misplaced, {figures['another_type']} of another type, "
        f"{figures['unknown']} unknown"
    )


if __name__ == "__main__":
    main()
