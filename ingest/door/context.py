"""Facts that the user states for files that lack them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The repository that files are a copy of.

    Attributes:
        folder: The folder that stands for its root.
        url: Its address.
        commit: Its version.
        licence: Its terms of use.
    """

    folder: Path
    url: str
    commit: str
    licence: str

    def source_of(self, path: Path) -> dict[str, object]:
        """The fields of a source that a file in it has."""
        place = path.relative_to(self.folder).as_posix()
        return {"url": self.url, "path": place, "commit": self.commit, "licence": self.licence}


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """The user's statements about files that readers may need.

    Attributes:
        hardware: Hardware of the runs whose files name none; empty if not given.
        mapping: Mapping file for plain CSV tables; None to look for one beside each table.
        source: Address at which files that name none are published; empty if not said.
        publication: The repository that the files are a copy of; None if they are no copy of one.
        launch: The question of the launch whose results the files hold; empty if it is not told.
    """

    hardware: str = ""
    mapping: Path | None = None
    source: str = ""
    publication: Publication | None = None
    launch: Mapping[str, object] = field(default_factory=dict, hash=False)

    def source_of(self, path: Path) -> dict[str, object]:
        """The fields of the source of a file that names no address itself."""
        if self.publication is not None:
            return self.publication.source_of(path)
        return {"url": self.source} if self.source else {}
