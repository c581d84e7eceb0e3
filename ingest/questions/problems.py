"""Questions of users, as options of the command line or a problem file, made into a problem.

Every fault is reported at once; names are resolved against the graph, and assumptions are
listed in the notes.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from ingest.questions.aims import KnownOperator, limits_of, objective_of
from ingest.questions.bounds import (
    LONGEST_NAME,
    check_room,
    check_settings,
    check_sizes,
    check_traits,
    device_count,
    with_own_count,
)
from ingest.questions.implied_phase import implied_phase
from ingest.questions.launches.launch_facts import facts_of
from ingest.questions.releases import plain_release, release_of_image
from ingest.questions.training_methods import read_methods, with_method
from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Hardware, Problem, Workload, WorkloadKind
from kg.nouns.release import release_order
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings, Value, as_value
from kg.terms.meanings import OWN_NAMES
from kg.terms.model_name import quantised_format, read_name
from kg.terms.phases import PHASE_OF_WORD
from kg.terms.plugin_releases import ascend_release
from kg.terms.precisions import canonical_precision, is_narrow, is_precision
from kg.terms.setting_registry import registry, softwares
from kg.terms.units import share_of
from kg.triples.model_facts import SIZED
from kg.triples.model_finder import DECISIVE
from kg.triples.names import ResolvedModel, ResolvedName, slug
from kg.triples.network_table import network_facts

_Part = TypeVar("_Part")
_FORMATS_ALIKE = {"w8a8": "int8", "float4": "nvfp4", "fp4": "nvfp4", "int4": "w4a16"}
"""Formats of weights that two words name."""
_SERVED_IN = frozenset({"fp8", "int8"})
_FORMATS_HINT = "such as bfloat16, float16, fp8, int8, w4a16, nvfp4, mxfp4, or q4_k_m of a GGUF file"
_FOUR_BIT = frozenset({"int4", "awq", "gptq"})
"""Names for weights of four bits that are multiplied in 16."""


class Resolver(Protocol):
    """A resolver of names against the graph."""

    def hardware(self, text: str, count: int | None = None) -> ResolvedName:
        """A node of the hardware tree, of which there are so many."""

    def model(self, text: str) -> ResolvedModel:
        """Resolve the name of a model."""

    def models_of_size(self, sizes: Mapping[str, object]) -> tuple[str, ...]:
        """Ids of the models that have these sizes."""

    def bottleneck(self, text: str) -> ResolvedName:
        """A bottleneck."""

    def phases_of(self, program: str) -> Collection[str]:
        """Scopes of phases that a program serves; empty where it is not known."""


def problem_from(
    raw: Mapping[str, object], names: Resolver, operators: Callable[[str], KnownOperator]
) -> tuple[Problem, tuple[str, ...]]:
    """The problem that ``raw`` asks about, and notes on assumptions.

    Args:
        raw: Keys of :data:`ingest.questions.problem_file.KEYS`, as text, numbers and mappings.
        names: Resolves names against the graph.
        operators: What the cases know of an operator, by the name the user gave.

    Raises:
        UnknownEntityError: A name that the graph does not know, with the nearest known ones.
        InputError: Anything else that is wrong; all of it at once.
    """
    check_room(raw)
    reader = _Reader(with_own_count(with_method(raw)), names, operators)
    problem = reader.problem()
    if reader.errors:
        first, *others = reader.errors
        if not others:
            raise first
        lines = [str(error) + (f" ({error.hint})" if error.hint else "") for error in reader.errors]
        raise InputError("; ".join(lines))
    assert problem is not None  # noqa: S101  no error means a problem
    return problem, tuple(reader.notes)


def resolved_problem(problem: Problem, names: Resolver) -> tuple[Problem, tuple[str, ...]]:
    """A problem that a program made, with its names resolved as those of a question, and the notes on them.

    Raises:
        UnknownEntityError: A name is not known, or stands for several; a model that states its own sizes
            may have any name.
    """
    work, place = problem.workload, problem.hardware
    device = names.hardware(place.name, place.count)
    notes = [device.note]
    if device.id != place.name:
        place = replace(place, name=device.id, reported=place.reported or place.name)
    if work.model is not None:
        try:
            model = names.model(work.model)
        except UnknownEntityError:
            if not SIZED & set(work.shape):
                raise
        else:
            notes.append(model.note)
            precision = work.precision or model.weights or None
            if (model.id, precision) != (work.model, work.precision):
                work = replace(work, model=model.id, precision=precision)
    if work is not problem.workload or place is not problem.hardware:
        problem = replace(problem, workload=work, hardware=place)
    return problem, tuple(filter(None, notes))


class _Reader:
    """A reader of one question that collects its faults."""

    def __init__(
        self, raw: Mapping[str, object], names: Resolver, operators: Callable[[str], KnownOperator]
    ) -> None:
        self.raw = raw
        self.names = names
        self.operators = operators
        self.errors: list[InputError] = []
        self.derived: list[StatedFact] = []
        content = raw.get("notes")
        self.notes: list[str] = [str(note) for note in content] if isinstance(content, list) else []

    def problem(self) -> Problem | None:
        workload, default = self._attempt("workload", self._workload) or (None, None)
        hardware = self._attempt("hardware", self._hardware)
        kind = workload.kind if workload else WorkloadKind.OPERATOR
        objective = self._attempt("objective", lambda: objective_of(self._text("objective"), kind, default))
        limits = self._attempt("limits", lambda: limits_of(self.raw.get("limits"), default))
        bottlenecks = self._attempt("bottlenecks", self._bottlenecks)
        current, software = self._attempt("current", self._current), self._attempt("software", self._versions)
        if self.errors or workload is None or hardware is None or objective is None or limits is None:
            return None
        return Problem(
            workload=workload,
            hardware=hardware,
            objective=objective,
            limits=limits,
            bottlenecks=bottlenecks or Settings(),
            current=current if "current" in self.raw else None,
            software=software or Settings(),
            situation=self._situation({"model": workload.model, "hardware": hardware.name}),
        )

    def _situation(self, resolved: Mapping[str, Value]) -> Situation:
        """Every fact of the question with its origin, and what its names say besides."""
        stated = (
            StatedFact(name=name, value=resolved.get(name, _plain(value)), origin=self._origin(name))
            for key, table in self.raw.items()
            if key not in {"notes", "origins"}
            for name, value in facts_of(key, table).items()
            if value is not None
        )
        named = str(self.raw.get("model") or "").strip()
        software = self.raw.get("software")
        is_own = bool(named) and isinstance(software, Mapping) and not OWN_NAMES.isdisjoint(software)
        fact = (
            "checkpoint"
            if "/" in named or named.endswith(".gguf")
            else "named"
            if is_own or read_name(named).is_dated
            else ""
        )
        own = [StatedFact(name=fact, value=named, origin=self._origin("model"))] if fact else []
        return Situation.of([*self.derived, *own, *stated])

    def _attempt(self, key: str, read: Callable[[], _Part]) -> _Part | None:
        try:
            return read()
        except InputError as error:
            self.errors.append(error)
        except ValueError as error:
            self.errors.append(InputError(f"{key}: {error}"))
        return None

    def _text(self, key: str) -> str | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, bool | list | dict) or not str(value).strip():
            raise InputError(f"{key}: expected a name, not {value!r}")
        if len(text := str(value).strip()) > LONGEST_NAME:
            raise InputError(f"{key}: {len(text):,} characters; a name has at most {LONGEST_NAME}")
        return text

    def _settings(self, key: str, content: object = None) -> Settings:
        value = self.raw.get(key) if content is None else content
        if value is None:
            return Settings()
        if not isinstance(value, dict):
            raise InputError(f"{key}: expected names and values, not {value!r}")
        settings: dict[str, Value] = {}
        for name, item in value.items():
            try:
                settings.update(Settings({str(name): item}))
            except ValueError as error:
                raise InputError(f"{key}: {name}: {error}") from None
        return Settings(settings)

    def _current(self) -> Settings:
        settings = self._settings("current")
        software = self.raw.get("software")
        check_settings(settings, str(next(iter(software), "")) if isinstance(software, dict) else "")
        return settings

    def _versions(self) -> Settings:
        content = self.raw.get("software")
        for name, version in content.items() if isinstance(content, dict) else ():
            if isinstance(version, float):  # 2.10 has become 2.1 by now
                raise InputError(f"software: {name}: write the version in quotes, {version} is a number")
        stated: dict[str, Value] = {}
        for name, version in self._settings("software").items():
            image = release_of_image(name)
            if image is not None:
                stated |= dict([image])
            else:
                stated[name] = plain_release(version) if isinstance(version, str) else version or ""
        releases = {name: ascend_release(name, str(version)) for name, version in stated.items()}
        for name, release in releases.items():
            if release and name in softwares() and not release_order(release):
                raise InputError(
                    f"software: {name}: {release!r} names no release",
                    hint=f"the newest that is known: {registry(name).releases[-1]}",
                )
            if release != str(stated[name]):
                self.notes.append(f"{name} {stated[name]} is taken for its newest Ascend release, {release}")
        return Settings(
            {name: releases[name] if releases[name] != str(stated[name]) else stated[name] for name in stated}
        )

    def _workload(self) -> tuple[Workload, KnownOperator | None]:
        phase, operator, model = self._text("phase"), self._text("op"), self._text("model")
        stage = None if phase is None else PHASE_OF_WORD.get(phase.lower())
        if phase is not None and stage is None:
            raise InputError(f"unknown phase {phase!r}", hint=f"known: {', '.join(PHASE_OF_WORD)}")
        sizes, traits = self._settings("sizes"), self._settings("traits")
        check_traits(traits)
        if model is None and operator is None and not sizes:
            origins = self.raw.get("origins")
            if isinstance(origins, dict) and origins.get("phase") == FactOrigin.SCRIPT:
                program = ", ".join(dict(self.raw.get("software") or {}))  # type: ignore[call-overload]
                if not program:
                    raise InputError("the script names no model", hint="--model NAME tells it")
                raise InputError(f"the launch of {program} names no model", hint="--model NAME tells it")
            raise InputError("nothing to tune: add --model, --op or a problem file")
        known = None if operator is None else self.operators(operator)
        if known is not None:
            kind, name = known.kind, known.name
            if stage is not None and not stage.activity:
                kind = stage.kind
        else:
            if stage is None:
                implied, said = implied_phase(self.raw, self.names.phases_of)
                stage = PHASE_OF_WORD[implied]
                self.notes.append(
                    f"no phase given: {implied}, as {said} is of it"
                    if said
                    else f"no phase given: {implied} is assumed"
                )
            kind, name = stage.kind, stage.activity
            if kind is WorkloadKind.TRAINING:
                traits = Settings(read_methods(traits))
            if not name:
                raise InputError(f"phase {phase} needs --op")
        precision = self._precision(model, kind)
        model, own = self._model(model, sizes)
        words = {name: word for name, word in sizes.items() if isinstance(word, str)} if own else {}
        workload = Workload(
            kind=kind,
            operator=name,
            model=model,
            shape=Settings({**own, **self._sizes()}),
            precision=precision,
            traits=Settings({**words, **traits}),
        )
        return workload, known

    def _model(self, model: str | None, sizes: Settings) -> tuple[str | None, Settings]:
        """Id of the model that is named or has the sizes; and the sizes where they are not that model's."""
        fitting: tuple[str, ...] = self.names.models_of_size(sizes) if sizes else ()
        nothing = Settings()
        if model is not None:
            resolved, unknown = self._named(model)
            if (
                (resolved is None or resolved.passed_over)
                and (facts := dict(network_facts(model)))
                and not sizes
            ):
                self.notes.append(f"{model}: its operations are those of {facts.pop('operations_source')}")
                return slug(model), Settings(facts)
            if resolved is None and not sizes:
                raise unknown
            if resolved is not None:
                closer = next((name for name in fitting if name.startswith(f"{resolved.id}-")), None)
                is_open = any(name not in sizes for name in DECISIVE)
                # sizes decide where a word of the name is unknown
                if is_open or resolved.id in fitting or not (resolved.passed_over or closer):
                    self._note(resolved)
                if is_open or resolved.id in fitting:
                    return resolved.id, nothing
                if closer is not None:
                    self.notes.append(f"recognised as {closer} by its name and sizes")
                    return closer, nothing
                if not resolved.passed_over:
                    self.notes.append(
                        f"the sizes are not those of {resolved.id}: name and sizes are as given"
                    )
                    return resolved.id, Settings(dict(sizes.numbers()))
        if not sizes:
            return model, nothing
        for first in fitting[:1]:
            others = f", and those of {len(fitting) - 1} more; say --model" if len(fitting) > 1 else ""
            self.notes.append(f"recognised as {first} by its sizes{others}")
            return first, nothing
        self.notes.append("no known model has these sizes: advice for one model or family is left out")
        return slug(read_name(model or "").short) or "own-model", Settings(dict(sizes.numbers()))

    def _named(self, model: str) -> tuple[ResolvedModel | None, UnknownEntityError]:
        """The model that has a name, or the error that says why none has."""
        try:
            return self.names.model(model), UnknownEntityError("")
        except UnknownEntityError as error:
            return None, error

    def _precision(self, model: str | None, kind: WorkloadKind) -> str | None:
        """The number format that is told, else of the quantisation in use, else of the model's name.

        Weights of eight bits are trained in more: their name says what they are published in.
        """
        named = read_name(model).weights if model else ""
        named = "" if kind is WorkloadKind.TRAINING and named in _SERVED_IN else named
        told = self._text("precision")
        if model and (told or "").lower() in _FOUR_BIT:
            told = "w4a16"
        if told is not None and not is_precision(told):
            if model:
                raise InputError(f"no number format named {told[:40]!r} is known", hint=_FORMATS_HINT)
            self.notes.append(f"no number format named {told!r} is known: it is compared as a name")
        if model and kind is WorkloadKind.TRAINING and told and is_narrow(told):
            raise InputError(
                f"weights in {canonical_precision(told)} are for serving, not for training",
                hint="without --precision, --trait method=qlora trains adapters beside weights of four bits",
            )
        current = self.raw.get("current")
        method = current.get("quantization") if isinstance(current, dict) else None
        said = (
            ("precision", "" if told is None else canonical_precision(told)),
            ("current.quantization", quantised_format(method) if isinstance(method, str) else ""),
            ("model", named),
        )
        strength = list(FactOrigin).index
        stated = sorted(
            ((strength(self._origin(fact)), name, fact) for fact, name in said if name),
            key=lambda item: item[0],
        )
        if not stated:
            return None
        (_, chosen, first), *others = stated
        for _, name, fact in others:
            if _FORMATS_ALIKE.get(name, name) != _FORMATS_ALIKE.get(chosen, chosen):
                self.notes.append(f"{first} says {chosen} and {fact} {name}: {chosen} is taken")
        self.derived.append(StatedFact(name="precision", value=chosen, origin=self._origin(first)))
        return chosen

    def _origin(self, fact: str) -> FactOrigin:
        """The origin of a fact of the question; a fact that no reader of a text claims is told."""
        stated = self.raw.get("origins")
        return FactOrigin(stated.get(fact, FactOrigin.TOLD) if isinstance(stated, dict) else FactOrigin.TOLD)

    def _sizes(self) -> Settings:
        shape = self._settings("shape")
        check_sizes(shape)
        return shape

    def _hardware(self) -> Hardware:
        name = self._text("hardware")
        if name is None:
            raise InputError("no hardware: add --hardware, such as --hardware 910B3")
        count = device_count(self.raw.get("count"))
        resolved = self.names.hardware(name, count)
        self._note(resolved)
        return Hardware(name=resolved.id, reported=name, count=count)

    def _bottlenecks(self) -> Settings:
        shares: dict[str, float | None] = {}
        content = self.raw.get("bottlenecks")
        if isinstance(content, list):  # names alone, without their shares
            content = dict.fromkeys(map(str, content))
        for name, share in self._settings("bottlenecks", content).items():
            try:
                resolved = self.names.bottleneck(name)
            except UnknownEntityError as error:
                error.hint = error.hint or "list them: tunegraph kb list bottlenecks"
                raise
            self._note(resolved)
            shares[resolved.id] = None if share is None else _share(name, share)
        if sum(share for share in shares.values() if share) > 1:
            self.notes.append(
                "the bottlenecks' shares exceed 1 together: they overlap, and gains are not added"
            )
        return Settings(shares)

    def _note(self, resolved: ResolvedName) -> None:
        if resolved.note:
            self.notes.append(resolved.note)


def _plain(value: object) -> Value:
    """A value of a question; what is none as text."""
    try:
        return as_value(value)
    except ValueError:
        return str(value)


def _share(name: str, share: object) -> float:
    try:
        value = share_of(str(share))
    except ValueError:
        raise InputError(f"bottleneck {name}: {share!r} is not a share such as 0.28 or 28%") from None
    if not 0 <= value <= 1:
        raise InputError(f"bottleneck {name}: a share is between 0 and 1, not {share}")
    return value
