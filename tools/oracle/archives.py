"""Files of a release without installing it: of a wheel or source distribution, or of a repository's tag."""

import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path


def archive_files(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """The files of an archive whose path a pattern finds; a wheel ends in ``.whl``."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            yield from ((name, wheel.read(name)) for name in filter(wanted.search, wheel.namelist()))
        return
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and wanted.search(member.name) else None
            if content is not None:
                yield member.name, content.read()


def tag_files(repository: Path, tag: str, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """The files of a repository at a tag whose path a pattern finds; those that a copy lacks are empty.

    Raises:
        ValueError: It has no such tag.
    """
    git = ["git", "-C", str(repository)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", tag], capture_output=True, check=False)
    if listed.returncode:
        raise ValueError(f"{repository} has no tag {tag}")
    held = [entry.partition("\t") for entry in listed.stdout.decode("utf-8", "replace").split("\0") if entry]
    files = [(path, head.split()[2]) for head, _, path in held if wanted.search(path)]
    keys = "\n".join(key for _, key in files).encode()
    content = subprocess.run(
        [*git, "cat-file", "--batch"], input=keys, capture_output=True, check=True
    ).stdout
    place = 0
    for path, _ in files:
        end = content.index(b"\n", place)
        head = content[place:end].split()
        size = int(head[2]) if len(head) == 3 else -1
        yield path, content[end + 1 : end + 1 + max(size, 0)]
        place = end + 1 + (size + 1 if size >= 0 else 0)
