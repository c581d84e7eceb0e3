"""Measures the error on whole forward passes, beside the vendor's own simulator.

    python -m benchmarks.cost_models.passes --asked FILE

The file has measured passes of whole models, one a row, with what a simulator of the chip's vendor says of some
(``docs/figures-notes.md``). Physics alone answers: nothing is fitted to these rows, though they were in view. A row
without its model, of another phase than prefill and decode, or in a format that the device lacks is a refusal. Figures
are by phase and kind of blocks, ours on all rows and both on those that the simulator answered. The times are device
profiles, so the next step is taken to be scheduled ahead. A picture is one of each sequence.
"""

import re
from collections import defaultdict

import numpy as np

from benchmarks import harness
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge, expressible
from recommender.cost_model.estimate_pass import PassShape, PricedPass, estimate_pass
from recommender.cost_model.facts.device import precision
from recommender.cost_model.fit.measurements import read_rows
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.vision_tower import Pictures

SERVERS = {"ascend-910c": "atlas-800t-a3", "ascend-910b2": "atlas-800t-a2"}
"""Servers that the passes ran on."""


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


Pass = tuple[float, float, float]
"""Seconds by us and as measured, and by the vendor's simulator; NaN where it says nothing."""


def summary(passes: list[Pass]) -> dict[str, object]:
    """Median errors with their interval over redrawn rows, and the vendor's on the rows that it answered."""
    ours, measured, theirs = np.array(passes).T
    both = np.isfinite(theirs)
    errors, vendor = (100 * np.abs(said / measured - 1) for said in (ours, theirs))
    return harness.accuracy(np.log(ours / measured).tolist()) | {
        "n_both": int(both.sum()),
        "ours_both": harness.percentile(errors[both], digits=1),
        "vendor_both": harness.percentile(vendor[both], digits=1),
    }


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--asked", help="measured passes"))
    known, rows = ShippedKnowledge.load(), read_rows(chosen.asked)
    drawn = chosen.draw("model", (row["model"] for row in rows), share=0.5)
    rows = [row for row in rows if row["model"] in drawn]
    found, refused = expressible(rows, lambda row: priced(row, known))
    groups: dict[str, list[Pass]] = defaultdict(list)
    for row, done in found:
        kind = "experts" if known.model(row["model"]).experts else "dense"
        one = done.time_s, float(row["measured_s"]), float(row["vendor_simulated_s"] or "nan")
        print(f"  {row['id']} {row['model']} {row['phase']} {row['batch_per_dp_rank']} x {row['query_len']} at "
              f"{row['context_len']}: {1e3 * one[0]:.2f} for {1e3 * one[1]:.2f} ms; "
              + ", ".join(f"{part.name} {part.time_s * 1e3:.2f}" for part in done.operators[:4]))  # fmt: skip
        for name in ("all", row["phase"], f"{row['phase']}, {kind}"):
            groups[name].append(one)
    figures = {name: summary(passes) for name, passes in sorted(groups.items())}
    chosen.last_line({"groups": figures, "refused": sum(map(len, refused.values()))}, n=len(rows))


if __name__ == "__main__":
    main()
