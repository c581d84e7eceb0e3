"""Compares published gains of strategies with the cost model's gains for the same changes."""

from pathlib import Path

import numpy as np

from benchmarks.cost_models.effect_settings import Comparison, balanced, compare_all, document
from benchmarks.harness import Run, share, spearman
from benchmarks.worlds.shipped import ShippedKnowledge
from recommender.cost_model.fit.measurements import read_rows


def effects(run: Run, known: ShippedKnowledge) -> dict[str, object]:
    """Signs and order of published gains of drawn documents, and why the other rows cannot be expressed.

    ``whole`` counts a row that cannot be expressed as wrong.
    """
    path: Path = run.effects
    rows = read_rows(path)
    drawn = run.draw("document of effects", (document(row) for row in rows))
    every = compare_all(rows, known)[0]
    rows = [row for row in rows if document(row) in drawn]
    found, reasons = compare_all(rows, known)
    for one in found:
        is_right = one.predicted * one.published > 0
        stand_ins = f" [{'; '.join(one.stand_ins)}]" if one.stand_ins else ""
        print(f"  {'right' if is_right else 'WRONG'} {one.row['id']}: {one.row['model']}: {one.row['strategy']}, "
              f"{one.row['config_change'][:40]}: {one.row['metric']} published {one.published:+.1f} %, "
              f"predicted {one.predicted:+.1f} %{stand_ins}")  # fmt: skip
    stated = [one for one in found if not any(s.startswith(("model", "hardware")) for s in one.stand_ins)]
    result: dict[str, object] = {"effects": len(rows), "sign_n": len(found)}
    for name, held_rows in (("", found), ("stated_", stated)):
        accuracy, gains, losses = balanced(held_rows)
        hits = [one.predicted * one.published > 0 for one in held_rows]
        result |= {
            f"sign_{name}n": len(held_rows), f"sign_{name}gains": gains, f"sign_{name}losses": losses,
            f"sign_{name}share": round(float(np.mean(hits)), 3) if hits else None,
            f"sign_{name}balanced_accuracy": None if accuracy is None else round(accuracy, 3),
            f"sign_{name}spearman": rank_correlation([(one.predicted, one.published) for one in held_rows]),
        }  # fmt: skip
    result |= backtest(found, every, frozenset() if run.all else drawn)
    close = [
        abs(np.log(first / second)) <= np.log(2) if first * second > 0 else False
        for first, second in (one.log_gains for one in found)
    ]
    result |= {
        "effects_expressible": round(len(found) / len(rows), 3) if rows else None,
        "effects_sign_balanced": result["sign_balanced_accuracy"],
        "effects_within_factor_2": round(float(np.mean(close)), 3) if close else None,
        "effects_whole_within_factor_2": share(close, len(rows) - len(found)),
    }
    result["inexpressible"] = {text: len(held) for text, held in reasons.items()}
    return result


def backtest(found: list[Comparison], every: list[Comparison], drawn: frozenset[str]) -> dict[str, object]:
    """Share of published gains in 90 % intervals made without their own document and without drawn ones."""

    def errors(rows: list[Comparison]) -> list[tuple[str, float]]:
        kept = [(one.row, *one.log_gains) for one in rows if "memory" not in one.row["metric"]]
        return [(document(row), published - predicted) for row, predicted, published in kept]

    logs, everywhere = errors(found), errors(every)
    inside, widths = [], []
    for page in {name for name, _ in logs}:
        others = [error for name, error in everywhere if name != page and name not in drawn]
        if not others:
            continue
        reach = float(np.quantile(np.abs(others), min(1.0, 0.9 * (1 + 1 / max(len(others), 1)))))
        for name, error in logs:
            if name == page:
                inside.append(abs(error) <= reach)
                widths.append(2 * reach)
    return {
        "gain_n": len(logs), "gain_documents": len({name for name, _ in logs}),
        "gain_coverage_90": round(float(np.mean(inside)), 3) if inside else None,
        "gain_width_90": round(float(np.median(widths)), 3) if widths else None,
    }  # fmt: skip


def rank_correlation(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < 3:
        return None
    return round(spearman(*zip(*pairs, strict=True)), 3)
