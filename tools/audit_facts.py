"""Facts of the shipped knowledge, drawn at random with their sources, for a reader who opens them.

    python -m tools.audit_facts [--number 60] [--seed 20261122] [--kind registry] [--out FILE.csv]

Each kind of fact has its share of the draw by the square root of how many there are, so that none is left
out: facts of hardware and models, symptoms, causes, settings and conditions of strategies, relations, faults,
published effects, recipes, and entries of the settings registry; of one kind alone, each program has its
share in the same way. The columns: kind, subject, what is stated,
source, address, verdict (empty, for the reader: right, wrong, unsupported or not openable).
"""

import argparse
import csv
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TextIO

import data
from ingest.knowledge.files import Noun, read_knowledge
from kg.nouns.entities import Source
from kg.nouns.knowledge import Bottleneck, Cause, FaultPattern, HardwareProfile, Model, Strategy
from kg.nouns.setting import Setting
from kg.terms.setting_registry import SettingRegistry, registry, softwares
from recommender.store.shipped_knowledge import recipes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One fact to check.

    Attributes:
        kind: Kind of fact.
        subject: What it is about.
        states: What it says.
        source: Title of its source.
        address: Where the source can be opened.
        verdict: For the reader.
    """

    kind: str
    subject: str
    states: str
    source: str
    address: str
    verdict: str = ""


def main(arguments: list[str] | None = None) -> int:
    """Write the draw as CSV; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--number", type=int, default=60, help="facts to draw")
    parser.add_argument("--seed", type=int, default=20261122, help="of the draw")
    parser.add_argument("--kind", default="", help="draw facts of this kind alone")
    parser.add_argument("--out", default="", help="file to write; the screen where it is not given")
    given = parser.parse_args(arguments)
    if given.number < 1:
        print(f"--number {given.number}: at least 1", file=sys.stderr)
        return 2
    rows = draw(given.number, given.seed, given.kind)
    if not rows:
        print(f"--kind {given.kind}: no facts of that kind", file=sys.stderr)
        return 2
    if given.out:
        with Path(given.out).open("w", encoding="utf-8", newline="") as stream:
            _write(stream, rows)
    else:
        _write(sys.stdout, rows)
    return 0


def _write(stream: TextIO, rows: list[AuditRow]) -> None:
    writer = csv.writer(stream)
    writer.writerow(field.name for field in fields(AuditRow))
    writer.writerows(astuple(row) for row in rows)


def draw(number: int, seed: int, only: str = "") -> list[AuditRow]:
    """Facts at random, each kind by the square root of its size; of one kind, each source so."""
    kinds: dict[str, list[AuditRow]] = defaultdict(list)
    for row in every_fact():
        if only in {"", row.kind}:
            kinds[row.source if only else row.kind].append(row)
    weights = {kind: math.sqrt(len(rows)) for kind, rows in sorted(kinds.items())}
    shares = {kind: number * weight / sum(weights.values()) for kind, weight in weights.items()}
    counts = {kind: min(len(kinds[kind]), max(1, int(share))) for kind, share in shares.items()}
    for kind in sorted(shares, key=lambda name: int(shares[name]) - shares[name]):
        if sum(counts.values()) >= number:
            break
        counts[kind] = min(len(kinds[kind]), counts[kind] + 1)
    chance = random.Random(seed)
    drawn = [row for kind, count in counts.items() for row in chance.sample(kinds[kind], count)]
    return drawn[:number]


def every_fact() -> Iterator[AuditRow]:
    """Every sourced statement that ships, in the order of the files."""
    for folder in ("hardware", "models", "knowledge"):
        for name in data.files(folder, ".yaml"):
            for noun in read_knowledge(data.text(name), name):
                yield from _of_noun(noun)
    for line in data.text("cases/effects.jsonl").splitlines():
        case = json.loads(line)
        outcome, baseline = case["outcome"], case["baseline"]
        yield AuditRow(
            kind="effect",
            subject=case["strategy"],
            states=f"{outcome['metric']} {outcome['value']} with {case['config']} against {baseline}",
            source=case["source"].get("repo") or case["source"].get("title", ""),
            address=case["source"]["url"],
        )
    for recipe in recipes():
        yield AuditRow(
            kind="recipe",
            subject=f"{recipe.reported_model} {recipe.role} on {recipe.reported_hardware}",
            states=", ".join(f"{item.key}={item.value}" for item in recipe.settings[:8]),
            source=recipe.title,
            address=recipe.source.url,
        )
    for software in softwares():
        yield from (_of_setting(registry(software), item) for item in registry(software).settings)


def _of_setting(settings: SettingRegistry, item: Setting) -> AuditRow:
    """A setting as the newest release has it that has it at all."""
    order = settings.releases
    last = order[order.index(item.removed) - 1] if item.removed else order[-1]
    default = item.default_text(last) or "not stated"
    spans = [f"{word} {name}" for word, name in (("since", item.since), ("removed", item.removed)) if name]
    return AuditRow(
        kind="registry",
        subject=f"{item.software} {last} {item.key}",
        states=", ".join([item.place, item.takes, f"default {default}", *spans]),
        source=item.software,
        address=item.source,
    )


def _of_noun(noun: Noun) -> Iterator[AuditRow]:
    match noun:
        case HardwareProfile() | Model():
            kind = "model" if isinstance(noun, Model) else "hardware"
            for fact in noun.facts:
                yield _row(kind, noun.id, f"{fact.name} = {fact.value} ({fact.kind})", fact.source)
        case Bottleneck() | Cause():
            for symptom in noun.symptoms if isinstance(noun, Bottleneck) else ():
                says = f"{symptom.metric} {symptom.comparator} {symptom.threshold} {symptom.unit}"
                yield _row("symptom", noun.id, says, symptom.source)
            for edge in noun.caused_by:
                yield _row("cause", noun.id, f"caused by {edge.cause}", edge.source)
        case Strategy():
            yield from _of_strategy(noun)
        case FaultPattern():
            yield _row("fault", noun.id, f"{noun.codes or noun.patterns}: {noun.remedy}", noun.source)


def _of_strategy(strategy: Strategy) -> Iterator[AuditRow]:
    for item in strategy.sets:
        yield _row("setting", strategy.id, item.text, strategy.sources[0])
    for clause in strategy.applies_when:
        yield _row("condition", strategy.id, clause.condition, clause.source)
    for word, relations in (
        ("is for", strategy.mitigates),
        ("needs", strategy.requires),
        ("excludes", strategy.conflicts_with),
        ("does harm with", strategy.contraindicated_by),
    ):
        for relation in relations:
            yield _row("relation", strategy.id, f"{word} {relation.target}", relation.source)


def _row(kind: str, subject: str, states: str, source: Source) -> AuditRow:
    place = source.url or source.note or "no address"
    return AuditRow(kind=kind, subject=subject, states=states, source=source.title, address=place)


if __name__ == "__main__":
    sys.exit(main())
