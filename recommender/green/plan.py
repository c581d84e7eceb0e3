"""A plan: when a job runs, what that saves against starting at once, and how sure the saving is."""

from dataclasses import dataclass
from datetime import datetime

from kg.errors import InfeasibleError
from recommender.green.history import SLOT_S
from recommender.green.promises import CAUTION


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenJob:
    """A job that can wait.

    Attributes:
        duration_s: Seconds of work.
        deadline: Moment by which it has to be done.
        can_split: It may be interrupted and go on later.
        least_run_s: Least length of a piece.
        restart_s: Work that every restart costs again, seconds.
        caution: Greatest chance of ending dirtier than at once with which it waits.
    """

    duration_s: float
    deadline: datetime
    can_split: bool = False
    least_run_s: float = 0.0
    restart_s: float = 0.0
    caution: float = CAUTION

    def __post_init__(self) -> None:
        """Refuse a job without work."""
        if not self.duration_s > 0:
            raise ValueError(f"a job of {self.duration_s} s")

    @property
    def slots(self) -> int:
        """Half hours of work, the last one perhaps in part."""
        return max(1, -int(-self.duration_s // SLOT_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class GreenPlan:
    """A plan.

    Attributes:
        region: Of the grid.
        now: When it was made.
        job: The job.
        pieces: Start and end of each piece, the work that a restart costs again included.
        reason: Why it is this plan, in a sentence.
        once_g_per_kwh: Mean intensity that is expected if the job starts at once; None without a forecast.
        planned_g_per_kwh: The same over the pieces of the plan.
        saving: Share of the emissions that is promised, corrected for what such plans have kept; 0 where it
            starts at once.
        saving_low: Lower end of the 90 % interval of it.
        saving_high: Upper end.
        chance_dirtier: Chance that it emits more than if started at once.
        notes: Assumptions.
    """

    region: str
    now: datetime
    job: GreenJob
    pieces: tuple[tuple[datetime, datetime], ...]
    reason: str
    once_g_per_kwh: float | None = None
    planned_g_per_kwh: float | None = None
    saving: float = 0.0
    saving_low: float = 0.0
    saving_high: float = 0.0
    chance_dirtier: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def start(self) -> datetime:
        """Start of the first piece."""
        return self.pieces[0][0]

    @property
    def waits(self) -> bool:
        """True if it does anything but run at once."""
        return self.start > self.now or len(self.pieces) > 1

    def to_json(self) -> dict[str, object]:
        """The plan for programs."""
        return {
            "region": self.region,
            "now": self.now.isoformat(timespec="seconds"),
            "deadline": self.job.deadline.isoformat(timespec="seconds"),
            "duration_s": self.job.duration_s,
            "pieces": [
                {"start": start.isoformat(timespec="seconds"), "end": end.isoformat(timespec="seconds")}
                for start, end in self.pieces
            ],
            "waits": self.waits,
            "reason": self.reason,
            "once_g_per_kwh": _rounded(self.once_g_per_kwh),
            "planned_g_per_kwh": _rounded(self.planned_g_per_kwh),
            "saving": {
                "share": round(self.saving, 4),
                "low": round(self.saving_low, 4),
                "high": round(self.saving_high, 4),
                "chance_dirtier": round(self.chance_dirtier, 3),
            },
            "notes": list(self.notes),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def check(job: GreenJob, now: datetime) -> int:
    """Half hours from ``now`` to the deadline.

    Raises:
        InfeasibleError: The deadline has passed, or the job does not fit before it.
    """
    window_s = (job.deadline - now).total_seconds()
    deadline = f"{job.deadline.astimezone():%Y-%m-%d %H:%M}"
    if window_s <= 0:
        raise InfeasibleError(
            f"the deadline {deadline} has passed (it is {now.astimezone():%Y-%m-%d %H:%M})",
            hint="give a later --by",
        )
    if window_s < job.duration_s:
        raise InfeasibleError(
            f"a job of {job.duration_s / 3600:g} h does not fit before {deadline}, "
            f"{window_s / 3600:.3g} h from now",
            hint="a later --by, or a shorter --duration",
        )
    return int(window_s // SLOT_S)
