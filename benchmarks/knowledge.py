"""How far the shipped knowledge covers what people who know these systems write.

    python benchmarks/knowledge.py shared/data/recipes

Part 1: settings. Of the keys in official recipes, the share that the registry of settings knows at the release of the
recipe, in the place where it is written and with the type of its value. A key counts once a software; beside it stands
the share of all lines. A key is known if that release takes it; what the program only passes on unchecked (such as
fields of a model's configuration) is counted apart, and what was removed, is not there yet or is unknown is listed.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kg.nouns.setting import SettingPlace
from kg.settings import Standing, registry


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
            elif answer.standing is not Standing.TAKEN or answer.setting is None:
                outcome = "unknown"
            else:
                outcome = "known" if answer.setting.accepts(setting["value"]) else "another type"
            keys = found[software]
            keys.lines[outcome] += 1
            keys.keys[place.value, key][outcome] += 1
            if outcome == "unknown":
                keys.examples[place.value, key] = str(answer)
            elif outcome == "another type" and answer.setting is not None:
                kind = answer.setting.type
                keys.examples[place.value, key] = f"{setting['value']!r} is none of its values ({kind}, {answer.setting.choices})"
    return found


def _figures(keys: Counter[str], lines: Counter[str]) -> dict[str, float]:
    return {
        "keys": keys.total(),
        "known": keys["known"],
        "passed_on": keys["passed on"],
        "another_type": keys["another type"],
        "unknown": keys["unknown"],
        "share": round((keys["known"] + keys["passed on"]) / keys.total(), 4),
        "share_of_lines": round((lines["known"] + lines["passed on"]) / lines.total(), 4),
    }


def _line(figures: dict[str, float]) -> str:
    return (
        f"{figures['share']:.1%} of {figures['keys']} keys known in place and type (of these {figures['passed_on']} "
        f"passed on unchecked), {figures['share_of_lines']:.1%} of lines; {figures['another_type']} of another type, "
        f"{figures['unknown']} unknown"
    )


if __name__ == "__main__":
    sys.exit(main())
