"""Plans the time and the place of a job for least carbon, from a workspace."""

from kg.errors import InputError
from recommender.answers.answer import Answer
from recommender.answers.carbon_choice import CarbonChoice
from recommender.green.desk import GreenDesk
from recommender.workspace.desk import Desk


class CarbonDesk(Desk):
    """The grids of a workspace, and answers that choose by them."""

    __slots__ = ()

    @property
    def grids(self) -> GreenDesk:
        """Import series, plan, wait, forecast, look back."""
        return GreenDesk(self.workspace.layout.green, self.workspace.clock)

    def choose(
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

        now = self.workspace.clock()
        chosen = self.grids.shelf.choose(region)
        return choose_for_carbon(
            answer,
            self.hardware,
            self.grids.grid_outlook(chosen, now),
            now=now,
            deadline=moment_of(by, now),
            duration_s=duration_s,
            region=chosen or region,
            power_limit_w=power_limit_w,
            weights=weights,
        )

    def teach(self, region: str) -> int:
        """Put a region's clean and dirty hours into the graph; how many windows of the day.

        Raises:
            InputError: It has not been imported, or is shorter than a day.
            WorkspaceError: Another process is writing.
        """
        from recommender.green.series import green_windows

        stored = self.grids.shelf.load(region)
        if stored is None:
            raise InputError(
                f"no series of region {region!r}", hint="tunegraph green import FILE --region NAME"
            )
        record = self.grids.record(region)
        place, windows = green_windows(stored.series, about_waits=str(record) if record.jobs else "")
        with self.workspace.edit(command="green import") as editor:
            editor.add_knowledge([place, *windows])
        self.workspace.refresh()
        return len(windows)
