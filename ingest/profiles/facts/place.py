"""The place of a fact in a profile."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FactPlace:
    """A file of a profile and some of its rows.

    Attributes:
        file: Path from the profile's folder.
        rows: Line numbers, or row numbers of a database; empty for the whole file.
    """

    file: str
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.rows:
            return self.file
        more = f" and {len(self.rows) - 3} more" if len(self.rows) > 3 else ""
        return f"{self.file}:{','.join(map(str, self.rows[:3]))}{more}"
