"""Soft evidence for a pattern of lost time: how clearly it shows, where, and the time it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ingest.profiles.facts.kernels import Floats
from ingest.profiles.facts.place import FactPlace
from kg.nouns.codec import NOT_IN_JSON, OR_NULL, JsonNoun, in_json
from recommender.diagnosis.rank.view import KernelView, View


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricReading:
    """One value of a metric that evidence rests on."""

    metric: str
    value: float = field(metadata=OR_NULL)
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftEvidence(JsonNoun):
    """Soft evidence for one pattern or cause on one rank.

    Attributes:
        node: Its id in the graph.
        shown: Degree to which the readings show it, 0 to 1, its size left aside.
        lost_us: Time of the step that it costs, as far as the profile shows.
        share: That as a share of the step.
        says: In words, with numbers.
        readings: Metrics that it rests on.
        places: Files and rows that show it.
        rank: Number of the rank; None if the profile has none, or it is about all.
        is_setting: A fact about settings, which costs nothing by itself but explains what does.
        level: Property of the job that the cost hangs on; None if it hangs on none. Where the property is
            what it was in an earlier run, more cost has another cause.
        sure: Most confidence in its name, where the time is certain and the reason a guess.
        beyond_us: What it costs beyond the mean of the other ranks that could lose it; None without such.
    """

    node: str
    says: str
    shown: float = field(metadata=in_json(digits=4))
    lost_us: float = field(metadata=in_json(digits=3))
    share: float = field(metadata=in_json(digits=4))
    rank: int | None = None
    readings: tuple[MetricReading, ...] = ()
    places: tuple[FactPlace, ...] = ()
    is_setting: bool = field(default=False, metadata=NOT_IN_JSON)
    level: float | None = field(default=None, metadata=NOT_IN_JSON)
    sure: float = field(default=1.0, metadata=NOT_IN_JSON)
    beyond_us: float | None = field(default=None, metadata=NOT_IN_JSON)

    def capped(self, most_us: float) -> SoftEvidence:
        """The same with no more cost than the account of the ledger that it is a part of."""
        if self.lost_us <= most_us:
            return self
        return replace(self, lost_us=most_us, share=self.share * most_us / self.lost_us)


def step_evidence(
    view: View,
    node: str,
    lost_us: float,
    says: str,
    reading: MetricReading,
    places: tuple[FactPlace, ...],
    *,
    shown: float = 1.0,
    sure: float = 1.0,
    level: float | None = None,
) -> SoftEvidence:
    """Evidence of lost time of the step that belongs to no single kernels."""
    return SoftEvidence(
        node=node,
        shown=shown,
        lost_us=float(lost_us),
        share=float(lost_us / view.total_us),
        says=says,
        readings=(reading,),
        places=places,
        rank=view.rank.rank,
        sure=sure,
        level=level,
    )


def kernel_evidence(
    view: KernelView,
    node: str,
    lost: Floats,
    says: str,
    reading: MetricReading,
    *,
    level: float | None = None,
) -> SoftEvidence:
    """Evidence of time that compute kernels lose, microseconds, shape (n,)."""
    total = float(np.nan_to_num(lost).sum())
    return SoftEvidence(
        node=node,
        shown=1.0,
        lost_us=total,
        share=total / view.total_us,
        says=says,
        readings=(reading,),
        places=view.places(lost),
        rank=view.rank.rank,
        level=level,
    )


def setting_evidence(
    view: View,
    node: str,
    says: str,
    places: tuple[FactPlace, ...],
    *,
    shown: float = 1.0,
    readings: tuple[MetricReading, ...] = (),
    share: float = 0.0,
) -> SoftEvidence:
    """Evidence of a setting or a state, which costs nothing by itself."""
    return SoftEvidence(
        node=node,
        shown=shown,
        lost_us=0.0,
        share=share,
        says=says,
        readings=readings,
        places=places,
        rank=view.rank.rank,
        is_setting=True,
    )
