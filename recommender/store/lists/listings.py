"""Contents of a workspace: queries, and exports to files."""

from __future__ import annotations

import os
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import IO, TYPE_CHECKING

from ingest.questions.aims import KnownOperator
from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.knowledge import Model
from kg.terms.metrics import METRICS
from kg.terms.units import Dimension
from kg.triples.exchange import SUFFIXES, export_triples
from kg.triples.queries import catalogue, query_named, text_of
from kg.triples.serialisation import all_of, from_graph
from kg.triples.user_queries.sparql import Limits, QueryRows, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from ingest.exporting import ExportResult
    from kg.nouns.entities import Case
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore, Triple


def known_operator(graph: GraphStore, trials: TrialStore, name: str) -> KnownOperator:
    """Return the kind and the usual objective of an operator that has cases or can be planned.

    Raises:
        UnknownEntityError: No case has it, and no kernel is called so.
    """
    from recommender.space.made.kernels import KERNELS, NAMES, plain_name

    objectives = trials.objectives(name)
    if not objectives:
        plain = plain_name(name)
        if plain in NAMES:
            return KnownOperator(
                name=plain, kind=WorkloadKind.KERNEL, metric="latency", better=METRICS["latency"].better
            )
        operators = list(dict.fromkeys([*trials.operators(), *sorted(NAMES)]))
        near = get_close_matches(plain, operators, n=5)
        same = [kernel.names[:2] for kernel in KERNELS if set(near) & set(kernel.names)]
        near = (
            list(dict.fromkeys([*near, *(spelling for names in same for spelling in names)]))
            or operators[:20]
        )
        hint = f"did you mean {', '.join(near)}?"
        raise UnknownEntityError(f"no case of an operator named {name!r}", hint=hint)
    metric, better, problem_id = objectives[0]
    kind = from_graph(graph, Problem, problem_id).workload.kind
    if kind in {WorkloadKind.KERNEL, WorkloadKind.OPERATOR}:  # its time decides, whatever else was measured
        times = [row for row in objectives if is_time(row[0])]
        metric, better, _ = min(times or objectives, key=lambda row: row[0] != "kernel_time")
    return KnownOperator(name=name, kind=kind, metric=metric, better=better)


def is_time(metric: str) -> bool:
    """True if a metric is a time."""
    return metric in METRICS and METRICS[metric].dimension is Dimension.TIME


def run_query(
    graph: GraphStore, snapshot: Path, text: str, given: Mapping[str, str], *, seconds: float
) -> QueryRows:
    """Answer a catalogue query by name, or SPARQL in a process of its own.

    Args:
        graph: The open graph, for the catalogue.
        snapshot: Its folder, for a user's SPARQL.
        text: Name or SPARQL.
        given: Parameters of a catalogue query.
        seconds: Deadline of a user's SPARQL.

    Raises:
        InputError: Neither a known name nor SPARQL that can be answered in time.
    """
    if text in catalogue() or not any(mark in text for mark in "{ \n"):
        named = query_named(text)
        return QueryRows(
            columns=named.columns,
            rows=tuple(
                tuple(None if term is None else text_of(term) for term in row)
                for row in named.run(graph, given)
            ),
        )
    if given:
        raise InputError(
            "parameters go with a query of the catalogue", hint=f"known: {', '.join(catalogue())}"
        )
    return ask(snapshot, text, limits=Limits(seconds=seconds))


def write_out(path: Path, triples: Iterator[Triple], *, force: bool) -> int:
    """Write triples in the format that the ending of ``path`` names; returns how many.

    Raises:
        InputError: The ending is unknown, or the file is there and ``force`` is not given.
        WorkspaceError: It cannot be written; nothing is left half.
    """
    suffix = "".join(path.suffixes[-1:])
    if suffix not in SUFFIXES:
        endings = ", ".join([*SUFFIXES, ".jsonl", ".csv"])
        reason = f"no format ends in {suffix!r}" if suffix else "its ending says no format"
        raise InputError(f"{path}: {reason}", hint=f"one of: {endings}")
    number = 0

    def counted() -> Iterator[Triple]:
        nonlocal number
        for triple in triples:
            number += 1
            yield triple

    _replace(path, lambda stream: export_triples(counted(), stream, path.name), force=force)
    return number


def as_published(cases: Iterable[Case], graph: GraphStore) -> Iterator[Case]:
    """Yield cases whose models have the names that others know: ``Llama-3.1-8B`` for ``llama-3-1-8b``."""
    labels = {model.id: model.label for model in all_of(graph, Model)}
    for case in cases:
        work = case.problem.workload
        label = labels.get(work.model or "", work.model)
        if label == work.model:
            yield case
        else:
            yield replace(case, problem=replace(case.problem, workload=replace(work, model=label)))


def write_cases(path: Path, cases: Iterable[Case], form: str, *, force: bool) -> ExportResult:
    """Write cases in one of the forms of ``ingest.exporting``.

    Args:
        path: A file, or a folder for the forms that are folders.
        cases: What to write; for some forms, all of a problem one after the other.
        form: Name of the form.
        force: Replace a file that is there; into a folder that is there, replace files of the same names.

    Raises:
        InputError: The form is unknown or cannot hold the cases, or something is there already.
        WorkspaceError: It cannot be written; no file is left half.
    """
    from ingest import exporting  # with the forms of other programs, which no question needs

    if form in exporting.FOLDERS:
        return _write_folder(path, cases, form, force=force)
    if form not in exporting.FILES:
        raise InputError(f"no form {form!r} for cases", hint=f"one of: {', '.join(exporting.FORMS)}")
    written: list[ExportResult] = []
    _replace(path, lambda stream: written.append(exporting.write_file(form, cases, stream)), force=force)
    return written[0]


def _write_folder(path: Path, cases: Iterable[Case], form: str, *, force: bool) -> ExportResult:
    from ingest import exporting

    try:
        if path.exists() and not (path.is_dir() and (force or not any(path.iterdir()))):
            raise InputError(f"{path} is there already", hint="give an empty folder, or --force")
        done, tables = exporting.write_folder(form, cases)
        for table in tables:
            file = path / table.name
            file.parent.mkdir(parents=True, exist_ok=True)
            _replace(file, partial(_put, table.text), force=force)
    except OSError as error:
        raise WorkspaceError(f"cannot write {path}: {error.strerror or error}") from None
    return done


def _put(text: str, stream: IO[bytes]) -> None:
    stream.write(text.encode())


def _replace(path: Path, write: Callable[[IO[bytes]], object], *, force: bool) -> None:
    if path.exists() and not force:
        raise InputError(f"{path} is there already", hint="--force replaces it")
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as stream:
            write(stream)
        beside.replace(path)
    except OSError as error:
        raise WorkspaceError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
