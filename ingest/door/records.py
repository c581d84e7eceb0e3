"""The one door for cases: the form of a record, and its conversion to a case.

Every reader turns its rows into records of the form in ``docs/formats.md`` and passes them through
:class:`Records`. Behind this door names are canonical, units SI and numbers sane; nothing is checked again.
"""

import marshal
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ingest.door.context import IngestContext
from ingest.door.gain_limits import implausible_gain
from ingest.door.outcomes import RecordOutcome, read_outcome
from ingest.door.requests import told_requests
from ingest.door.search_space import SearchSpaceFile
from ingest.door.sources import read_software, read_source
from ingest.door.tasks import read_limits, read_workload
from ingest.door.values import JsonObject, check_names, check_storable, json_kind, settings
from kg.errors import UnknownEntityError
from kg.nouns.entities import (
    Baseline,
    Case,
    Hardware,
    Kind,
    Limit,
    Objective,
    Problem,
    Source,
)
from kg.nouns.values import Settings
from kg.terms.units import unit
from kg.triples.names import ResolvedModel

T = TypeVar("T")

CACHED = 16_384
"""Problems (and configurations, and sources) kept; neighbouring rows of a file share theirs."""

MAXIMUM_DEVICES = 1_000_000
"""More devices than the largest machine has: the count is a mistake."""

TELLING = 4
"""Letters from which a word in the name of a file is taken for a device: T4, L4, A10, P4 and A2 are words of
other meanings too; a choice."""

_DESCRIPTIONS = {
    *("vendor", "name", "short", "reported_name", "arch", "type", "tdp_w", "compute_units", "chip"),
    *("count", "traits"),
}
"""Fields that describe a device, as its name does already. All others are traits of the machine."""

DEFAULTS = IngestContext()
"""An ingest without options."""

_DOCUMENTS = (".md", ".mdx", ".rst", ".html", ".pdf", ".txt")
"""A number out of a document is published; one out of a data file is measured."""


class RecordError(ValueError):
    """A record that is no case.

    Attributes:
        reasons: All that is wrong with it.
    """

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class NameResolver(Protocol):
    """A resolver of the names of hardware and models (``kg.triples.names``)."""

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        """The id of the hardware that ``text`` names, or a slug of it; and whether it is known."""

    def model(self, text: str) -> ResolvedModel:
        """The model that ``text`` names; raises UnknownEntityError."""


