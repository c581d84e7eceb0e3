"""Findings on sizes of a launch that must divide and do not: heads, experts, layers, devices, samples."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import data
from kg.nouns.audit import FindingKind, FindingLevel
from kg.terms.dialects import positive, statement
from recommender.audit.finding import NO_START, SettingFinding, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.nouns.values import Value
    from recommender.audit.case import AuditCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A size that a program divides evenly, or refuses to start.

    Attributes:
        rule: Id of the finding.
        programs: Programs that refuse, and what is built on them; empty for any.
        whole: Size that is divided.
        stated: Plain name of the setting by which a launch that builds its model states the whole, and which
            counts before a card; empty for none.
        parts: Sizes whose product divides it.
        blamed: Fact whose setting is at fault.
        when: Plain name of a setting, or fact, that must be there; empty for none.
        unless: Plain names of settings, or facts, with which another rule holds.
        exact: The product is the whole, not only a part of it.
        says: What is wrong, by language, with the sizes to fill in.
    """

    rule: str
    programs: frozenset[str]
    whole: str
    stated: str
    parts: tuple[str, ...]
    blamed: str
    when: str
    unless: frozenset[str]
    exact: bool
    says: Mapping[str, str]


def _division(row: Mapping[str, str]) -> Division:
    return Division(
        rule=f"{row['rule']}-not-divisible",
        programs=frozenset(row["programs"].split()),
        whole=row["whole"],
        stated=row["stated"],
        parts=tuple(row["parts"].split()),
        blamed=row["blamed"],
        when=row["when"],
        unless=frozenset(row["unless"].split()),
        exact=bool(row["exact"]),
        says={"en": row["says"], "zh": row["says_zh"]},
    )


@cache
def divisions() -> tuple[Division, ...]:
    """The divisions that ship, by place in their table."""
    return tuple(map(_division, csv.DictReader(data.text("audit/divisions.csv").splitlines())))


def division_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Find sizes of a launch that its program divides evenly, and that do not divide; one a setting."""
    values = {item.key: item.value for item in case.settings if item.is_known}
    read = statement(values, case.program)
    written_as = {name: value for forms in case.forms.values() for name, value in forms.items()}
    names = written_as.keys() | read.program_facts.keys() | {str(case.facts.get("phase") or "")}
    sizes = _sizes(case, read.program_facts)
    blamed: set[str] = set()
    for one in divisions():
        is_of = one.programs & case.programs.keys() if one.programs else True
        if not is_of or (one.when and one.when not in names) or one.unless & names or one.blamed in blamed:
            continue
        whole = positive(written_as.get(one.stated)) or sizes.get(one.whole)
        parts = [sizes.get(name) for name in one.parts]
        if not whole or not all(parts):
            continue
        product = math.prod(part for part in parts if part)
        if whole == product if one.exact else whole % product == 0:
            continue
        setting = next((item for item in case.settings if read.fact_of.get(item.key) == one.blamed), None)
        if setting is None:
            continue
        blamed.add(one.blamed)
        words = {**sizes, "whole": whole, "parts": " x ".join(map(str, parts))}
        yield SettingFinding(
            rule=one.rule,
            kind=FindingKind.REFUSED,
            level=FindingLevel.ERROR,
            setting=setting,
            says={language: text.format(**words) for language, text in one.says.items()},
            cost=dict(zip(("en", "zh"), NO_START, strict=True)),
            remedy=written(setting.key, _nearest(one, whole, product, sizes)),
        )


def _sizes(case: AuditCase, stated: Mapping[str, Value]) -> dict[str, int]:
    """Whole numbers of the launch and of its model by fact, and the copies of the model that it trains."""
    told: dict[str, Value] = {
        name: value for name, value in case.facts.items() if not isinstance(value, frozenset)
    }
    found = {name: positive(value) for name, value in (*told.items(), *stated.items())}
    sizes = {name: size for name, size in found.items() if size}
    copies, rest = divmod(
        sizes.get("devices", 0), math.prod(sizes.get(name, 1) for name in ("tp", "pp", "cp"))
    )
    return sizes if rest else {**sizes, "copies": copies}


def _nearest(one: Division, whole: int, product: int, sizes: Mapping[str, int]) -> int:
    """The nearest size that divides: fewer parts of a whole that is given, more samples of given parts."""
    if one.blamed == one.whole:
        return product if one.exact else -(-whole // product) * product
    size = sizes[one.blamed]
    beside = product // size
    return next(less for less in range(size, 0, -1) if whole % (beside * less) == 0 or less == 1)
