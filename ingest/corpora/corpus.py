"""Corpora: where each is published, at which commit, under which licence, and what must arrive."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import data
from ingest.files.yaml_tree import Entry, Faults, parse
from kg.errors import CaseFormatError, Fault, InputError, UnknownEntityError
from kg.nouns.values import digest
from kg.web import is_safe

SHIPPED = "corpora/public.yaml"
MAXIMUM_BYTES = 1 << 30
"""Most bytes of one corpus on the disk; the largest of the catalogue takes a tenth."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A public corpus of cases, at one commit.

    Attributes:
        id: Its name in the catalogue.
        title: What it is, in a few words.
        source: Address of the repository that publishes it.
        commit: Version of that repository.
        licence: Terms of use, as stated there.
        reader: Name of the format that reads its files.
        rows: Cases that its files give.
        size_bytes: Size of its files together.
        address: Where its files are, by their paths; or, where ``files`` is empty, its archive.
        files: SHA-256 of each file by its path.
        take: Paths to take out of the archive, ``*`` standing for any name.
        digest: SHA-256 of the list ``sha256sum`` gives of what is taken out of the archive, sorted by path.
    """

    id: str
    title: str
    source: str
    commit: str
    licence: str
    reader: str
    rows: int
    size_bytes: int
    address: str
    files: Mapping[str, str]
    take: tuple[str, ...] = ()
    digest: str = ""

    @property
    def mark(self) -> str:
        """The mark of a batch that has brought all of the corpus; other content gives another mark."""
        return f"corpus/{self.id}/{self.digest or digest(sorted(self.files.items()))}"


def read_corpora(path: Path | None = None) -> dict[str, Corpus]:
    """The catalogue that ships, or the one in a file, by name.

    Raises:
        InputError: The file cannot be read.
        CaseFormatError: Everything that is wrong with it.
    """
    try:
        text = data.text(SHIPPED) if path is None else path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CaseFormatError(str(path), [Fault(place="", reason=f"not UTF-8: {error.reason}")]) from None
    faults = Faults()
    top = parse(text, faults)
    found: dict[str, Corpus] = {}
    for entry in top.entries("corpora") if top is not None else ():
        corpus = _corpus(entry)
        if corpus.id in found:
            entry.fault(f"{corpus.id} is there twice", "id")
        found[corpus.id] = corpus
    if faults.all:
        raise CaseFormatError(str(path or SHIPPED), faults.all, hint="see docs/ingesting.md")
    return found


def choose(corpora: Mapping[str, Corpus], names: Iterable[str]) -> list[Corpus]:
    """The corpora of some names, each once.

    Raises:
        UnknownEntityError: The catalogue has none of a name.
    """
    for name in names:
        if name not in corpora:
            raise UnknownEntityError(f"no corpus named {name!r}", hint=f"known: {', '.join(corpora)}")
    return [corpora[name] for name in dict.fromkeys(names)]


def is_plain(path: str) -> bool:
    """True if a path stays below the folder that it starts from, on any system."""
    parts = path.split("/")
    return (
        path.isprintable()
        and not any(letter in path for letter in '\\:"<>|')
        and all(part not in ("", ".", "..") and not part.startswith("-") for part in parts)
    )


def _corpus(entry: Entry) -> Corpus:
    name = entry.text("id", required=True)
    entry.rename(f"corpus {name}")
    if not _NAME.fullmatch(name):
        entry.fault(f"id {name!r} is not lower-case words joined by hyphens", "id")
    listed = entry.entry("files")
    files = {path: listed.text(path) for path in listed.names()} if listed is not None else {}
    take = entry.texts("take")
    corpus = Corpus(
        id=name,
        title=entry.text("title", required=True),
        source=entry.text("source", required=True),
        commit=entry.text("commit", required=True),
        licence=entry.text("licence", required=True),
        reader=entry.text("reader", required=True),
        rows=entry.count("rows") or 1,
        size_bytes=entry.count("bytes") or 1,
        address=entry.text("address", required=True),
        files=files,
        take=take,
        digest=entry.text("digest", required=not files),
    )
    entry.note_unread()
    for path in (*files, *take):
        if not is_plain(path.replace("*", "x")):
            entry.fault(f"{path!r} is no path below a folder", "files" if path in files else "take")
    for at, value in (*files.items(), ("digest", corpus.digest or "0" * 64)):
        if not _SHA256.fullmatch(value):
            entry.fault(f"{at}: {value!r} is no SHA-256", "files" if at in files else "digest")
    if not is_safe(corpus.address):
        entry.fault(f"address {corpus.address!r} is not https", "address")
    if bool(files) == bool(take):
        entry.fault("needs files, or an archive with what to take from it", "files")
    if corpus.size_bytes > MAXIMUM_BYTES:
        entry.fault(f"more than {MAXIMUM_BYTES >> 20} MiB", "bytes")
    return corpus
