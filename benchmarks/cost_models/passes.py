"""Measures the error on whole forward passes, beside the vendor's own simulator.

    python -m benchmarks.cost_models.passes --asked FILE

The file has measured passes of whole models, one a row, with what a simulator of the chip's vendor says of some
(``docs/figures-notes.md``). Physics alone answers: nothing is fitted to these rows, though they were in view. A row
without its model, of another phase than prefill and decode, or in a format that the device lacks is a refusal. Figures
are by phase and kind of blocks, ours on all rows and both on those that the simulator answered. The times are device
profiles, so the next step is taken to be scheduled ahead. A picture is one of each sequence.
"""

import csv
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from benchmarks import harness
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from kg.errors import TuningError
from recommender.cost_model.estimate_pass import PassShape, PricedPass, estimate_pass
from recommender.cost_model.facts.device import precision
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.vision_tower import Pictures

SERVERS = {"ascend-910c": "atlas-800t-a3", "ascend-910b2": "atlas-800t-a2"}
"""Servers that the passes ran on."""


@dataclass(frozen=True, slots=True)
class Score:
    """One pass beside what was measured.

    Attributes:
        name: Of the row.
        group: Its phase and kind of blocks.
        measured: Seconds.
        ours: Likewise.
        theirs: By the vendor's simulator; None where it says nothing.
    """

    name: str
    group: str
    measured: float
    ours: float
    theirs: float | None

    def error(self, *, vendor: bool = False) -> float:
        """Percent that a prediction is off."""
        said = self.theirs if vendor and self.theirs is not None else self.ours
        return 100 * abs(said / self.measured - 1)


def priced(row: dict[str, str], known: ShippedKnowledge) -> PricedPass:
    """The pass of a row.

    Raises:
        NotExpressibleError, TuningError: Why it is none.
    """
    if row["phase"] not in {"prefill", "decode"}:
        raise NotExpressibleError(f"a {row['phase']}")
    model = known.model(row["model"])
    where = known.machine(row["hardware"], int(row["devices"]), SERVERS[row["hardware"]])
    settings: dict[str, object] = {
        "tensor_parallel": int(row["tp"]), "data_parallel": int(row["dp"]), "pipeline_parallel": int(row["pp"]),
        "expert_parallel": int(row["ep"]) if model.experts else 1, "graph": int(row["graph"] or 1),
        "precision": precision(row["precision"].split()[0]),
        "speculative_tokens": int(row["mtp_drafted"] or 0), "draft_method": "mtp", "async_scheduling": 1,
    }  # fmt: skip
    picture = re.search(r"(\d{3,4})\s?x\s?(\d{3,4})", row["image"] or "")
    height, width = map(float, picture.groups()) if picture else (0.0, 0.0)
    if int(row["tp"]) * int(row["dp"]) * int(row["pp"]) != int(row["devices"]):
        raise NotExpressibleError("a split that is no tensor, data or pipeline")
    shape = PassShape(
        phase=row["phase"], batch=float(row["batch_per_dp_rank"]), chunk=float(row["query_len"]),
        context=float(row["context_len"]),
        pictures=Pictures(number=1.0, height=height, width=width) if picture else None,
    )  # fmt: skip
    return estimate_pass(
        Question(model=model, machine=where, phase="serving", engine="vllm-ascend"), settings, shape
    )


def summary(scores: list[Score]) -> dict[str, object]:
    """Median errors with their interval over redrawn rows, and the vendor's on the rows that it answered."""
    errors = [one.error() for one in scores]
    both = [one for one in scores if one.theirs is not None]
    return {
        "n": len(scores), "median": round(float(np.median(errors)), 1), "median_90": harness.median_90(errors),
        "within_25": round(float(np.mean(np.array(errors) <= 25)), 3),
        "bias": round(float(np.exp(np.median([np.log(one.ours / one.measured) for one in scores]))), 2),
        "n_both": len(both), "ours_both": _median([one.error() for one in both]),
        "vendor_both": _median([one.error(vendor=True) for one in both]),
    }  # fmt: skip


def _median(errors: list[float]) -> float | None:
    return round(float(np.median(errors)), 1) if errors else None


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--asked", help="measured passes"))
    known, missing = ShippedKnowledge.load(), Counter[str]()
    with chosen.asked.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    drawn = chosen.draw("model", (row["model"] for row in rows), share=0.5)
    rows = [row for row in rows if row["model"] in drawn]
    groups: dict[str, list[Score]] = defaultdict(list)
    for row in rows:
        try:
            done = priced(row, known)
        except (NotExpressibleError, TuningError) as refused:
            missing[str(refused)] += 1
            continue
        kind = "experts" if known.model(row["model"]).experts else "dense"
        theirs = float(row["vendor_simulated_s"]) if row["vendor_simulated_s"] else None
        score = Score(row["id"], f"{row['phase']}, {kind}", float(row["measured_s"]), done.time_s, theirs)
        print(f"  {score.name} {row['model']} {row['phase']} {row['batch_per_dp_rank']} x {row['query_len']} at "
              f"{row['context_len']}: {done.time_s * 1e3:.2f} for {score.measured * 1e3:.2f} ms; "
              + ", ".join(f"{one.name} {one.time_s * 1e3:.2f}" for one in done.operators[:4]))  # fmt: skip
        for name in ("all", row["phase"], score.group):
            groups[name].append(score)
    for reason, count in missing.items():
        print(f"  {count} refused: {reason}")
    figures = {name: summary(scores) for name, scores in sorted(groups.items())}
    for name, held in figures.items():
        print(f"{name}: {held}")
    chosen.last_line({"groups": figures, "refused": sum(missing.values())}, n=len(rows))


if __name__ == "__main__":
    main()
