"""Profiles and logs, diagnosed with what a workspace knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.workspace.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.profiles.facts.run import Profile
    from kg.nouns.knowledge import Strategy
    from recommender.answers.diagnose import Allowed, DiagnosisAnswer
    from recommender.diagnosis.logs import SeenFault
    from recommender.diagnosis.serving import ServingLoad


class ProfileDesk(Desk):
    """Profiles and logs as one snapshot of a workspace explains them."""

    __slots__ = ()

    def diagnose(
        self,
        profile: Path | Profile,
        *,
        before: Path | Profile | None = None,
        least: float = 0.05,
        allowed: Allowed | None = None,
        hardware: str = "",
        model: str = "",
    ) -> DiagnosisAnswer:
        """The causes of lost time in a profile, with remedies and matching cases.

        Args:
            profile: A profile, or the path of one.
            before: An earlier profile of the same job: then what became worse is explained.
            least: Share of the step from which a cause is significant.
            allowed: What remedies may do; anything if None.
            hardware: Name of the device; as far as the profile tells if empty.
            model: Name of the model; empty if it is not stated.

        Raises:
            InputError: A path is no profile.
        """
        from kg.rows.gains import gains
        from recommender.answers.diagnose import diagnose_profile, present_of, profile_at

        run = profile_at(profile)
        return diagnose_profile(
            self.graph,
            run,
            before=None if before is None else profile_at(before),
            least=least,
            allowed=allowed,
            gains=gains(self.trials),
            present=present_of(self.graph, self.names, self.hardware, run, hardware, model),
        )

    def faults(self, log: Path) -> list[SeenFault]:
        """The known faults in a log.

        Raises:
            InputError: It cannot be read.
        """
        from recommender.answers.diagnose import faults_in

        return faults_in(self.graph, log)

    def serving_load(self, log: Path) -> tuple[ServingLoad | None, list[Strategy]]:
        """The load of a server in a log or page of metrics, and settings against a lack of KV blocks.

        Raises:
            InputError: It cannot be read.
        """
        from recommender.answers.diagnose import serving_load_in

        return serving_load_in(self.graph, log)
