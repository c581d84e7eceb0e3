"""The progress of a search on stderr: one line that moves on a terminal, a line an evaluation elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from cli import output

if TYPE_CHECKING:
    from kg.nouns.entities import Objective
    from recommender.search.evaluations import Evaluation
    from recommender.search.run.runner import Progress


class ProgressDisplay:
    """Shows progress.

    Attributes:
        brief: One line that moves, where there is a terminal; else a line an evaluation, with what was set.
    """

    def __init__(self, *, brief: bool = True) -> None:
        self._brief = brief
        self._live = brief and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            print(file=sys.stderr)

    def update(self, progress: Progress) -> None:
        """Show the progress."""
        if progress.trial is None and not self._live:
            return
        again = progress.trial is not None and progress.trial.origin == "repeat"
        most = f" of {progress.most}" if progress.most is not None and not again else ""
        parts = [f"evaluation {progress.done}{most}" + (", a finalist again" if again else "")]
        if progress.trial is not None and not self._brief:
            parts.append(f"trial {progress.trial.number}: {progress.trial.configuration}")
        if progress.trial is not None and progress.trial.evaluation is not None and not self._live:
            parts.append(self._result(progress.trial.evaluation, progress.objective))
        if progress.best is not None:
            best = self._value(progress.best, progress.objective)
            parts.append(f"best {best.removeprefix(progress.objective.metric).lstrip()}")
        if progress.running > 1:
            parts.append(f"{progress.running} running")
        if progress.remaining_s is not None and not again:
            parts.append(f"at most {clock(progress.remaining_s)} left")
        text = "; ".join(part for part in parts if part)
        if self._live:
            output.moving_line(text)
        else:
            output.aside(text)
            sys.stderr.flush()

    def _result(self, evaluation: Evaluation, objective: Objective) -> str:
        if not evaluation.ok:
            return f"failed: {evaluation.reason[:100]}"
        return self._value(evaluation, objective)

    def _value(self, evaluation: Evaluation, objective: Objective) -> str:
        if evaluation.values[0] is None:
            return ""
        text = f"{objective.metric} {output.quantity(evaluation.values[0], objective.unit or '')}".strip()
        if evaluation.half_width is not None and evaluation.values[0]:
            text += f" +-{100 * evaluation.half_width / abs(evaluation.values[0]):.1f} %"
        return text


def clock(seconds: float) -> str:
    """A span of time for people: ``45 s``, ``12 min``, ``1.5 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
