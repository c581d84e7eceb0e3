"""When and how a job costs least carbon, as a workspace answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.store.views.answers import WorkspaceAnswers

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from recommender.answers.answer import Answer
    from recommender.answers.carbon_choice import CarbonChoice
    from recommender.files import WorkspaceFiles
    from recommender.green.desk import GreenDesk


class WorkspaceCarbon(WorkspaceAnswers):
    """The grids of a workspace, and answers that choose by them."""

    layout: WorkspaceFiles
    _clock: Callable[[], datetime]

    @property
    def green(self) -> GreenDesk:
        """The grids of the workspace: import series, plan, wait, forecast, look back."""
        from recommender.green.desk import GreenDesk

        return GreenDesk(self.layout.green, self._clock)

    def choose_for_carbon(
        self,
        answer: Answer,
        *,
        by: str,
        duration_s: float,
        region: str = "",
        power_limit_w: float | None = None,
        weights: tuple[float, float] = (0.0, 1.0),
    ) -> CarbonChoice:
        """Configuration and start time for the least carbon; see ``choose_for_carbon``.

        Raises:
            MissingFactError: The start has no modelled energy, or the grid no forecast.
            InfeasibleError: No option meets deadline, cost and power.
        """
        from recommender.answers.carbon_choice import choose_for_carbon
        from recommender.green.moments import moment_of

        now = self._clock()
        chosen = self.green.shelf.choose(region)
        return choose_for_carbon(
            answer,
            self.hardware,
            self.green.seen(chosen, now),
            now=now,
            deadline=moment_of(by, now),
            duration_s=duration_s,
            region=chosen or region,
            power_limit_w=power_limit_w,
            weights=weights,
        )
