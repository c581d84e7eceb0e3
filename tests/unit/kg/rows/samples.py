"""Problems and rows to put into a trial store."""

import numpy as np

from kg.nouns.entities import Better, Kind, Measurement, Problem, Status
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.samples.problems import make_problem

SOURCE, OTHER_SOURCE = "a" * 24, "b" * 24


def problem(hardware: str = "h100", better: Better = Better.LOWER, rows: int = 4096) -> Problem:
    metric = "latency" if better is Better.LOWER else "throughput"
    return make_problem("gemm", hardware, shape={"M": rows}, count=8, metric=metric, better=better)


def trial(
    block: object, value: float | None, *, metric: str = "latency", source_id: str = SOURCE, **more: object
) -> Trial:
    measurement = Measurement(
        metric=metric,
        value=value,
        unit="s" if value is not None else None,
        status=more.pop("status", Status.OK if value is not None else Status.UNKNOWN),  # type: ignore[arg-type]
    )
    kind = more.pop("kind", Kind.MEASURED)
    return Trial(
        configuration=Settings({"block": block}),
        measurement=measurement,
        kind=kind,  # type: ignore[arg-type]
        source_id=source_id,
        **more,  # type: ignore[arg-type]
    )


def key_of(store: TrialStore, asked: Problem) -> int:
    key = store.problem_key(asked.id)
    assert key is not None
    return key


def blocks(store: TrialStore, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[object]:
    known = store.configurations(ids.tolist())
    return [known[item]["block"] for item in ids.tolist()]
