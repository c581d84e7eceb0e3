"""Learns ``data/retrieval/mixture.json``: how far each expert is followed when cases are ranked.

``python -m tools.fitting.fit_ranking CASES`` asks as ``unseen.py`` does. What each question's candidates
cost by each expert is computed once (a process a fold); then the weights are learned from all questions,
and again without each device, vendor, kernel or operator, and collection, in seconds. The last line says
what each of these is worth where it was not learned, beside copying and what it is worth on the questions
it was learned from. ``--write`` ships the weights, with those learned without each device, which
``unseen.py`` asks.
"""

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.answers import unseen
from benchmarks.harness import last_line, option, parse
from benchmarks.protocols.folds import Fold, sampled_folds, standard_error
from benchmarks.protocols.mixture_fit import MOST_REGRET, WITHIN, MixtureFit, OpenQuestion
from benchmarks.protocols.processes import ROOT, in_processes, one_thread
from benchmarks.worlds.world import load
from kg.nouns.knowledge import Level
from recommender.calibration.mixture import (
    COPYING,
    FILE,
    PLACES,
    SITUATIONS,
    EvidenceClass,
    ExpertMixture,
    Weights,
    listed,
)
from recommender.ranking.cases.experts import program

SHARE = {
    "*": 1.0,
    "aiconfigurator_attention_backend": 0.08,
    "aiconfigurator_gemm_backend": 0.08,
    "aiconfigurator_moe_parallel": 0.08,
}
"""Share of tasks read of each collection: of the largest a sample, so that all are asked alike."""

AXES = ("device", "vendor", "operator", "corpus")
KS = (1, 3, 5)


def open_questions(fold: Fold) -> list[OpenQuestion]:
    """The opinions of the experts about the questions of a fold, beside the truth."""
    known, asked = unseen.worlds()
    made: list[OpenQuestion] = []
    everyone = dict.fromkeys(SITUATIONS, ((1.0, 1.0, 1.0),) * PLACES)
    with fold.ranker(
        known, asked, ExpertMixture(weights=everyone, opinions=program(), origin="all experts")
    ) as ranker:
        for problem, _, truth, ranking in unseen.ranked(fold, asked, ranker, 1):
            if ranking.situation is None or not ranking.runnable:
                continue
            kept = list(ranking.runnable)
            made.append(
                OpenQuestion(
                    corpus=fold.name,
                    operator=problem.workload.operator,
                    device=problem.hardware.name,
                    vendor=str(asked.hardware.above(problem.hardware.name, Level.VENDOR)),
                    situation=ranking.situation,
                    opinions=ranking.scores.opinions[:, kept].astype(np.float32),
                    truth=np.array([truth.get(ranking.configuration(place), math.inf) for place in kept]),
                )
            )
    return made


def regrets(question: OpenQuestion, weights: Mapping[EvidenceClass, Weights]) -> list[float]:
    """Least log regret of the first k, capped."""
    order = listed(question.opinions, weights.get(question.situation, COPYING), KS[-1])
    least = np.minimum.accumulate(question.truth[order])
    return [min(MOST_REGRET, float(least[min(k, len(order)) - 1])) for k in KS]


def worth(
    questions: Sequence[OpenQuestion], by_question: Sequence[Mapping[EvidenceClass, Weights]]
) -> dict[str, object]:
    """Share within 5 % and log regret by k, and how far each is above copying, with its standard error."""
    ours = np.array([regrets(item, weights) for item, weights in zip(questions, by_question, strict=True)])
    copied = np.array([regrets(item, {}) for item in questions])
    groups = [item.device for item in questions]
    made: dict[str, object] = {"n": len(questions), "devices": len(set(groups))}
    for at, k in enumerate(KS):
        above = (ours[:, at] < WITHIN).astype(float) - (copied[:, at] < WITHIN)
        lost = ours[:, at] - copied[:, at]
        made[f"k{k}"] = round(float((ours[:, at] < WITHIN).mean()), 4)
        made[f"k{k}_above_copying"] = round(float(above.mean()), 4)
        made[f"k{k}_se"] = standard_error(above.tolist(), groups)
        made[f"regret_k{k}"] = round(float(ours[:, at].mean()), 4)
        made[f"regret_k{k}_above_copying"] = round(float(lost.mean()), 4)
        made[f"regret_k{k}_se"] = standard_error(lost.tolist(), groups)
    return made


def without_each(fit: MixtureFit, axis: str) -> Iterator[tuple[str, dict[EvidenceClass, Weights]]]:
    """Weights learned without each group of an axis."""
    for group in sorted({str(getattr(item, axis)) for item in fit.questions}):
        yield group, fit.weights(lambda item, group=group: getattr(item, axis) == group)  # type: ignore[misc]


def _short_lines(content: Mapping[str, object]) -> str:
    """JSON with a line for each situation."""

    def value(item: object, indent: str) -> str:
        if not isinstance(item, dict):
            return json.dumps(item)
        rows = (f"{indent} {json.dumps(name)}: {value(part, indent + ' ')}" for name, part in item.items())
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"

    return value(dict(content), "") + "\n"


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    one_thread()
    arguments = parse(
        __doc__,
        option("cases", type=Path),
        option("--asked", type=int, default=40, help="problems asked in each fold at most"),
        option("--quick", action="store_true", help="the sample of unseen.py --quick"),
        option("--write", action="store_true", help=f"write data/{FILE}"),
        option("--jobs", type=int, default=1),
    )
    started = time.monotonic()
    questions: list[OpenQuestion] = []
    with tempfile.TemporaryDirectory() as place:
        world = load(arguments.cases, Path(place) / "known", unseen.QUICK if arguments.quick else SHARE)
        unseen.use(world, world)
        for part in in_processes(open_questions, sampled_folds(world, arguments.asked), arguments.jobs):
            questions += part
    fitted = time.monotonic()
    fit = MixtureFit(questions)
    weights = fit.weights()
    figures: dict[str, object] = {"in_sample": worth(questions, [weights] * len(questions))}
    left: dict[str, dict[str, dict[EvidenceClass, Weights]]] = {}
    for axis in AXES:
        left[axis] = dict(without_each(fit, axis))
        figures[f"without_{axis}"] = worth(questions, [left[axis][str(getattr(q, axis))] for q in questions])
    mixture = ExpertMixture(
        weights=weights,
        without={name: part for name, part in left["device"].items() if part != weights},
        opinions=program(),
        origin=f"tools/fitting/fit_ranking.py: {len(questions)} questions about the public case collections",
    )
    for situation in SITUATIONS:
        if situation in weights:
            print(f"  {situation!s:28} {weights[situation]}", file=sys.stderr)
    print(f"weights with every group left out: {time.monotonic() - fitted:.0f} s", file=sys.stderr)
    if arguments.write:
        (ROOT / "data" / FILE).write_text(_short_lines(mixture.to_json()), encoding="utf-8")
    last_line({"hash": mixture.hash, **figures, "seconds": round(time.monotonic() - started)})


if __name__ == "__main__":
    main()
