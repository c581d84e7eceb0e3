"""Files that were ingested completely before and need not be read again.

A file counts as the same if its bytes, its place, its reader, and the names and options around it are
the same: a table copied under the name of another device says something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ingest.door.search_space import SearchSpaceFile
from ingest.formats.format import Format
from kg.atomic_files import sha256_of
from kg.nouns.values import digest

PLACE = 6
"""Names at the end of a path that may state a fact: system, framework, version, folder and file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Files that were ingested completely before, and the state that they depend on.

    Attributes:
        rows_by_file: Rows of each completed file, by the file's key.
        setting: Everything that readers rest on besides files: known names, options.
        again: Read those files all the same.
    """

    rows_by_file: Mapping[str, int] = field(default_factory=dict)
    setting: str = ""
    again: bool = False

    def key(self, path: Path, format_: Format, spaces: Mapping[str, SearchSpaceFile]) -> str:
        """The key of a file; empty if it has to be read every time.

        Raises:
            OSError: It cannot be read.
        """
        if format_.beside is None or format_.first:
            return ""
        beside = [path.with_name(name.replace("*", path.name)) for name in format_.beside]
        files = [path, *beside]
        return digest(
            [[file.name, sha256_of(file)] for file in files if file.is_file()],
            path.absolute().parts[-PLACE:],
            [format_.name, format_.version],
            [repr(spaces[name]) for name in sorted(spaces)],
            self.setting,
        )


def mark(key: str, rows: int) -> str:
    """The note of a batch that it completed a file."""
    return f"{key} {rows}"


def read_marks(marks: list[str]) -> dict[str, int]:
    """Rows by key of all completed files; a mark of another kind is passed over."""
    pairs = (text.split() for text in marks)
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}
