"""Content of each section, small but with all that a section draws."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from recommender.report.document import ReportDocument, ReportPart

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u2028\u202eevil"
LONG = "x" * 3000
RIGHT_TO_LEFT = "نواة الضرب"


def answer(title: str = "Weight prefetch") -> dict[str, Any]:
    gain = {"expected_factor": 1.04, "low_factor": 0.91, "high_factor": 1.17, "chance": 0.67}
    setting = {"where": "flag", "key": "--tensor-parallel-size", "value": 8, "role": None, "from": "recipe",
               "source": "https://github.com/a/b/blob/main/recipes/qwen.yaml", "agreement": 0.9}  # fmt: skip
    return {
        "problem": {"model": "qwen3-32b", "operator": "serve", "shape": {"input_len": 3500}, "hardware": "ascend-910b3",
                    "count": 8, "objective": "throughput"},
        "knowledge_version": "1-abc",
        "start": {"framework": "vllm-ascend", "version": "0.23.0", "fits": True,
                  "layout": {"tp": 8, "pp": 1, "dp": 1, "ep": 1, "cp": 1, "devices": 8}, "settings": [setting],
                  "expected": [{"metric": "throughput", "unit": "tokens/s", "value": 1425.0, "low": 623.0, "high": 3258.0,
                                "tier": "modelled"}],
                  "paste": ["vllm serve MODEL --tensor-parallel-size 8"], "because": ["it fits <https://example.org/x>"]},
        "alternatives": [],
        "changes": [{"id": "c1", "title": title, "strategy": "weight-prefetch", "how": "Load early.", "settings": [setting],
                     "gain": gain, "tier": "published", "if": None, "accuracy": "unchanged", "conflicts": [],
                     "evidence": [{"kind": "published", "says": "1.02x on 910B", "weight": 1.0, "problem": None,
                                   "source": "https://github.com/a/b/pull/7"}]}],
        "further": [{"title": "jemalloc", "strategy": "jemalloc"}],
        "not_here": [{"strategy": "mla", "because": "no latent attention", "fact": "attention", "source": None}],
        "notes": ["a note"],
    }  # fmt: skip


def heat(ranks: int = 3, name: str = "MatMul") -> dict[str, Any]:
    operators = [
        {"name": name, "n": 4, "us": 900.0, "share": 0.6, "by_rank": [0.3] * (ranks - 1) + [0.6], "by_unit": [0.8, None]},
        {"name": "Cast", "n": 2, "us": 600.0, "share": 0.4, "by_rank": [0.1] * (ranks - 1) + [None], "by_unit": [0.0, 0.5]},
    ]  # fmt: skip
    rows = [
        [operator * ranks + rank, 2 + rank, 0, 1, 10.0 * (rank + 1), 0.5, 2]
        for operator in (0, 1)
        for rank in range(ranks)
    ]
    return {"ranks": [str(rank) for rank in range(ranks)], "files": [f"rank_{rank}.csv" for rank in range(ranks)],
            "ranks_left_out": 0, "units": ["cube", "vector"], "operators": operators, "rows": rows,
            "texts": [f"{name}_1", "AI_CORE", "16,16"]}  # fmt: skip


def ledger() -> dict[str, Any]:
    now = {
        "rank": "0",
        "step_us": 100.0,
        "computing_us": 60.0,
        "exposed_us": 25.0,
        "free_us": 10.0,
        "unexplained_us": 5.0,
        "accounts": [
            {"part": "computing", "operator": "MatMul", "reason": "cube at work", "us": 60.0},
            {"part": "exposed", "operator": "hcom_allReduce", "reason": "waits for peers", "us": 25.0},
            {"part": "free", "operator": "gap", "reason": "behind launches", "us": 10.0},
            {"part": "unexplained", "operator": "", "reason": "", "us": 5.0},
        ],
    }
    before = {
        **now,
        "step_us": 80.0,
        "computing_us": 50.0,
        "exposed_us": 20.0,
        "free_us": 10.0,
        "unexplained_us": 0.0,
    }
    change = {
        "part": "computing",
        "operator": "MatMul",
        "reason": "cube at work",
        "before_us": 50.0,
        "now_us": 60.0,
        "changed": ["count 5 -> 6"],
    }
    return {
        "ranks": [now],
        "before": [before],
        "difference": {"before_us": 80.0, "now_us": 100.0, "changes": [change]},
        "unusual_steps": [],
        "error": 0.0,
    }


def diagnosis(name: str = "MatMul") -> dict[str, Any]:
    cause = {
        "cause": "cast-traffic", "label": "Cast traffic", "chain": ["memory-bound", "cast-traffic"], "confidence": 0.9,
        "lost_us": 30.0, "share": 0.3, "ceiling": 1.4, "gain": {"factor": 1.4, "kind": "ceiling"},
        "perhaps": [{"cause": "mixed-precision", "chance": 0.2}],
        "evidence": [{"node": "cast-traffic", "says": "casts take 30 %", "share": 0.3, "rank": 1,
                      "places": [{"file": "kernel_details.csv", "rows": [2, 3]}]}],
        "remedies": [{"strategy": "no-cast", "label": "Keep bf16", "settings": ["dtype=bf16"], "sources": ["https://e.org/a"],
                      "cases": [{"metric": "step_time", "kind": "published", "n": 2, "mean_factor": 1.1, "hardware": None}]}],
        "matching_cases": [],
    }  # fmt: skip
    return {"path": "run", "against": "before", "significant_share": 0.05, "causes": [cause], "notes": [],
            "next_measurement": {"how": "profile rank 2", "tells": "what it does", "open_us": 40.0, "share": 0.4},
            "not_collected": [{"what": "memory", "how": "profile_memory=True"}], "heat": heat(name=name), "ledger": ledger()}  # fmt: skip


def front() -> dict[str, Any]:
    objectives = [
        {"metric": "kernel_time", "unit": "s", "better": "lower"},
        {"metric": "throughput", "unit": None, "better": "higher"},
    ]
    return {"objectives": objectives, "configurations_count": 4, "points": [[1e-3, 10.0], [2e-3, 30.0], [4e-3, 40.0], [5e-3, 5.0]],
            "front": [0, 1, 2], "configurations": {"1": {"set": "tile=8", "trials": [1]}}}  # fmt: skip


def search() -> dict[str, Any]:
    course = {"metric": "kernel_time", "unit": "s", "better": "lower", "evaluations": 5, "points": [[1, 5e-3], [2, 1e-3], [4, 2e-3]],
              "best": [[1, 5e-3], [2, 1e-3]], "failed": [3], "failed_count": 1, "over_limits": [5]}  # fmt: skip
    row = {"configuration": {"tile": 8}, "values": {"kernel_time": 1e-3}, "measured": 1, "trials": [1]}
    return {
        "search": "gemm", "objectives": [{"metric": "kernel_time", "unit": "s", "better": "lower"}], "limits": [],
        "state": {"ended": 5, "failed": 1}, "stop_reason": "budget used", "modelled": False, "best": row, "default": row,
        "gain_factor": 5.0, "top": [row], "failures": [{"reason": "out of memory", "times": 1}], "notes": [],
        "figures": {"metric": "kernel_time", "unit": "s", "best": 1e-3, "evaluations": 5, "failed": 1,
                    "evaluations_to_95_percent": 2},
        "contributions": [{"parameters": ["tile"], "before": [1], "after": [8], "factor": 5.0, "log_gain": 1.6, "evaluated": True},
                          {"parameters": ["warps"], "before": [1], "after": [2], "factor": 0.9, "log_gain": -0.1, "evaluated": False}],
        "checkup": {"symptoms": [{"name": "regression", "cause": "noise", "remedy": "repeat"}], "untold": []},
        "course": course, "front_points": front(),
    }  # fmt: skip


def experiment() -> dict[str, Any]:
    track = [
        [n, None, None, 1.0] if n < 8 else [n, -0.3 / n + 0.02, 0.5 / n + 0.03, 0.1] for n in range(1, 41)
    ]
    treatment = {"arm": "treatment", "verdict": "better", "reason": "above 1", "ratio": 1.03, "ratio_low": 1.01, "ratio_high": 1.05,
                 "p": 0.001, "pairs": 40, "guards": [{"guard": "peak_memory<=+5%", "state": "kept", "relative": True, "worse": 0.01}],
                 "track": track}  # fmt: skip
    return {"name": "tile-8", "design": {"metric": "step_time", "better": "lower", "alpha": 0.01, "scheme": "randomised",
            "margin": 0.01, "arms": {"control": {"tile": 1}, "treatment": {"tile": 8}}}, "stop": "the treatment has its verdict",
            "verdict": "better", "pairs_left": None, "treatments": [treatment], "notes": []}  # fmt: skip


def prediction() -> dict[str, Any]:
    gain = {"factor": 1.1, "low": 1.02, "high": 1.2, "kind": "published", "reason": "two papers"}
    return {
        "model": "qwen3-32b", "hardware": "ascend-910b3", "count": 8, "objective": "throughput", "knowledge_version": "1-abc",
        "now": {"kind": "modelled", "throughput": 2784.8, "throughput_unit": "tokens/s", "throughput_interval_90": [1560.0, 4969.0],
                "memory_bytes": 5.3e10, "memory_capacity_bytes": 6.4e10, "power_w": 300.0},
        "predictions": [{"id": "c1", "title": "Weight prefetch", "throughput": gain, "memory": None,
                         "energy_per_unit": {**gain, "factor": 0.9, "low": 0.8, "high": 0.97},
                         "carbon_saved_g_per_million": {"expected": 3.0, "low": 1.0, "high": 5.0}},
                        {"id": "c2", "title": "jemalloc", "throughput": None, "memory": None, "energy_per_unit": None,
                         "carbon_saved_g_per_million": None}],
        "together": None, "notes": [],
    }  # fmt: skip


def estimate() -> dict[str, Any]:
    records = [
        {"settings": {"tp": tp}, "time_s": 0.02 / tp, "time_interval_90_s": [0.01 / tp, 0.03 / tp],
         "split_s": {"compute": 0.01 / tp, "memory": 0.01 / tp, "bubble": 0.0}, "throughput": 40.0 * tp, "throughput_unit": "tokens/s",
         "memory_total_bytes": 1e10 / tp, "fits": True, "cube_use": 0.4, "kind": "modelled"}
        for tp in (1, 2)
    ]  # fmt: skip
    return {"model": "qwen3-32b", "hardware": "ascend-910b3", "count": 8, "phase": "serving", "estimates": records,
            "pareto": {"fields": ["throughput", "time_s"], "front": [1]},
            "roofline": {"device": "ascend-910b3", "peak_flops": 3.1e14, "memory_bandwidth": 1.6e12}, "notes": []}  # fmt: skip


def green(start: str = "2026-03-27T00:00:00+00:00", slots: int = 96) -> dict[str, Any]:
    values = [200 + 80 * math.sin(at / 8) for at in range(slots)]
    begin = datetime.fromisoformat(start).astimezone(UTC)
    half = (begin + timedelta(minutes=30 * slots)).isoformat()

    def at(hour: float) -> str:
        return (begin + timedelta(minutes=30 * slots, hours=hour)).isoformat()

    return {
        "series": {"region": "DE", "start": start, "slot_minutes": 30, "g_per_kwh": values, "kind": "measured", "source": "a grid"},
        "forecast": {"region": "DE", "start": half, "slot_minutes": 30, "middle": values, "low": [v - 20 for v in values],
                     "high": [v + 20 for v in values]},
        "asked": {"start": at(0), "end": at(4)}, "planned": [{"start": at(10), "end": at(14)}], "deadline": at(30),
        "saving": {"expected": 0.17, "low": 0.09, "high": 0.24, "asked_g": 4210.0, "planned_g": 3486.0},
        "statement": {"text": ["Modelled."], "numbers": [{"what": "energy", "value": 14.2, "unit": "kWh", "kind": "modelled"}]},
        "notes": [],
    }  # fmt: skip


CONTENTS = {"answer": answer, "prediction": prediction, "diagnosis": diagnosis, "estimate": estimate, "search": search,
            "experiment": experiment, "green": green}  # fmt: skip


def document(*kinds: str, **contents: dict[str, Any]) -> ReportDocument:
    """A report of the sections named, or of those given."""
    chosen = contents or {kind: CONTENTS[kind]() for kind in kinds or CONTENTS}
    parts = tuple(
        ReportPart(kind=kind, source=f"{kind}.json", content=content) for kind, content in chosen.items()
    )
    return ReportDocument(
        title="A report", made="2026-11-22T23:00:00+00:00", program="tunegraph 0", parts=parts,
        not_collected=(("an answer", "ask"),),
    )  # fmt: skip
