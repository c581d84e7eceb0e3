"""Measures printed answers: their order, changes with numbers, length, and the load that they find.

``python -m benchmarks.answers.screens --panel FILE`` asks the questions of models of a panel (JSON Lines with
``question.args`` and ``question.facts``) on a screen of 80 columns, and the official recipes that state a limit on
the time of a token and the load that they kept it under: without that load. The load lies in the interval where it is
between those that are found for the limit times and over the half width of the price; what is found for the larger is
the last size tried that keeps it, so the interval ends below the next one.
"""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import harness
from benchmarks.harness import percentile, share
from benchmarks.kinds.command_line import CommandLine, CommandResult
from kg.errors import TuningError
from kg.nouns.gain import NORMAL_90
from kg.nouns.recipe import Recipe, Role
from kg.triples.serialisation import all_of
from recommender.ranking.layout_question import SEQUENCES

FIRST = 5
"""Changes of an answer that are counted."""
_CUT = 0.03
"""Log of the difference in throughput that is none: numbers are printed with two digits."""

_TESTED, _NUMBER = re.compile(r"\d+\. "), re.compile(r"\d+\. [\d.]+x ")
"""A change on a screen, and one that has a number."""


def asked(row: Mapping[str, Any]) -> list[str]:
    """The words of a question of a panel."""
    question = row["question"]
    facts = [
        word for name, value in question.get("facts", {}).items() for word in ("--trait", f"{name}={value}")
    ]
    return [*question["args"], *facts]


def is_better(start: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if a printed number of another start is better than that of the first."""
    if not start["expected"] or not other["expected"]:
        return False
    now, then = start["expected"][0], other["expected"][0]
    if now["metric"] != then["metric"]:
        return False
    ratio = math.log(then["value"] / now["value"])
    return (ratio if now["metric"] == "throughput" else -ratio) > _CUT


def panel_figures(line: CommandLine, questions: Sequence[Sequence[str]]) -> dict[str, object]:
    """Order, changes with numbers, lines and bytes of the answers."""
    screens: list[CommandResult] = []
    faster, numbers, sizes, answers = [], [], [], 0
    for words in questions:
        told = line.run(["recommend", *words, "--json"])
        answer = json.loads(told.out) if told.out.startswith("{") else {}
        if told.code or not answer.get("start", {}).get("layout"):
            continue
        answers += 1
        sizes.append(len(told.out))
        screens.append(line.run(["recommend", *words]))
        if answer["alternatives"]:
            faster.append(any(is_better(answer["start"], one) for one in answer["alternatives"]))
        if answer["start"]["expected"]:
            numbers += [one["gain"] is not None for one in answer["changes"][:FIRST]]
    tested = [line for one in screens for line in one.out.splitlines() if _TESTED.match(line)]
    lines = [len(one.out.strip().splitlines()) + len(one.err.strip().splitlines()) for one in screens]
    return {
        "asked": len(questions),
        "answered": answers,
        "with_alternatives": len(faster),
        "alternative_believed_faster": sum(faster),
        "changes": len(numbers),
        "changes_with_a_number": share(numbers),
        "shown_changes": len(tested),
        "shown_changes_with_a_number": share([_NUMBER.match(line) is not None for line in tested]),
        "lines_median": percentile(lines),
        "lines_most": max(lines, default=0),
        "json_bytes_most": max(sizes, default=0),
        "cpu_s_median": percentile([one.cpu_s for one in screens]),
    }


def load_figures(line: CommandLine) -> dict[str, object]:
    """Official loads under official limits, beside those that are found."""
    inside, ratios, refused = [], [], 0
    for recipe in all_of(line.workspace.graph, Recipe):
        target, load = (recipe.context.get(name) for name in ("tpot_target_ms", "concurrency"))
        if recipe.role is not Role.SERVE or not isinstance(target, int | float) or not isinstance(load, int):
            continue
        try:
            found = found_loads(line, recipe, target / 1e3)
        except TuningError:
            found = None
        if found is None:
            refused += 1
            continue
        low, middle, high = found
        inside.append(low <= load <= high)
        ratios.append(abs(math.log2(middle / load)))
    return {
        "recipes": len(inside) + refused,
        "refused": refused,
        "inside_of_asked": share(inside, refused),
        "doublings_off_median": percentile(ratios),
    }


def found_loads(line: CommandLine, recipe: Recipe, limit_s: float) -> tuple[float, float, float] | None:
    """The load found under a limit, and those within the half width of its price; None without a price."""
    context = recipe.context
    prefix = context.get("prefix_hit_pct")
    shape = {name: context[name] for name in ("input_len", "output_len") if name in context}
    if sides := re.findall(r"\d+", str(context.get("image", ""))):  # Qwen3-VL: a token is 32 x 32 pixels
        shape["input_len"] = int(str(shape["input_len"])) + math.prod(map(int, sides)) // 32**2
    raw: dict[str, object] = {
        "model": recipe.model, "phase": "serving", "hardware": recipe.hardware, "count": recipe.devices,
        "objective": "throughput", "shape": shape, "software": {recipe.framework: ""},
        "traits": {"shared_prefix_share": prefix / 100} if isinstance(prefix, int | float) else {},
    }  # fmt: skip
    if recipe.precision:
        raw["precision"] = recipe.precision

    def load(factor: float, *, is_upper: bool = False) -> tuple[float, float] | None:
        limits = [f"tpot<={1e3 * limit_s * factor:.6g}ms"]
        starts = line.workspace.ask.decision(line.workspace.problem({**raw, "limits": limits})[0])
        if starts is None or starts.price is None:
            return None
        batch = float(str(starts.price.settings.get("batch", 1)))
        if is_upper and batch in SEQUENCES[:-1]:
            batch = SEQUENCES[SEQUENCES.index(int(batch)) + 1] - 1
        return batch * starts.price.layout.dp, math.exp(NORMAL_90 * starts.price.spread)

    middle = load(1.0)
    if middle is None:
        return None
    low, high = load(1 / middle[1]), load(middle[1], is_upper=True)
    return None if low is None or high is None else (low[0], middle[0], high[0])


def main() -> None:
    """Print the figures; the last line is JSON."""
    run = harness.read(__doc__, harness.place("--panel", help="questions, JSON Lines"))
    os.environ["COLUMNS"] = "80"
    questions = [asked(row) for row in harness.json_rows(run.panel)]
    of_models = [words for words in questions if "--model" in words]
    with TemporaryDirectory() as folder, CommandLine(Path(folder) / "w", Path(folder)) as line:
        figures = panel_figures(line, of_models)
        figures |= {"loads": load_figures(line)}
    run.last_line(figures, n=len(of_models))


if __name__ == "__main__":
    main()
