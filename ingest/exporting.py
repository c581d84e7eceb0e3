"""Export of cases, in the formats that other programs read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from ingest.formats.cases import case_jsonl, cases_csv
from ingest.formats.kernels import triton_tables
from ingest.formats.kernels.triton_tables import TritonTable
from kg.errors import InputError
from kg.nouns.entities import Case, Status

FILES = ("cases", "csv")
"""Forms that are one file."""
FOLDERS = ("vllm", "sglang")
"""Forms that are a folder of files, one for each table or problem."""
FORMS = (*FILES, *FOLDERS)
SUFFIXES = {".jsonl": "cases", ".csv": "csv"}
"""File name ending to the form it stands for."""


@dataclass(slots=True)
class ExportResult:
    """The result of an export.

    Attributes:
        rows: Cases that the form holds.
        files: Files that they went into.
        left_out: Number of cases that it has no place for, by the reason.
    """

    rows: int = 0
    files: int = 0
    left_out: dict[str, int] | None = None

    def leave_out(self, reason: str) -> None:
        """Count a case that the form has no place for."""
        self.left_out = self.left_out or {}
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


def write_file(form: str, cases: Iterable[Case], stream: IO[bytes]) -> ExportResult:
    """Write cases as one table.

    Args:
        form: ``cases`` or ``csv``.
        cases: The cases.
        stream: The file.
    """
    done = ExportResult(files=1, rows=-1 if form == "csv" else 0)  # a table has a header
    for line in cases_csv.write(cases) if form == "csv" else case_jsonl.write(cases):
        stream.write(line.encode())
        done.rows += 1
    return done


def write_folder(form: str, cases: Iterable[Case]) -> tuple[ExportResult, list[TritonTable]]:
    """The files of a form that is a folder.

    Args:
        form: ``vllm`` or ``sglang``.
        cases: The cases.

    Raises:
        InputError: Not one case fits.
    """
    done = ExportResult()
    tables = triton_tables.tables(_fitting(cases, done), sglang=form == "sglang")
    done.files = len(tables)
    if not done.rows:
        reasons = "; ".join(done.left_out or ()) or "there are no cases"
        raise InputError(
            f"nothing to write as {form}: {reasons[:500]}", hint="choose with --op and --hardware"
        )
    return done, tables


def _has_table(case: Case) -> None:
    problem = case.problem
    if case.measurement.status not in (Status.OK, Status.NOT_MEASURED):
        raise InputError("a tuning table holds no failures")
    if (
        problem.limits
        or problem.bottlenecks
        or problem.current
        or problem.software
        or problem.hardware.traits
    ):
        raise InputError("a tuning table holds problems without limits, software or machine traits")
    triton_tables.file_name(problem)
    triton_tables.size_of(problem)


def _fitting(cases: Iterable[Case], done: ExportResult) -> Iterator[Case]:
    for case in cases:
        try:
            _has_table(case)
        except InputError as reason:
            done.leave_out(str(reason))
        else:
            done.rows += 1
            yield case
