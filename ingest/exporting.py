"""Export of cases, in the formats that other programs read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from ingest.formats.cases import case_jsonl, cases_csv, cases_parquet
from ingest.formats.kernels import t4_writing, triton_tables
from ingest.formats.trackers import optuna_writing
from kg.errors import InputError
from kg.nouns.entities import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ingest.formats.kernels.triton_tables import TritonTable
    from kg.nouns.entities import Case


FILES = ("cases", "csv", "parquet", "optuna")
"""Forms that are one file."""
FOLDERS = ("vllm", "sglang", "kernel-tuner")
"""Forms that are a folder of files, one for each table or problem."""
FORMS = (*FILES, *FOLDERS)
SUFFIXES = {".jsonl": "cases", ".csv": "csv", ".parquet": "parquet"}
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
        form: ``cases``, ``csv`` or ``parquet``.
        cases: The cases.
        stream: The file.

    Raises:
        MissingDependencyError: What the form needs is not installed.
        InputError: The form cannot hold a name.
    """
    if form == "parquet":
        return ExportResult(rows=cases_parquet.write(cases, stream), files=1)
    done = ExportResult(files=1, rows=-1 if form == "csv" else 0)  # a table has a header
    for line in cases_csv.write(cases) if form == "csv" else case_jsonl.write(cases):
        stream.write(line.encode())
        done.rows += 1
    return done


def write_study(cases: Iterable[Case], path: Path) -> ExportResult:
    """Write cases as an Optuna journal.

    Raises:
        MissingDependencyError: Optuna is not installed.
        InputError: Not one case fits.
    """
    done = ExportResult(files=1)
    done.rows = optuna_writing.write(_fitting(cases, optuna_writing.check, done), path)
    return _not_empty("optuna", done)


def write_folder(form: str, cases: Iterable[Case]) -> tuple[ExportResult, list[TritonTable]]:
    """The files of a form that is a folder.

    Args:
        form: ``vllm``, ``sglang`` or ``kernel-tuner``.
        cases: The cases.

    Raises:
        InputError: Not one case fits.
    """
    done = ExportResult()
    if form == "kernel-tuner":
        tables = t4_writing.t4(_counted(_fitting(cases, t4_writing.check, done), done))
    else:
        fitting = _counted(_fitting(cases, _has_table, done), done)
        tables = triton_tables.tables(fitting, sglang=form == "sglang")
    done.files = len(tables)
    return _not_empty(form, done), tables


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


def _fitting(cases: Iterable[Case], check: Callable[[Case], None], done: ExportResult) -> Iterator[Case]:
    for case in cases:
        try:
            check(case)
        except InputError as reason:
            done.leave_out(str(reason))
        else:
            yield case


def _counted(cases: Iterable[Case], done: ExportResult) -> Iterator[Case]:
    for case in cases:
        done.rows += 1
        yield case


def _not_empty(form: str, done: ExportResult) -> ExportResult:
    if not done.rows:
        reasons = "; ".join(done.left_out or ()) or "there are no cases"
        raise InputError(
            f"nothing to write as {form}: {reasons[:500]}", hint="choose with --op and --hardware"
        )
    return done