class Records:
    """Turns records into cases. Rows of one problem share one ``Problem`` object.

    Attributes:
        guesses: Assumptions, in words, each once, in the order of their first use.
        spaces: Search spaces declared by the files read so far, by benchmark.
        context: Facts that the user states for files that lack them.
    """

    def __init__(self, names: NameResolver, context: IngestContext = DEFAULTS) -> None:
        self.context = context
        self._names = names
        self.guesses: dict[str, None] = {}
        self.spaces: dict[str, SearchSpaceFile] = {}
        self._problems: dict[bytes, tuple[Problem, bool]] = {}
        self._settings: dict[bytes, Settings] = {}
        self._software: dict[bytes, Settings] = {}
        self._sources: dict[bytes, Source] = {}
        self._models: dict[str, str] = {}
        self._origin: JsonObject = {}

    def case(self, record: object) -> Case:
        """The case that a record describes.

        Raises:
            RecordError: All faults of the record.
        """
        if not isinstance(record, dict):
            raise RecordError([f"a case is an object, not {json_kind(record)}"])
        faults: list[str] = []
        task = _section(record, "task", faults)
        hardware = _section(record, "hardware", faults)
        config = _section(record, "config", faults)
        raw_outcome = _section(record, "outcome", faults)
        raw_source = _section(record, "source", faults)
        if self._origin and not (raw_source.get("url") or raw_source.get("repo")):
            raw_source = {**raw_source, **self._origin}
        is_relative = record.get("baseline") is not None
        outcome = (
            read_outcome(raw_outcome, task.get("kind"), faults, is_relative=is_relative)
            if raw_outcome
            else None
        )
        problem: Problem | None = None
        has_target = False
        if outcome is not None:
            extras = record.get("problem")
            found = self._cached(
                self._problems,
                (task, hardware, extras, outcome.metric, outcome.symbol, outcome.better.value),
                lambda: self._problem(task, hardware, extras, outcome),
                faults,
            )
            problem, has_target = found or (None, False)
        elif not faults:
            faults.append("outcome: missing")
        config, assumed = told_requests(task, config, raw_outcome)
        if assumed:
            self.guess(assumed)
        configuration = self._settings_of(config, "config", faults)
        source = self._cached(self._sources, raw_source, lambda: _named_source(raw_source), faults)
        versions = read_software(record, config, raw_source, faults)
        software = self._cached(self._software, versions, lambda: Settings(versions), faults)
        strategy = _slug(record, "strategy", faults)
        bottleneck = _slug(record, "bottleneck", faults)
        baseline = self._baseline(record.get("baseline"), outcome, faults)
        value = None if outcome is None else outcome.measurement.value
        if doubt := implausible_gain("" if outcome is None else outcome.metric, value, baseline, strategy):
            faults.append(doubt)
        kind = _case_kind(record.get("kind"), outcome, source, faults, has_target=has_target)
        if faults or problem is None or configuration is None or source is None or outcome is None:
            raise RecordError(faults)
        return Case(
            problem=problem,
            configuration=configuration,
            measurement=outcome.measurement,
            kind=kind,
            source=source,
            baseline=baseline,
            strategy=strategy,
            bottleneck=bottleneck,
            software=software or _NOTHING,
        )

    def start_file(self, path: Path) -> None:
        """Forget the guesses of the previous file, so that this one lists its own."""
        self._origin = self.context.source_of(path)
        self.guesses = {}
        self._problems.clear()
        self._models.clear()

    def guess(self, text: str) -> None:
        """Note something that had to be assumed."""
        if len(self.guesses) < 1000:
            self.guesses.setdefault(text)

    def hardware(self, text: str) -> tuple[str, bool]:
        """Id or slug of the hardware that ``text`` names, and whether it is known."""
        return self._names.hardware_or_slug(text)

    def is_device(self, text: str) -> bool:
        """True if part of a file's name is a device; a short word alone, such as ``t4`` or ``a10``, is none.

        It may as well name a format, a version or a run; with its vendor before it, it is longer.
        """
        return len(text) >= TELLING and self.hardware(text)[1]

    def model(self, text: str) -> str | None:
        """Id of the model that ``text`` names; None if none has that name alone."""
        try:
            found = self._names.model(text)
        except UnknownEntityError:
            return None
        return found.id if found.exact else None

    def _cached(self, cache: dict[bytes, T], raw: Any, make: Callable[[], T], faults: list[str]) -> T | None:
        """The result of ``make``, cached by the raw content; its faults are added to ``faults``."""
        try:
            key = marshal.dumps(raw, 2)  # version 2 has no references: equal content gives equal bytes
            kept = cache.get(key)
            if kept is None:
                check_storable(raw)
                kept = make()
                if len(cache) >= CACHED:
                    cache.clear()
                cache[key] = kept
        except RecordError as fault:
            faults.extend(fault.reasons)
            return None
        except ValueError as fault:
            faults.append("holds what JSON does not know" if "marshal" in str(fault) else str(fault))
            return None
        return kept

    def _settings_of(self, raw: JsonObject, section: str, faults: list[str]) -> Settings | None:
        before = len(faults)
        found = self._cached(self._settings, raw, lambda: _named_settings(raw), faults)
        faults[before:] = [f"{section}: {reason}" for reason in faults[before:]]
        return found

    def _problem(
        self, task: JsonObject, hardware: JsonObject, extras: object, outcome: RecordOutcome
    ) -> tuple[Problem, bool]:
        check_names(task)
        check_names(hardware)
        faults: list[str] = []
        workload = read_workload(task, outcome.metric, self._model, faults) if task else None
        machine = self._hardware(hardware, faults) if hardware else None
        limits = read_limits(task.get("slo"), faults)
        has_target = bool(limits)
        more = extras if isinstance(extras, dict) else {}
        if extras is not None and not isinstance(extras, dict):
            faults.append(f"problem: an object, not {json_kind(extras)}")
        limits = (*limits, *_limits(more.get("limits"), faults))
        if faults or workload is None or machine is None:
            raise RecordError(faults)
        current = more.get("current")
        problem = Problem(
            workload=workload,
            hardware=machine,
            objective=Objective(metric=outcome.metric, better=outcome.better, unit=outcome.symbol),
            limits=limits,
            bottlenecks=settings(_object(more, "bottlenecks"), keep_null=True),
            current=None if current is None else settings(_object(more, "current"), keep_null=True),
            software=Settings({name: str(item) for name, item in _object(more, "software").items()}),
        )
        return problem, has_target

    def _model(self, text: str) -> str:
        known = self._models.get(text)
        if known is None:
            known = self.model(text)
            if known is None:
                self.guess(f"model {text!r} is not in the knowledge; kept as it is")
                known = text
            self._models[text] = known
        return known

    def _hardware(self, raw: JsonObject, faults: list[str]) -> Hardware | None:
        name = raw.get("name")
        if not isinstance(name, str) or not name.strip():
            faults.append("hardware.name: missing" if name is None else "hardware.name: not a name")
            return None
        traits = {key: item for key, item in raw.items() if key not in _DESCRIPTIONS}
        traits.update(_object(raw, "traits"))
        device = name
        chip = raw.get("chip")
        if isinstance(chip, str) and chip and chip != name:
            device, traits["server"] = chip, name
        count = raw.get("count")
        if count is not None:
            if isinstance(count, bool) or not isinstance(count, int | float) or count != count // 1:
                faults.append(f"hardware.count: {count!r} is no number of devices"[:200])
                return None
            if not 1 <= count <= MAXIMUM_DEVICES:
                faults.append(f"hardware.count: {count} devices")
                return None
        identifier, known = self._device(device, raw.get("arch"))
        if not known:
            self.guess(f"hardware {device!r} is not in the knowledge; kept as {identifier!r}")
        reported = raw.get("reported_name")
        return Hardware(
            name=identifier,
            reported=reported if isinstance(reported, str) and reported else name,
            count=None if count is None else int(count),
            traits=settings(traits, keep_null=False),
        )

    def _device(self, name: str, arch: object) -> tuple[str, bool]:
        """A driver's ``Radeon Graphics`` is told apart by its architecture, where the tree does so."""
        if isinstance(arch, str) and arch:
            narrower = self._names.hardware_or_slug(f"{name} {arch}")
            if narrower[1]:
                return narrower
        return self._names.hardware_or_slug(name)

    def _baseline(self, raw: object, outcome: RecordOutcome | None, faults: list[str]) -> Baseline | None:
        if raw is None or outcome is None:
            return None
        if not isinstance(raw, dict):
            faults.append(f"baseline: an object, not {json_kind(raw)}")
            return None
        value = raw.get("value")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            faults.append(f"baseline.value: {str(value)[:40]} is no positive number")
            return None
        configuration = self._settings_of(_object(raw, "config"), "baseline.config", faults)
        return Baseline(value=outcome.to_si(float(value)), configuration=configuration or _NOTHING)


