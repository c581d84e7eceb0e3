"""Every command that writes, on a small workspace; and a look at what it left."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from recommender.experiment.recording import recorded
from recommender.search.run.task_file import TaskFile
from recommender.store.upkeep.backup import unpack_backup
from recommender.workspace.upkeep import UpkeepDesk
from tests.endurance.disorder.places import NOW, content, editor, faults, reader

Tell = Callable[[object], None]

ONE_STEP = ("import", "evolve", "revert", "undo", "restore", "renew")
"""Commands after which a workspace is as before or as after."""
RESUMABLE = ("ingest", "merge", "ab", "search", "backup")
"""Commands that are several batches; done again, they end where they would have ended."""
ACTS = (*ONE_STEP, *RESUMABLE)
EVALUATIONS = 6


def act(tell: Tell, name: str, place: Path, path: Path) -> None:
    """Do one command on the workspace at ``path``, with the files of ``place``.

    Args:
        tell: Called with the number of rows that were acknowledged, or of evaluations.
        name: One of :data:`ACTS`.
        place: What ``places.make`` has filled.
        path: The workspace.
    """
    match name:
        case "ingest":
            rows = 0

            def acknowledged(added: Any) -> None:
                nonlocal rows
                rows += added.rows
                tell(rows)

            with editor(path) as writing:
                writing.ingest([place / "second.jsonl"], batch_rows=3, on_batch=acknowledged)
        case "import":
            with editor(path) as writing:
                writing.import_graph(place / "more.nt")
        case "undo":
            with editor(path) as writing:
                writing.undo(int((place / "imported").read_text()))
        case "merge":
            with reader(path) as workspace:
                workspace.knowledge.merge(place / "other")
        case "evolve":
            with editor(path) as writing:
                writing.evolve(NOW + timedelta(days=1))
        case "revert":
            with editor(path) as writing:
                writing.revert(NOW + timedelta(days=2), "v0")
        case "backup":
            _back_up(path)
        case "restore":
            UpkeepDesk.restore(path, place / "backup")
        case "renew":
            _renew(place, path)
        case "ab":
            with reader(path) as workspace:
                experiments = workspace.experiments
                question = {"op": "toy", "shape": {"M": 1, "N": 64}, "hardware": "chip"}
                subject = experiments.of_problem(question, "")
                found = recorded([place / "table.csv"], metrics=("kernel_time:ms",))
                logged = experiments.record(found, subject, "test")
                experiments.tell(logged)
        case "search":
            _search(tell, place, path)
        case _:
            raise ValueError(name)


def _back_up(path: Path) -> None:
    file = path.parent / f"{path.name}.saved"
    if file.exists():  # what has its name is whole, however its maker ended
        unpack_backup(file, path.parent / f"{path.name}.unpacked")
        shutil.rmtree(path.parent / f"{path.name}.unpacked")
        file.unlink()
    with reader(path) as workspace:
        workspace.upkeep.backup(file)


def look(_: Tell, path: Path) -> dict[str, object]:
    """The content for a reader, the content after the next writer, and the faults that doctor finds."""
    first = content(path)
    with editor(path):
        pass
    return {"first": first, "then": content(path), "faults": faults(path), "ended": ended(path)}


def examine(_: Tell, path: Path) -> tuple[list[str], dict[str, object] | None, str]:
    """Faults that doctor finds, content for readers (None if unreadable), and the reason if unreadable."""
    from kg.errors import TuningError

    try:
        found = faults(path)
    except TuningError as error:
        found = [f"{type(error).__name__}: {error}"]
    try:
        return found, content(path), ""
    except TuningError as error:
        return found, None, str(error)


def _renew(place: Path, path: Path) -> None:
    """Put a workspace on another, as if that were what ships now."""
    from recommender.files import WorkspaceFiles
    from recommender.store.base import Base
    from recommender.store.renewal import renew

    def make(draft: WorkspaceFiles) -> None:
        shutil.copytree(place / "other", draft.root)
        Base.keep(draft, "now")

    renew(WorkspaceFiles(path), place, version="now", make=make, clock=lambda: NOW)


def ended(path: Path) -> int:
    """Evaluations that the log of a search beside a workspace holds."""
    journal = path.parent / f"{path.name}.journal"
    states: list[int] = []
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            operation = json.loads(line)
        except ValueError:  # the end of a killed writer's line
            continue
        if operation["op_code"] == 4:
            states.append(operation.get("state", 0))
        elif operation["op_code"] == 6:
            states[operation["trial_id"]] = operation["state"]
    return sum(state in {1, 2, 3} for state in states)


def _search(tell: Tell, place: Path, path: Path) -> None:
    """A search of a few commands; its log lies beside the workspace."""
    from kg.errors import InputError
    from recommender.search.logged_search import LoggedSearch

    journal = path.parent / f"{path.name}.journal"
    raw = {
        "name": "toy",
        "parameters": {"x": [0, 1, 2, 3, 4, 5, 6, 7]},
        "default": {"x": 0},
        "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
        "command": ["echo", '{{"t": 1.{x}}}'],
        "stop": {"evaluations": EVALUATIONS},
        "timeout_s": 20,
    }
    try:
        search = LoggedSearch.open(str(journal))
    except InputError:  # it did not begin, or was killed before it had
        with reader(path) as workspace:
            search = workspace.search(TaskFile(raw, folder=place), log=str(journal), base={})
    search.run(base={}, on_progress=lambda at: tell(at.done))
