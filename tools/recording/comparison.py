"""Compares two recordings: what varies by nature is masked, what differs on purpose is listed."""

import difflib
import json
import re
import shlex
from fnmatch import fnmatchcase
from typing import Any

TEXT_MASKS: tuple[tuple[str, str], ...] = (
    # dates with times of day
    (r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"<date>T\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    # what is left of a search's time
    (r"at most [\d.]+ (s|min|h) left", "at most <time> left"),
    # what the runs of an A/B test took and cost
    (
        r"^((?:pair \d+;|\d+ rounds,).*?)[\d.]+(?:e[+-]\d+)? s\b(?:, [\d.]+(?:e[+-]\d+)?(?: [A-Z]+)?)?",
        r"\1<time>",
    ),
    # what the evaluations of a search took
    (r"(time to 95 % of the best +)\S+ s *", r"\1<time>"),
    # what reading files took
    (r"( files in )[\d.]+ s \(\d+ rows/s\)", r"\1<time>"),
    # a batch ends by the clock as well, so their number, and what is named by it, follow the machine's speed
    (r"\b\d+-(?=[0-9a-f]{16}\b)", "<batch>-"),
    (r"\b[0-9a-f]{12}\b", "<id>"),
    (r"^(\S*Batch +|batches: |triples: )\d+ *$", r"\1<batches>"),
)
"""Texts that vary by nature in a line: a regular expression, and its replacement.

A recording itself has names for paths (tree, Python, shared data, what is made on the way) and for its date.
"""

MASKED_VALUES = frozenset(
    {
        "figures.time_s",  # what the evaluations of a search took
        "figures.time_to_95_percent_s",
        "plans.time_s",  # what the pairs of an A/B test would take
        "cost_s",
        "elapsed_s",
        "duration_s",
        "batches",
        "knowledge.Batch",
        "triples",
    }
)
"""Values of JSON that vary by nature: a key, or a key and the one above it."""


def compare(first: dict[str, Any], second: dict[str, Any], allowed: dict[str, str], most_lines: int) -> int:
    """Print each question whose answers differ; how many do without being allowed to."""
    before, after = first["answers"], second["answers"]
    used: set[str] = set()
    faults = 0
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = _shown(before.get(name)), _shown(after.get(name))
        if old == new:
            continue
        reason = next((pattern for pattern in allowed if fnmatchcase(name, pattern)), None)
        if reason is not None:
            used.add(reason)
            print(f"{name}: differs on purpose: {allowed[reason]}")
            continue
        faults += 1
        words = (before.get(name) or after[name])["arguments"]
        print(f"\n{name}: tunegraph {shlex.join(words)}")
        difference = list(difflib.unified_diff(old, new, "before", "after", n=2, lineterm=""))
        print("\n".join(f"  {line[:300]}" for line in difference[:most_lines]))
        if len(difference) > most_lines:
            print(f"  ... {len(difference) - most_lines} lines more")
    for pattern in sorted(set(allowed) - used):
        print(f"{pattern}: was to differ, and does not")
    print(f"\n{faults} of {len(before.keys() | after.keys())} questions differ")
    return faults


def _shown(answer: dict[str, Any] | None) -> list[str]:
    """An answer as lines, for comparing, without its processor time and what varies by nature."""
    if answer is None:
        return ["not asked"]
    kept = {name: masked(value) for name, value in answer.items() if name != "cpu_s"}
    return json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True).splitlines()


def masked(value: Any, above: str = "") -> Any:
    """An answer, or a part of it, without what varies by nature; null stays null."""
    if isinstance(value, dict):
        content = {}
        for key, item in value.items():
            varies = item is not None and not MASKED_VALUES.isdisjoint({key, f"{above}.{key}"})
            content[key] = "<masked>" if varies else masked(item, key)
        return content
    if isinstance(value, list):
        return [masked(item, above) for item in value]
    if isinstance(value, str):
        for pattern, name in TEXT_MASKS:
            value = re.sub(pattern, name, value)
    return value
