"""Measures how far the registry of settings covers the writing of people who know these systems.

    python -m benchmarks.answers.knowledge --recipes RECIPES

Of the keys in a folder of official recipes, the share that the registry knows at the release of the recipe, in the place
where it is written and with the type of its value. A key counts once a software; beside it stands the share of all lines. "Taken": the release takes it (or passes it on unchecked, counted apart). "Answered":
taken, or the registry says that this release dropped it or does not have it yet, or which key is meant by one that is
misspelt or stands in the wrong object. What is not taken is listed. The last line is JSON.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import harness
from kg.errors import UnknownEntityError
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry, softwares


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
    given = harness.read(__doc__, harness.place("--recipes", "--known", help="folder with recipes.jsonl"))
    path = given.recipes / "recipes.jsonl"
    if not path.is_file():
        harness.refuse(f"{path} is not there: give the folder that holds recipes.jsonl")
    report = {"settings_known": settings(path)}
    given.last_line(report, n=report["settings_known"]["all"]["keys"])


def settings(path: Path) -> dict[str, Any]:
    """Keys of recipes that the registry knows, by software and in all; what it does not take is printed."""
    found = settings_known(harness.json_rows(path))
    report: dict[str, Any] = {}
    every: Counter[str] = Counter()
    for software, keys in sorted(found.items()):
        by_key = Counter(outcomes.most_common(1)[0][0] for outcomes in keys.keys.values())
        every.update(by_key)
        report[software] = _figures(by_key, keys.lines)
        for (place, key), said in sorted(keys.examples.items()):
            print(f"{software}: {place} {key}: {said}")
    lines = sum((keys.lines for keys in found.values()), Counter())
    report["all"] = _figures(every, lines)
    return report


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


if __name__ == "__main__":
    main()
