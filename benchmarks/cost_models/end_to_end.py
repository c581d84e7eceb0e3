"""Measures the error on whole steps of rows that the anchors did not see, beside three floors.

    python -m benchmarks.cost_models.end_to_end --known FILE... --asked FILE... [--effects FILE] [--quick]

The files have published throughputs and times of whole models (``docs/figures-notes.md``). A row counts where
``published_rows`` makes a question of it; the others are counted by what is missing. Language models are anchored on
the known rows without the row that is asked and without those that repeat it (one value or one question, in one
document or of one model); strengths, widths and the constants of the floors are fitted anew without them. They are
scored where their engine has five known rows; ``llm_whole_within_25`` counts all others with a value as misses. A seed
draws documents: their rows alone are asked and none of them is known. ``withheld`` leaves out all known rows of drawn
models, architectures, devices or engines. ``--effects`` has published gains of strategies, of which it draws documents.
Constants of operators are those that ship: they are fitted to none of these rows. Widths are logs.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.cost_models.effect_scores import effects, rank_correlation
from benchmarks.cost_models.floors import FLOORS, Work, floor_values, work_of
from benchmarks.cost_models.published_question import PublishedQuestion
from benchmarks.cost_models.published_rows import question_of, read_rows
from benchmarks.harness import Run, drawn_up, mean, median_90, percentile, share
from benchmarks.protocols.anchoring import fit_anchors
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge, expressible
from recommender.cost_model.anchors import UNANCHORED, Anchors, MeasuredStep, kind_of
from recommender.cost_model.estimate import estimate, sweep
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.question import Question
from recommender.cost_model.step_runs import measured_step, modelled_value
from recommender.cost_model.workloads.steps import Steps

ENOUGH = 5
"""Known rows of an engine from which its rows are scored."""
METRIC = {
    "throughput": "throughput", "decode": "decode_throughput", "prefill_throughput": "prefill_throughput",
    "time_ms": "step_time", "ttft_s": "ttft", "tpot_ms": "tpot",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """One row that could be estimated.

    Attributes:
        asked: Its question.
        setting: The setting of it that is meant.
        step: Its value beside physics alone.
        work: What the floors know of it.
    """

    asked: PublishedQuestion
    setting: dict[str, object]
    step: MeasuredStep
    work: Work

    @property
    def rate(self) -> float:
        """The measured value in seconds or as the rate of all devices."""
        return value_of(self.asked)

    def repeats(self, other: Point) -> bool:
        """True if another row states the same measurement."""
        one, two = self.asked, other.asked
        if one.row["id"] == two.row["id"] and one.row["source"] == two.row["source"]:
            return True
        if one.model.id != two.model.id or one.machine.count != two.machine.count:
            return False
        same = one.row["value"] == two.row["value"] or self.setting == other.setting
        return same and one.quantity == two.quantity and (
            document(one.row) == document(two.row) or one.row["value"] == two.row["value"]
        )  # fmt: skip


def document(row: dict[str, str]) -> str:
    """The document that a row is from."""
    return row["source"].split("#", maxsplit=1)[0]


def value_of(asked: PublishedQuestion) -> float:
    """The measured value, in seconds or as the rate of all devices."""
    return asked.value * asked.shares * (1e-3 if asked.quantity.endswith("_ms") else 1.0)


def best(steps: Steps) -> int:
    """The fastest of the configurations that fit."""
    rate = np.where(steps.fits, steps.throughput, 0.0)
    return int(np.argmax(rate if np.any(rate > 0) else steps.throughput))


def steps_of(asked: PublishedQuestion, anchors: Anchors, settings: list[dict[str, object]]) -> Steps:
    """The estimate of a published question."""
    return estimate(
        model=asked.model, machine=asked.machine, phase=asked.phase, settings=settings,
        operators=replace(shipped(), anchors=anchors), engine=asked.engine, version=asked.version,
    )  # fmt: skip


def point(asked: PublishedQuestion) -> Point:
    """A published question beside physics.

    Raises:
        NotExpressibleError: It does not fit in memory as far as it is described.
    """
    steps = steps_of(asked, UNANCHORED, asked.settings)
    at = best(steps)
    if np.isfinite(steps.capacity_bytes) and not steps.fits[at]:
        raise NotExpressibleError("does not fit in memory as far as it is described")
    question = Question(
        model=asked.model, machine=asked.machine, phase=asked.phase, settings=asked.settings[at],
        engine=asked.engine, version=asked.version,
    )  # fmt: skip
    metric, source = METRIC[asked.quantity], f"{document(asked.row)} {asked.row['value']}"
    step = measured_step(question, steps, metric, value_of(asked), source=source, at=at)
    return Point(asked, asked.settings[at], step, work_of(question, steps, metric, at))


@dataclass(frozen=True, slots=True)
class Score:
    """A predicted value beside the measured one; both as rates, so that more is faster.

    Attributes:
        point: What was asked.
        predicted: By the anchored cost model.
        spread: Standard deviation of its log.
        floors: By the floors.
    """

    point: Point
    predicted: float
    spread: float
    floors: dict[str, float]

    @property
    def error(self) -> float:
        """Log of predicted over measured."""
        return float(np.log(self.predicted / self.point.rate))


def predicted(asked: Point, known: Sequence[Point]) -> Score:
    """A row from the rows that neither are it nor repeat it."""
    others = [one for one in known if not one.repeats(asked)]
    alike = [one for one in others if one.asked.phase == asked.asked.phase]
    anchors = fit_anchors([one.step for one in alike]) if len(alike) > 1 else UNANCHORED
    steps = steps_of(asked.asked, anchors, [asked.setting])
    value = modelled_value(steps, METRIC[asked.asked.quantity])
    floors = floor_values(asked.work, [(one.work, one.rate) for one in alike])
    return Score(asked, value, steps.spread, floors)


def percent(log_error: float) -> float:
    """Error of a value whose log is off by so much."""
    return 100 * abs(float(np.expm1(log_error)))


def summary(scores: Sequence[Score]) -> dict[str, object]:
    """Figures of some rows."""
    if not scores:
        return {"n": 0} | dict.fromkeys(("median", "within_25", "spearman", "coverage_90", "width"))
    errors = [percent(one.error) for one in scores]
    signs = [-1 if one.point.asked.quantity.startswith("t") and one.point.asked.quantity != "throughput" else 1
             for one in scores]  # fmt: skip
    pairs = [(one.predicted**sign, one.point.rate**sign) for one, sign in zip(scores, signs, strict=True)]
    inside = [abs(one.error) <= 1.645 * one.spread for one in scores]
    return {
        "n": len(scores), "median": round(float(np.median(errors)), 1),
        "within_25": round(float(np.mean(np.array(errors) <= 25)), 3), "spearman": rank_correlation(pairs),
        "coverage_90": round(float(np.mean(inside)), 3),
        "width": round(float(np.median([3.29 * one.spread for one in scores])), 3),
        "bias": round(float(np.exp(np.median([one.error for one in scores]))), 2),
    }  # fmt: skip


def read(files: Sequence[Path]) -> list[dict[str, str]]:
    """Rows of files: tables, or cases as ``.jsonl.gz``."""
    return [row for path in files for row in read_rows(path)]


def points(rows: list[dict[str, str]], known: ShippedKnowledge) -> tuple[list[Point], dict[str, int]]:
    """Rows that can be estimated, and why the others cannot."""
    pairs, refused = expressible(rows, lambda row: point(question_of(row, known)))
    return [one for _, one in pairs], {reason: len(held) for reason, held in refused.items()}


def speed(known: ShippedKnowledge) -> float:
    """Whole-step configurations per second on one core."""
    axes: dict[str, list[object]] = {
        "tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8], "mbs": [1, 2, 4, 8], "zero": [0, 1],
        "recompute": ["none", "selective", "full"], "fused_ops": [0, 1], "overlap_gradients": [0, 1],
        "flash_attention": [0, 1],
    }  # fmt: skip
    settings = sweep({"seq_len": 4096, "gbs": 512}, axes)
    where = known.machine("ascend-910b1", 64, "atlas-800t-a2")
    model = known.model("llama-2-7b")
    estimate(model=model, machine=where, phase="training", settings=settings[:8])
    begin = time.process_time()
    estimate(model=model, machine=where, phase="training", settings=settings)
    return len(settings) / (time.process_time() - begin)


def language(known: list[Point], asked: list[Point]) -> tuple[dict[str, object], list[Score]]:
    """Figures of language models, by engine and family too."""
    rows = [one for one in known if one.asked.is_language_model]
    engines = Counter(one.asked.engine for one in rows)
    scores = [
        predicted(one, rows)
        for one in asked
        if one.asked.is_language_model and engines[one.asked.engine] >= ENOUGH
    ]
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in scores:
        groups[f"engine {one.point.asked.engine}"].append(one)
        groups[one.point.asked.family].append(one)
        groups[kind_of(one.point.step.key)].append(one)
    print(*drawn_up({name: summary(held) for name, held in sorted(groups.items())}), sep="\n")
    figures = summary(scores)
    result: dict[str, object] = {f"llm_{name}": value for name, value in figures.items()}
    result["llm_median_90"] = median_90([percent(one.error) for one in scores])
    physics = [percent(one.point.step.log_ratio) for one in scores]
    result["llm_physics_median"] = round(float(np.median(physics)), 1) if physics else None
    result["floors"] = {
        f"{name}_median": round(
            float(np.median([percent(np.log(one.floors[name] / one.point.rate)) for one in scores])), 1
        )
        if scores
        else None
        for name in FLOORS
    }
    return result, scores


def withheld(rows: list[Point], run: Run) -> dict[str, dict[str, float | None]]:
    """Errors and intervals of rows of which all that share a part of the key were withheld, by that part.

    With ``--all`` one value of the part at a time, else all the drawn ones together.
    """
    found = {}
    for part in ("model", "architecture", "device", "engine"):
        errors: list[float] = []
        spreads: list[float] = []
        values = [str(getattr(one.step.key, part)) for one in rows]
        drawn = run.draw(part, values)
        for apart in [frozenset({value}) for value in sorted(drawn)] if run.all else [drawn]:
            for phase in sorted({one.step.key.phase for one in rows}):
                alike = [one.step for one in rows if one.step.key.phase == phase]
                asked = [one for one in alike if str(getattr(one.key, part)) in apart]
                others = [one for one in alike if str(getattr(one.key, part)) not in apart]
                anchors = fit_anchors(others) if asked and len(others) > 1 else UNANCHORED
                for one in asked:
                    said = anchors.correction(one.key)
                    if said:
                        errors.append(said.log_factor - one.log_ratio)
                        spreads.append(said.spread)
        inside = [abs(error) <= 1.645 * spread for error, spread in zip(errors, spreads, strict=True)]
        found[part] = {
            "n": len(errors), "median": percentile(map(percent, errors), digits=1),
            "coverage_90": mean(inside, 3), "width": percentile((3.29 * one for one in spreads), digits=3),
        }  # fmt: skip
    return found


def main() -> None:
    chosen = harness.read(
        __doc__,
        harness.place("--known", nargs="+", help="rows to anchor on"),
        harness.place("--asked", nargs="+", help="rows to estimate"),
        harness.place("--effects", help="published gains of strategies", required=False),
        quick="language models alone, no speed",
    )
    shipped_knowledge = ShippedKnowledge.load()
    known_rows, asked_rows = read(chosen.known), read(chosen.asked)
    if chosen.quick:
        known_rows = [row for row in known_rows if row["family"].startswith("LLM")]
    texts = [row for row in asked_rows if row["family"].startswith("LLM") and row["value"]]
    held = chosen.draw("document", (document(row) for row in texts))
    if not chosen.all:
        texts, asked_rows, known_rows = (
            [row for row in rows if (document(row) in held) is is_asked]
            for rows, is_asked in ((texts, True), (asked_rows, True), (known_rows, False))
        )
    known, _ = points(known_rows, shipped_knowledge)
    asked, missing = points(asked_rows, shipped_knowledge)
    result, scores = language(known, asked)
    expressible = [one for one in asked if one.asked.is_language_model]
    families: dict[str, list[Score]] = defaultdict(list)
    for one in asked:
        if not one.asked.is_language_model:
            steps = steps_of(one.asked, UNANCHORED, [one.setting])
            value = modelled_value(steps, METRIC[one.asked.quantity])
            families[one.asked.family].append(Score(one, value, steps.spread, {}))
    rows = [one for one in (*known, *asked) if one.asked.is_language_model]
    result["withheld"] = withheld(list({id(one.asked.row): one for one in rows}.values()), chosen)
    close = [percent(one.error) <= 25 for one in scores]
    result |= {
        "llm_whole_within_25": share(close, len(texts) - len(scores)),
        "expressible_llm": round(len(expressible) / len(texts), 3) if texts else None,
        "expressible_all": round(len(asked) / len(asked_rows), 3) if asked_rows else None,
        "families": {name: summary(held) for name, held in families.items()},
        "missing": missing,
    }
    result |= effects(chosen, shipped_knowledge) if chosen.effects else dict.fromkeys(
        ("effects_expressible", "effects_sign_balanced", "effects_within_factor_2")
    )  # fmt: skip
    if not chosen.quick:
        result["configurations_per_s"] = round(speed(shipped_knowledge))
    chosen.last_line(result, n=len(texts))


if __name__ == "__main__":
    main()
