"""Names the parts of a workspace, and the version of its layout."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from kg.atomic_files import sync_folder, write_json
from kg.errors import WorkspaceError
from kg.nouns.values import load_json

FORMAT = 2
"""Version of the workspace directory; another one is refused."""


DIGEST = "digest"
PINNED = "text_model"
"""Where the manifest has the digests of the text model's files."""


def digest_of(content: Mapping[str, object]) -> str:
    """Digest a manifest, or what is written as one, but for its digest."""
    rest = {name: value for name, value in content.items() if name != DIGEST}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def folder_beside(root: Path, purpose: str = "") -> TemporaryDirectory[str]:
    """A hidden folder on the disk of ``root``, named after it, that goes as far as it can be deleted."""
    prefix = f".{root.name}-{purpose and f'{purpose}-'}"
    return TemporaryDirectory(dir=root.absolute().parent, prefix=prefix, ignore_cleanup_errors=True)


SUMS = "sums.json"
"""In a folder that :func:`write_folder` wrote: SHA-256 of each other file."""


def folder_faults(folder: Path) -> list[str]:
    """List the files of a folder that are not what :func:`write_folder` wrote."""
    try:
        sums = load_json((folder / SUMS).read_text(encoding="ascii"))
        changed = [
            name
            for name, digest in sums.items()
            if sha256((folder / name).read_bytes()).hexdigest() != digest
        ]
        strange = [path.name for path in folder.iterdir() if path.name not in {*sums, SUMS}]
    except (OSError, ValueError, AttributeError) as error:
        return [f"{folder} is damaged: {error}"]
    return [f"{folder / name} is not what was written" for name in sorted([*changed, *strange])]


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a new folder, which is there with all of them or not at all.

    Args:
        folder: The folder; one of this name that is there is replaced.
        contents: Content of each file by its name.

    Raises:
        OSError: It cannot be written.
    """
    draft = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        sums = {name: sha256(content).hexdigest() for name, content in contents.items()}
        for name, content in {**contents, SUMS: json.dumps(sums, indent=1).encode()}.items():
            with (draft / name).open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
        sync_folder(folder.parent)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@dataclass(frozen=True, slots=True)
class LearnedFiles:
    """The files of what was learned from a workspace's own cases, as of one batch; any may be missing.

    Attributes:
        folder: Where they lie.
    """

    folder: Path

    @property
    def components(self) -> Path:
        """File of the variance components of gains: hardware, model family and context."""
        return self.folder / "components.json"

    @property
    def paths(self) -> tuple[Path, ...]:
        """All learned files."""
        return (self.components,)

    def contents(self) -> dict[str, bytes]:
        """Return the content of each file by its name."""
        return {path.name: path.read_bytes() for path in self.paths if path.is_file()}


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """The files of one workspace.

    Attributes:
        root: Its directory.
    """

    root: Path

    @property
    def manifest(self) -> Path:
        """Format version, and when and by what the workspace was made."""
        return self.root / "workspace.json"

    @property
    def graph(self) -> Path:
        """The graph: ``live`` for the writer, ``published`` for readers."""
        return self.root / "graph"

    @property
    def live(self) -> Path:
        """The writer's Oxigraph store."""
        return self.graph / "live"

    @property
    def trials(self) -> Path:
        """The one truth: rows, vectors, and the statements that the graph is made from."""
        return self.root / "trials.sqlite3"

    @property
    def texts(self) -> Path:
        """Cache of text embeddings."""
        return self.root / "texts.sqlite3"

    @property
    def questions(self) -> Path:
        """Questions answered lately, so that an answer can be explained by its id."""
        return self.root / "asked.sqlite3"

    @property
    def experiments(self) -> Path:
        """Folder of A/B tests: a log each, with every raw sample."""
        return self.root / "experiments"

    @property
    def tunes(self) -> Path:
        """Folder of tunes: a folder each, with its journal and the logs of all that it started."""
        return self.root / "tunes"

    @property
    def green(self) -> Path:
        """Folder of carbon intensity by region, and of commands that wait for a clean time."""
        return self.root / "green"

    @property
    def generations(self) -> Path:
        """Folder of what was learned, with a folder for each batch that learned something."""
        return self.root / "learned"

    def learned(self, batch: int) -> LearnedFiles:
        """Return the files of what was learned up to a batch; later ones are not acknowledged yet."""
        folders = self.generations.iterdir() if self.generations.is_dir() else ()
        numbers = [int(folder.name) for folder in folders if folder.name.isdecimal()]
        newest = max((number for number in numbers if number <= batch), default=None)
        return LearnedFiles(self.root if newest is None else self.generations / str(newest))

    @property
    def versions(self) -> Path:
        """Folder of the named versions of the knowledge."""
        return self.root / "versions"

    @property
    def base(self) -> Path:
        """Folder of what the workspace rests on: a description, and its graph as it was taken over."""
        return self.root / "base"

    @property
    def models(self) -> Path:
        """Folder of what was learned about how operators respond to configurations."""
        return self.root / "models"

    @property
    def anchors(self) -> Path:
        """File of corrections from its own runs, where ``calibrate --own`` has written it."""
        return self.root / "anchors.json"

    @property
    def completions(self) -> Path:
        """The names that a shell completes; made again where it is missing."""
        return self.root / "completions.txt"

    @property
    def lock(self) -> Path:
        """The file that names the current writer."""
        return self.root / "lock"

    def exists(self) -> bool:
        """True if there is a workspace here.

        Raises:
            WorkspaceError: That cannot be told, because the folder above may not be read.
        """
        try:
            return self.manifest.is_file()
        except OSError as error:
            raise WorkspaceError(f"{self.root} cannot be read: {error.strerror}") from None

    def read(self, *, for_writing: bool = False) -> dict[str, object]:
        """The manifest.

        Args:
            for_writing: Also see that the rows are there: a writer would begin them anew.

        Raises:
            WorkspaceError: There is none, it or the workspace is damaged, or it is of another version.
        """
        try:
            content = load_json(self.manifest.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise WorkspaceError(
                f"{self.root} is not a workspace", hint="any command that writes, such as ingest, makes one"
            ) from None
        except OSError as error:
            raise WorkspaceError(f"{self.manifest} cannot be read: {error.strerror}") from None
        except ValueError:
            raise WorkspaceError(
                f"{self.manifest} is damaged", hint="restore the workspace, or make another with --workspace"
            ) from None
        found = content.get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise WorkspaceError(
                f"{self.root} is a workspace of format {found}, this program reads format {FORMAT}",
                hint="use the version that wrote it, or export from there and import here",
            )
        if isinstance(content.get(DIGEST), str) and content[DIGEST] != digest_of(content):
            raise WorkspaceError(
                f"{self.manifest} is not what was written",
                hint="restore the workspace, or put back what was changed by hand",
            )
        if for_writing and not self.trials.exists():
            raise WorkspaceError(
                f"{self.trials} is missing",
                hint="restore the workspace; nothing was changed in what is left",
            )
        return {name: value for name, value in content.items() if name != DIGEST}

    def write(self, content: Mapping[str, object]) -> None:
        """Write the manifest with a digest of itself.

        Raises:
            OSError: It cannot be written; what was there is there.
        """
        write_json(self.manifest, {**content, DIGEST: digest_of(content)})

    def prepare(self) -> None:
        """Make the directory, for its owner alone where it is new, if a workspace may be made there.

        Raises:
            WorkspaceError: It holds something else, is a workspace already, or cannot be written.
        """
        if self.exists():
            raise WorkspaceError(f"{self.root} is a workspace already")
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)  # it remembers what was asked
            self.graph.mkdir(exist_ok=True)
            parts = (
                *(
                    self.lock,
                    self.graph,
                    self.trials,
                    self.texts,
                    self.questions,
                    self.experiments,
                    self.tunes,
                ),
                *(self.green, self.base, self.completions, self.generations, self.versions, self.models),
            )
            ours = {*(item.name for item in parts), "index"}
            found = [item.name for item in self.root.iterdir()]
        except OSError as error:
            raise WorkspaceError(
                f"cannot make a workspace at {self.root}: {error.strerror}",
                hint="name a place that you may write: --workspace FOLDER, or TUNEGRAPH_WORKSPACE",
            ) from None
        strangers = [name for name in found if not name.startswith(tuple(ours))]
        if strangers:
            raise WorkspaceError(
                f"{self.root} is neither empty nor a workspace: it holds {min(strangers)}",
                hint="give another directory with --workspace",
            )

    def create(self, content: Mapping[str, object]) -> None:
        """Write the manifest, which makes the directory a workspace; everything else is there already.

        Raises:
            WorkspaceError: It cannot be written.
        """
        try:
            self.write({"format": FORMAT, **content})
        except OSError as error:
            raise WorkspaceError(f"cannot make a workspace at {self.root}: {error.strerror}") from None
