"""The upkeep of a workspace: checks, backups, renewal, and what it learns of itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kg.errors import MissingDependencyError, NoEvidenceError
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.inspection import OLD_KNOWLEDGE, CheckResult, Severity, check_agreement
from recommender.workspace.ask import AskDesk
from recommender.workspace.desk import Desk
from recommender.workspace.questions import QuestionDesk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from recommender.cost_model.anchors import Anchors
    from recommender.cost_model.operators.kinds import Operators
    from recommender.cost_model.question import Question
    from recommender.cost_model.step_runs import StepRun
    from recommender.store.renewal import RenewalResult
    from recommender.store.upkeep.backup import Backup


def _now() -> datetime:
    return datetime.now(UTC)


class UpkeepDesk(Desk):
    """Keeps a workspace whole; what needs no readable workspace is static."""

    __slots__ = ()

    def check(self) -> list[CheckResult]:
        """Check that graph, trials, vectors and index are intact and in step; read all of the index."""
        findings = list(check_agreement(self.graph, self.trials, self.snapshot.index))
        faults = self.snapshot.index.verify()
        findings.append(
            CheckResult(
                about="index",
                severity=Severity.FAULT if faults else Severity.OK,
                says="; ".join(faults) or f"{len(self.snapshot.index):,} vectors, whole",
                remedy="tunegraph doctor --repair" if faults else "",
            )
        )
        if QuestionDesk(self.workspace).age_note:
            findings.append(OLD_KNOWLEDGE)
        return findings

    def backup(self, file: Path) -> Backup:
        """Copy the workspace to a file; see ``recommender.store.upkeep.backup.back_up``."""
        from recommender.store.upkeep.backup import back_up

        return back_up(self.workspace.layout, file)

    def keep_completions(self) -> None:
        """Write the names that a shell completes where they are missing; writers keep them up to date."""
        if not self.workspace.layout.completions.exists():
            from recommender.store.writing.completions import keep_completions

            keep_completions(self.workspace.layout, self.snapshot.graph, self.snapshot.trials)

    def calibrate_steps(self, files: Sequence[Path], folder: Path) -> Anchors:
        """Anchor the cost model on runs of whole steps beside the shipped ones; written into ``folder``.

        Raises:
            InputError: A file is no table of runs, or a run cannot be.
            MissingFactError: A fact of a run is unknown.
        """
        from recommender.cost_model.anchors import OWN_SITE, STEPS_FILE, shipped_anchors
        from recommender.cost_model.step_runs import measured_steps, read_runs

        own = [
            step
            for path in files
            for step in measured_steps(read_runs(path), self.question_of_run, name=path.name, site=OWN_SITE)
        ]
        anchors = shipped_anchors().with_own(own)
        folder.mkdir(parents=True, exist_ok=True)
        anchors.write(folder / STEPS_FILE)
        return anchors

    def calibrate_own(self) -> Anchors:
        """Anchor all answers of the workspace on its own runs: those whose source has no published address.

        Raises:
            NoEvidenceError: It has none that can be priced.
        """
        from recommender.cost_model.anchors import shipped_anchors

        own = self.snapshot.near_runs.own_steps()
        if not own:
            raise NoEvidenceError(
                "the workspace has no run of your own that can be priced",
                hint="tunegraph ingest RESULT --from-command SCRIPT --hardware NAME",
            )
        anchors = shipped_anchors().with_own(own)
        replace(anchors, steps=tuple(own)).write(self.workspace.layout.anchors)  # what ships may change
        return anchors

    def question_of_run(self, run: StepRun) -> Question:
        """The question for the cost model that a measured run answers."""
        from recommender.cost_model.question import Question
        from recommender.cost_model.settings.plans import PHASES

        names = run.names
        phase = names["phase"] or "serving"
        raw: dict[str, object] = {name: names[name] for name in ("model", "hardware")}
        raw |= {"count": run.count, "phase": phase}
        own = {name: value for name, value in run.settings.items() if name in PHASES.get(phase, ())}
        if len(own) < len(run.settings):
            raw["current"] = {name: value for name, value in run.settings.items() if name not in own}
        ask = AskDesk(self.workspace)
        problem, _ = ask.questions.problem(raw)
        around = self.names.server(names["server"]).id if names["server"] else ""
        question = Question.of(problem, ask.model_facts(problem), self.hardware, server=around, phase=phase)
        settings = {**question.settings, **own}
        return replace(question, settings=settings, engine=names["engine"], version=names["version"])

    @staticmethod
    def calibrate(
        files: Sequence[Path], folder: Path, *, quick: bool = False, on: date | None = None
    ) -> Operators:
        """Fit the cost model's constants to tables of measured operators, and write them into ``folder``.

        Raises:
            InputError: No file is such a table.
            MissingDependencyError: scikit-learn is needed and not installed.
        """
        from recommender.cost_model.fit.calibrate import calibrate

        return calibrate(files, folder, on=on or _now().date(), quick=quick)

    @staticmethod
    def check_installation(cache: Path) -> list[CheckResult]:
        """Findings on the installed packages and the text model; needs no workspace."""
        from recommender.store.upkeep.checkup import installation

        return list(installation(cache))

    @staticmethod
    def examine(path: Path, *, deep: bool | None = None, cache: Path | None = None) -> list[CheckResult]:
        """Check every file of a workspace, which need not be readable; nothing is changed.

        Args:
            path: Its directory.
            deep: Read every triple, row and vector; None to do so up to a gigabyte.
            cache: The user's cache directory; None to leave the text model out.

        Raises:
            WorkspaceError: It is no workspace, or is of another version.
        """
        from recommender.store.upkeep.checkup import DEEP_BYTES, examine, size_bytes

        layout = WorkspaceFiles(path)
        layout.read()
        is_deep = size_bytes(layout) < DEEP_BYTES if deep is None else deep
        return list(examine(layout, deep=is_deep, cache=cache))

    @staticmethod
    def repair(path: Path, *, cache: Path) -> list[str]:
        """Make damaged parts of a workspace again from sound ones; return what was done.

        Raises:
            WorkspaceError: Something is damaged that nothing here can restore.
        """
        from recommender.store.upkeep.mending import mend

        layout = WorkspaceFiles(path)
        layout.read()
        done = list(mend(layout, cache))
        with creation.editor_at(path, cache, _now, command="doctor --repair") as editor:
            editor.repair()
        return done

    @staticmethod
    def restore(path: Path, file: Path) -> Backup:
        """Put a backup in the place of the workspace at ``path``; see ``recommender.store.upkeep.backup``."""
        from recommender.store.upkeep.backup import restore

        return restore(WorkspaceFiles(path), file)

    @staticmethod
    def renew(path: Path, *, cache: Path, with_text: bool = False) -> RenewalResult:
        """Put a workspace on the knowledge that ships now; see ``recommender.store.renewal``.

        Args:
            path: The workspace.
            cache: The user's cache directory.
            with_text: Give it the text model that is installed now, where it has none.
        """
        from embeddings.text_encoder import INSTALL_HINT
        from recommender.store import shipped_knowledge
        from recommender.store.encoding import default_model
        from recommender.store.renewal import renew

        layout = WorkspaceFiles(path)
        had = creation.text_model(layout.read())
        model = had or (default_model(cache) if with_text else None)
        if with_text and model is None:
            raise MissingDependencyError("no text model is installed", hint=INSTALL_HINT)

        def make(draft: WorkspaceFiles) -> None:
            creation.create(draft, cache, text_model=model, with_shipped=True, clock=_now)

        return renew(
            layout, cache, version=shipped_knowledge.version(), make=make, clock=_now, anyhow=model != had
        )
