"""Files that state the sizes of a model (``config.json``, GGUF, MindFormers' YAML), and where they lie."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ingest.questions.launches.gguf import MAGIC, read_gguf
from ingest.questions.launches.launch_facts import MAXIMUM_BYTES, NOT_READ, LaunchFacts, read_text
from ingest.questions.launches.mindformers import read_mindformers
from ingest.questions.launches.model_config import read_config
from kg.errors import InputError

CONFIG = "config.json"


def read_model_file(path: Path) -> LaunchFacts:
    """The facts of a file that states the sizes of a model, told by its content.

    Raises:
        InputError: It cannot be read, or states none.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if head.startswith(MAGIC):
        return read_gguf(path)
    if path.suffix in {".yaml", ".yml"} and len(head) <= MAXIMUM_BYTES:
        return read_mindformers(head, path.name)
    return read_config(read_text(path), path.name)


def text_beside(folder: Path, name: str) -> str | None:
    """The text of a small file by the name that a script gives it; None where it is not there."""
    try:
        path = folder / name
        return read_text(path) if "\0" not in name and path.is_file() else None
    except OSError:  # a name too long for a path
        return None


def with_named_files(launch: LaunchFacts, folder: Path) -> list[LaunchFacts]:
    """A launch, and before it the facts of the files of its model that it names and that are there.

    Args:
        launch: What was read of it.
        folder: The folder that its relative paths begin at.

    Raises:
        InputError: A file is there and cannot be read.
    """
    found: list[LaunchFacts] = []
    notes = list(launch.notes)
    for name in (*launch.files, str(launch.question.get("model") or "")):
        path = _first_file(folder, name)
        if path is not None:
            found.append(read_model_file(path))
            notes = [note for note in notes if not note.endswith(f"{NOT_READ} {name}")]
    return [*found, replace(launch, notes=tuple(notes))]


def _first_file(folder: Path, name: str) -> Path | None:
    if not name or "\0" in name:
        return None
    try:
        return next((path for path in _places(folder / name) if path.is_file()), None)
    except OSError:  # a name too long for a path
        return None


def _places(path: Path) -> Iterator[Path]:
    """Files that may hold the sizes of a model in a folder, or in a cache of a hub."""
    if path.suffix in {".gguf", ".yaml", ".yml"}:
        yield path
    yield path / CONFIG
    if path.name.startswith("models--"):
        yield from sorted(path.glob(f"snapshots/*/{CONFIG}"))
