"""What an operator was in a run: how often it ran, on what shapes, blocks, clock and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import stem
from recommender.diagnosis.ledger.accounts import operator_name
from recommender.diagnosis.rank.collectives import LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.profiles.facts.kernels import Floats, Kernels
    from ingest.profiles.facts.run import Profile

SAME = 0.02
"""Share by which a number may differ from run to run: kernels repeat within a few per cent of each other."""
_TEXTS = ("input_shapes", "input_types")


@dataclass(slots=True, kw_only=True)
class OperatorFacts:
    """An operator in a step, the mean over steps and ranks; nan and empty where not collected.

    Attributes:
        count: How often it ran.
        shapes: Input shapes that took most of its time.
        types: Input types that did.
        blocks: Blocks, weighted by time.
        clock_mhz: Cycles by time and blocks.
        size_mb: Megabytes that it moved.
        rate_gb_s: At which rate.
        links: Kinds of links that it went over.
    """

    count: float = 0.0
    shapes: str = ""
    types: str = ""
    blocks: float = float("nan")
    clock_mhz: float = float("nan")
    size_mb: float = float("nan")
    rate_gb_s: float = float("nan")
    links: frozenset[str] = frozenset()


def facts_of(profile: Profile, ranks: set[int | None]) -> Mapping[str, OperatorFacts]:
    """The facts of each operator of some ranks."""
    found: dict[str, OperatorFacts] = {}
    chosen = [rank for rank in profile.ranks if rank.rank in ranks and rank.steps]
    runs = sum(len(rank.steps) for rank in chosen)
    with_kernels = [(rank.kernels, len(rank.steps)) for rank in chosen if rank.kernels is not None]
    for kernels, _ in with_kernels:
        _add_kernels(found, kernels, sum(steps for _, steps in with_kernels))
    moved: dict[str, list[tuple[str, float, float]]] = {}
    for rank in chosen:
        for item in rank.collectives:
            moved.setdefault(operator_name(stem(item.name)), []).extend(
                (t.transport, t.size_mb, t.time_ms) for t in item.transfers if t.transport != LOCAL
            )
    for name, transfers in moved.items():
        size, spent = sum(size for _, size, _ in transfers), sum(time for _, _, time in transfers)
        operator = found.setdefault(name, OperatorFacts())
        operator.size_mb = size / runs
        operator.rate_gb_s = size / spent if spent > 0 else float("nan")
        operator.links = frozenset(link for link, size, _ in transfers if size > 0)
    return found


def _add_kernels(found: dict[str, OperatorFacts], kernels: Kernels, steps: int) -> None:
    label, time = kernels.label, np.nan_to_num(kernels.duration_us)
    size = len(label.labels)
    counts = np.bincount(label.codes, minlength=size)
    blocks = _weighted(kernels.numbers["blocks"], time, kernels, size)
    spent = np.fmax(kernels.pipe("aicore_time(us)"), kernels.pipe("aiv_time(us)"))
    cycles = np.fmax(kernels.pipe("aic_total_cycles"), kernels.pipe("aiv_total_cycles"))
    with np.errstate(divide="ignore", invalid="ignore"):
        clock = _weighted(cycles / spent / kernels.numbers["blocks"], time, kernels, size)
    texts = [_costliest(kernels, name, time, size) for name in _TEXTS]
    for code in np.flatnonzero(counts):
        item = found.setdefault(operator_name(label.labels[code]), OperatorFacts())
        item.count += counts[code] / steps
        item.blocks, item.clock_mhz = float(blocks[code]), float(clock[code])
        item.shapes, item.types = (column[code] for column in texts)


def _weighted(values: Floats, time: Floats, kernels: Kernels, size: int) -> Floats:
    """Mean of values by label, weighted by time; nan where none is known."""
    known = np.isfinite(values) & (time > 0)
    codes = kernels.label.codes[known]
    weight = np.bincount(codes, weights=time[known], minlength=size)
    total = np.bincount(codes, weights=(values * time)[known], minlength=size)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)


def _costliest(kernels: Kernels, column: str, time: Floats, size: int) -> list[str]:
    """The text of a column that took most of the time of each label."""
    texts = kernels.texts[column]
    pairs = kernels.label.codes.astype(np.int64) * len(texts.labels) + texts.codes
    present, place = np.unique(pairs, return_inverse=True)
    sums = np.bincount(place, weights=time)
    found = [""] * size
    for at in np.argsort(sums, kind="stable"):
        found[int(present[at]) // len(texts.labels)] = texts.labels[int(present[at]) % len(texts.labels)]
    return found


def changed_facts(now: OperatorFacts | None, before: OperatorFacts | None) -> Iterator[str]:
    """What changed of an operator, in words."""
    if now is None or before is None:
        yield from ["is new"] * (now is not None) + ["is gone"] * (before is not None)
        return
    yield from _number("count", before.count, now.count, "")
    for name, old, new in (("shapes", before.shapes, now.shapes), ("types", before.types, now.types)):
        if old and new and old != new:
            yield f"{name} {old[:40]} -> {new[:40]}"
    yield from _number("blocks", before.blocks, now.blocks, "")
    yield from _number("clock", before.clock_mhz, now.clock_mhz, " MHz")
    yield from _number("moved", before.size_mb, now.size_mb, " MB")
    yield from _number("rate", before.rate_gb_s, now.rate_gb_s, " GB/s")
    if before.links and now.links and before.links != now.links:
        yield f"link {'+'.join(sorted(before.links))} -> {'+'.join(sorted(now.links))}"


def _number(name: str, before: float, now: float, unit: str) -> Iterator[str]:
    if abs(now - before) > SAME * max(abs(now), abs(before)):  # false for nan
        yield f"{name} {before:.4g} -> {now:.4g}{unit}"
