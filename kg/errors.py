"""The errors of the project, named by what the caller can do about them.

::

    TuningError(message, *, hint="")
    ├── InputError(ValueError)               a file or option is wrong      exit 2
    │   ├── CaseFormatError                  every fault of the file, with its line
    │   └── UnknownEntityError(LookupError)  hint: the nearest known names
    │       ├── AmbiguousEntityError         the name fits several: hint lists them
    │       └── UnsizedModelError            a network without known sizes: config.json tells  exit 3
    ├── NoEvidenceError                      too far from every case: abstain exit 3
    │   └── MissingFactError                 a needed fact is unknown: named
    ├── InfeasibleError                      no configuration fits the limits exit 4
    ├── WorkspaceError                       missing, locked, other version exit 1
    │   └── IndexMismatchError               built by another encoder: rebuild
    ├── FetchError                           did not arrive from the network  exit 1
    └── MissingDependencyError(ImportError)  hint: what to install          exit 1
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class TuningError(Exception):
    """An error of this program that its user can act on.

    Attributes:
        hint: What to do next; empty if there is nothing better than the message.
        exit_code: What a process ends with when this error ends it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for another process, whatever its class takes."""
        return Exception.__new__, (type(self), *self.args), self.__dict__


class InputError(TuningError, ValueError):
    """A file or an option is wrong; nothing was changed because of it."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a file.

    Attributes:
        place: Where in the file: ``"line 12"``, ``"cache/32,4"``; empty for the whole file.
        reason: What is wrong there.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason


class CaseFormatError(InputError):
    """A file of cases or knowledge is not what it should be; all its faults at once.

    Attributes:
        path: The file as the user named it.
        faults: What is wrong, in file order.
    """

    def __init__(self, path: str, faults: Sequence[Fault], *, hint: str = "") -> None:
        self.path = path
        self.faults = tuple(faults)
        first = str(self.faults[0]) if self.faults else "not readable"
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        super().__init__(f"{path}: {first}{more}", hint=hint)


class UnknownEntityError(InputError, LookupError):
    """A name that the graph does not know; the hint offers the nearest known ones."""


class AmbiguousEntityError(UnknownEntityError):
    """A name that fits several entities that differ where it matters.

    Attributes:
        choices: The names to choose from.
    """

    def __init__(self, message: str, *, choices: Sequence[str], hint: str = "") -> None:
        super().__init__(message, hint=hint or f"choose one of: {', '.join(choices)}")
        self.choices = tuple(choices)


class UnsizedModelError(UnknownEntityError):
    """A name of a network that is published, or of a known family, and whose sizes nobody has told."""

    exit_code = 3


class NoEvidenceError(TuningError):
    """Every case is too far from the question to answer it; the hint says what to measure."""

    exit_code = 3


class MissingFactError(NoEvidenceError):
    """A fact that the answer needs is unknown; the message names it."""


class InfeasibleError(TuningError):
    """No configuration fits the limits; the message names the limits that emptied the list."""

    exit_code = 4


class WorkspaceError(TuningError):
    """The workspace is missing, locked, damaged or of another version."""


class IndexMismatchError(WorkspaceError):
    """The vector index was built by another encoder, or is not in step: rebuild it."""


class FetchError(TuningError):
    """A file did not arrive from where it is published: no network, moved, broken off."""


class MissingDependencyError(TuningError, ImportError):
    """An optional dependency is not installed; the hint says how to get it."""
