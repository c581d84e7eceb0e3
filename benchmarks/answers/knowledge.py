"""How far the shipped knowledge covers what people who know these systems write.

    python benchmarks/knowledge.py shared/data/recipes

Part 1: settings. Of the keys in official recipes, the share that the registry of settings knows at the release of the
recipe, in the place where it is written and with the type of its value. A key counts once a software; beside it
stands the share of all lines. "Taken": the release takes it (or passes it on unchecked, counted apart). "Answered":
taken, or the registry says that this release dropped it or does not have it yet. What is not taken is listed. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry


@dataclass
class Keys:
    """What the registry makes of the keys of one software.

    Attributes:
        lines: Lines of recipes by what became of them.
        keys: Keys by the same; a key of several is what most of its lines are.
        examples: A line for each key that is not known, with what the registry says.
    """

    lines: Counter[str] = field(default_factory=Counter)
    keys: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[tuple[str, str], str] = field(default_factory=dict)


def main() -> int:
    """Print the table and the list; the last line is JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("recipes", type=Path, help="folder with recipes.jsonl")
    given = parser.parse_args()
    path = given.recipes / "recipes.jsonl"
    if not path.is_file():
        print(f"{path} is not there: give the folder that holds recipes.jsonl", file=sys.stderr)
        return 2
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
    print(json.dumps({"settings_known": report}))
    return 0


def settings_known(recipes: Any) -> dict[str, Keys]:
    """What the registry makes of the settings of recipes, by software."""
    found: dict[str, Keys] = defaultdict(Keys)
    for recipe in recipes:
        software = recipe["framework"]
        release = registry(software).at(recipe["framework_version"])
        for setting in recipe["settings"]:
            place, key = SettingPlace(setting["where"]), setting["key"]
            answer = release.look_up(key, place)
            if answer.standing is Standing.PASSED_ON:
                outcome = "passed on"
            elif answer.setting is None:
                outcome = "unknown"
            elif answer.standing is not Standing.TAKEN:
                outcome = "not in the release"
            else:
                outcome = "known" if answer.setting.accepts(setting["value"]) else "another type"
            keys = found[software]
            keys.lines[outcome] += 1
            keys.keys[place.value, key][outcome] += 1
            if outcome in {"unknown", "not in the release"}:
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
        "unknown": keys["unknown"],
        "taken_share": round(taken[0] / keys.total(), 4),
        "taken_share_of_lines": round(taken[1] / lines.total(), 4),
        "answered_share": round((taken[0] + keys["not in the release"]) / keys.total(), 4),
        "answered_share_of_lines": round((taken[1] + lines["not in the release"]) / lines.total(), 4),
    }


def _line(figures: dict[str, float]) -> str:
    return (
        f"of {figures['keys']} keys {figures['taken_share']:.1%} taken in place and type "
        f"({figures['taken_share_of_lines']:.1%} of lines; {figures['passed_on']} keys passed on unchecked), "
        f"{figures['answered_share']:.1%} answered; {figures['not_in_release']} not in the release, "
        f"{figures['another_type']} of another type, {figures['unknown']} unknown"
    )


if __name__ == "__main__":
    sys.exit(main())
