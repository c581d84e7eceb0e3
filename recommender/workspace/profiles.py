"""Profiles and logs, diagnosed with what a workspace knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.workspace.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ingest.profiles.facts.run import Profile
    from recommender.answers.diagnose import Allowed, DiagnosisAnswer
    from recommender.answers.log_answer import LogAnswer


JOBS = "jobs"
"""Folder of a workspace with what the last runs of each job lost."""


class ProfileDesk(Desk):
    """Profiles and logs as one snapshot of a workspace explains them."""

    __slots__ = ()

    def diagnose(
        self,
        profile: Path | Profile,
        *,
        before: Path | Profile | None = None,
        job: str = "",
        least: float = 0.05,
        allowed: Allowed | None = None,
        hardware: str = "",
        model: str = "",
    ) -> DiagnosisAnswer:
        """The causes of lost time in a profile, with remedies and matching cases.

        Args:
            profile: A profile, or the path of one.
            before: An earlier profile of the same job: then what became worse is explained.
            job: Name of the job: it stands beside the last runs of that name, and is kept as one of them.
            least: Share of the step from which a cause is significant.
            allowed: What remedies may do; anything if None.
            hardware: Name of the device; as far as the profile tells if empty.
            model: Name of the model; empty if it is not stated.

        Raises:
            InputError: A path is no profile.
        """
        from kg.rows.gains import gains
        from recommender.answers.diagnose import diagnose_profile, keep_in_job, present_of, profile_at
        from recommender.diagnosis.baseline import JobBaseline

        folder = self.workspace.layout.root / JOBS
        usual = JobBaseline.read(folder, job) if job else None
        run = profile_at(profile)
        answer = diagnose_profile(
            self.graph,
            run,
            before=None if before is None else profile_at(before),
            usual=usual,
            least=least,
            allowed=allowed,
            gains=gains(self.trials),
            present=present_of(self.graph, self.names, self.hardware, run, hardware, model),
        )
        if job:
            keep_in_job(self.graph, answer, folder, job)
        return answer

    def log(
        self, log: Path, *, beside: Sequence[Path] = (), hardware: str = "", model: str = ""
    ) -> LogAnswer:
        """Read a log: known faults, statements of released programs, the load of a server, settings to set.

        Args:
            log: The log.
            beside: Logs of the kernel and outputs of tools for devices, from the same time.
            hardware: Name of the device, for its memory; as far as the log tells if empty.
            model: Name of the model; the one that a server names if empty.

        Raises:
            InputError: A file cannot be read.
            UnknownEntityError: No such hardware or model is known.
        """
        from recommender.answers.log_answer import answer_log
        from recommender.answers.log_memory import capacity_of, memory_of_model

        capacity = capacity_of(self.names, self.hardware, hardware) if hardware else {}

        def modelled(arguments: Mapping[str, str]) -> Mapping[str, float]:
            return capacity | memory_of_model(self.graph, self.names, arguments, model)

        return answer_log(self.graph, log, beside=beside, modelled=modelled)
