"""Batches: the provenance of the graph's content."""

from dataclasses import dataclass, field
from datetime import datetime

from kg.nouns.values import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Cases that were acknowledged together.

    Attributes:
        number: Its number; batches are numbered from 1.
        time: Time of the acknowledgement, with its time zone.
        files: Names of the files it was read from.
        counts: Numbers of what it added, such as ``problems`` and ``trials``.
        completed: What was taken in whole with it and need not be read again; see ``ingest.completion``.
        origin: Label of the workspace it was joined from; empty if it was read from files.
        seal: Digest of what it brought and of the seal before; empty in batches of older programs.
    """

    number: int
    time: datetime
    files: tuple[str, ...] = ()
    counts: Settings = field(default_factory=Settings)
    completed: tuple[str, ...] = ()
    origin: str = ""
    seal: str = ""

    def __post_init__(self) -> None:
        """Refuse a number below 1 and a time that means another moment elsewhere."""
        if self.number < 1:
            raise ValueError(f"a batch numbered {self.number}")
        if self.time.tzinfo is None:
            raise ValueError(f"{self.time} has no time zone")