_NOTHING = Settings()


def _section(record: JsonObject, name: str, faults: list[str]) -> JsonObject:
    raw = record.get(name)
    if isinstance(raw, dict):
        if not raw and name != "config":
            faults.append(f"{name}: empty")
        return raw
    faults.append(f"{name}: missing" if raw is None else f"{name}: an object, not {json_kind(raw)}")
    return {}


def _object(raw: JsonObject, name: str) -> JsonObject:
    item = raw.get(name)
    if item is None:
        return {}
    if not isinstance(item, dict):
        raise RecordError([f"{name}: an object, not {json_kind(item)}"])
    return item


def _slug(record: JsonObject, name: str, faults: list[str]) -> str:
    raw = record.get(name)
    if raw is None or raw == "":
        return ""
    if isinstance(raw, str) and raw.isascii() and raw.replace("-", "").isalnum() and raw == raw.lower():
        return raw
    faults.append(f"{name}: {str(raw)[:60]!r} is no id (lower-case letters, digits and hyphens)")
    return ""


def _limits(raw: object, faults: list[str]) -> tuple[Limit, ...]:
    limits = []
    for item in raw if isinstance(raw, list) else []:
        try:
            si = unit(str(item["unit"]))
            limits.append(
                Limit(metric=str(item["metric"]), maximum=si.to_si(float(item["maximum"])), unit=si.symbol)
            )
        except (KeyError, TypeError, ValueError) as fault:
            faults.append(f"problem.limits: needs metric, maximum and unit ({fault})"[:200])
    if raw is not None and not isinstance(raw, list):
        faults.append(f"problem.limits: a list, not {json_kind(raw)}")
    return tuple(limits)


def _case_kind(
    raw: object, outcome: RecordOutcome | None, source: Source | None, faults: list[str], *, has_target: bool
) -> Kind:
    if raw is not None:
        try:
            return Kind(str(raw))
        except ValueError:
            faults.append(f"kind: {str(raw)[:40]!r} is none of {', '.join(Kind)}")
            return Kind.MEASURED
    if outcome is not None and outcome.is_winner:
        return Kind.TARGET if has_target else Kind.WINNER
    if source is not None and source.path.lower().endswith(_DOCUMENTS):
        return Kind.PUBLISHED
    return Kind.MEASURED


def _named_source(raw: JsonObject) -> Source:
    check_names(raw, "note")
    return read_source(raw)


def _named_settings(raw: JsonObject) -> Settings:
    check_names(dict.fromkeys(raw))
    return settings(raw, keep_null=True)
