"""Models of a graph found by what the words of a name say, or by their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyoxigraph import Literal, NamedNode

from kg.terms.model_name import VARIANTS, Part, read_name
from kg.triples import nodes
from kg.triples.iris import family_iri, iri_of, model_iri, name_of, value_of
from kg.triples.vocabulary import TG, Shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kg.terms.model_name import ModelName
    from kg.triples.graph import GraphStore

DECISIVE = ("hidden_size", "layers", "attention_heads")
"""Facts that must be told and agree."""

PADDED = frozenset({"vocabulary_size", "max_positions", "mtp_layers"})
"""Facts that a launch may round up or leave out, and that therefore decide nothing."""

MOST_PADDING = 8192
"""Words that a launch adds to a vocabulary at most: Megatron-LM rounds up to a multiple of 128 times the
tensor parallelism, here of up to 64 ways (``megatron/training/tokenizer``, ``_vocab_size_with_padding``)."""

_MODELS = model_iri("").value
_FAMILIES = family_iri("").value
_PASSED = ((), (Part.FORMAT,), (Part.FORMAT, Part.PACKING), (Part.FORMAT, Part.PACKING, Part.RUN))
"""Words that make no other network, in the order in which they are left out until a name is known."""

_NEAR = 0.05
"""Difference up to which a size is that of a model whose own name states none: 671 and 685 are both said of
DeepSeek-V3, without and with its draft layer."""

_NEAR_ACTIVE = 0.2
"""The same for the active size, which names cut down as well: 3.6 is A3B of one and A4B of another."""

_LEAST_HEAD = 3
"""Letters from which the beginning of a word may name a family: ``gptoss`` and ``hunyuanlarge``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """A model that a name says.

    Attributes:
        id: Of the node.
        passed_over: Words of the name that nobody explained, before and after the model's own.
        base: The name says what was built on this model, as a distillation does.
        is_unique: The name states no size, and of its family and version this alone is known.
    """

    id: str
    passed_over: tuple[str, ...] = ()
    base: bool = False
    is_unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSearch:
    """Matches for a name in a graph.

    Attributes:
        matches: The models that it may mean: one where it is known, several where it fits more.
        sizes: Models of its family and version where it states a size that none of them has.
        family: Whether its first word is one of a family, so that there is such a network.
    """

    matches: tuple[FoundModel, ...] = ()
    sizes: tuple[str, ...] = ()
    family: bool = False


class ModelNames(Protocol):
    """Names of a graph by which models are found."""

    def model_ids(self, name: str) -> list[str]:
        """Ids of the models that have a name, however it is punctuated."""
        ...

    def keys(self) -> Iterable[tuple[str, NamedNode]]:
        """Every key of the graph with its node."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    """One name of a model of the graph."""

    id: str
    letters: str
    version: str
    name: ModelName


@dataclass(frozen=True, slots=True)
class _Fit:
    """The match of an entry with the words of a name: the fewer words are left over, the better."""

    entry: _Entry
    unknown: tuple[str, ...]
    missing: str
    has_size: bool


def find_model(store: GraphStore, text: str, names: ModelNames) -> ModelSearch:
    """Find the models that a name says.

    A key of the graph comes first, then the name without the words that make no other network (number format,
    role, date), then its family, version and size word by word, from the words in front on.

    Args:
        store: The graph.
        text: The name, in any spelling of :func:`kg.terms.model_name.read_name`.
        names: The names of the graph.
    """
    name = read_name(text)
    for spelling in (text, *_spellings(name)):
        if ids := _of_size(store, spelling, name, names.model_ids(spelling)):
            return ModelSearch(matches=tuple(FoundModel(id=one) for one in ids))
    if not name.units:
        return ModelSearch()
    entries = list(_entries(store, names.keys(), name))
    sizes: list[tuple[bool, bool, float, str]] = []
    unsized: dict[str, float] = {}
    fits: list[tuple[tuple[int, int, int, int], FoundModel]] = []
    core = [at for at, word in enumerate(name.words) if word.part is Part.CORE]
    for front, start in enumerate(core):
        part = name.after(start)
        before = tuple(name.words[at].text for at in core[:front])
        for fit in _fits(part, entries):
            agrees = _agrees(store, fit, part)
            if part.size is None and fit.entry.name.size and not (fit.unknown or fit.missing or front):
                unsized[fit.entry.id] = fit.entry.name.size
            if agrees is None:
                own = fit.entry.name.size
                sizes.append((bool(fit.missing), own is None, own or 0.0, fit.entry.id))
            elif agrees:
                is_base = bool(before) and any(map(str.isdigit, before[-1][-1:]))
                found = FoundModel(id=fit.entry.id, passed_over=(*before, *fit.unknown), base=is_base)
                roles = len(part.roles ^ fit.entry.name.roles)
                fits.append(((len(fit.unknown) + front, bool(fit.missing), -fit.has_size, roles), found))
    if fits:
        best = min(rank for rank, _ in fits)
        chosen = {found.id: found for rank, found in fits if rank == best}
        return ModelSearch(matches=tuple(chosen[one] for one in sorted(chosen)), family=True)
    if unsized:  # which of the family's sizes is open
        ordered = sorted(unsized, key=unsized.__getitem__)
        return ModelSearch(matches=tuple(FoundModel(id=one, is_unique=len(ordered) == 1) for one in ordered))
    alike = [item for item in sorted(sizes) if not item[0]] or sorted(sizes)
    return ModelSearch(sizes=tuple(dict.fromkeys(one for *_, one in alike)), family=bool(entries))


def _of_size(store: GraphStore, spelling: str, name: ModelName, ids: list[str]) -> list[str]:
    """The models of a key that have the size of the name: a key has no points, 1.3b and 13b are one."""
    if spelling in ids:
        return [spelling]
    if name.size is None or not ids:
        return ids
    names = {one: [read_name(label) for label in _labels(store, model_iri(one))] for one in ids}
    alike = [one for one, own in names.items() if name.size in {item.size for item in own}]
    digits = _size_digits(name)
    # 2_7b has its point as a word's end; 27b has none
    return alike or [one for one, own in names.items() if digits not in set(map(_size_digits, own))]


def _size_digits(name: ModelName) -> str:
    return next((word.text.replace(".", "") for word in name.words if word.part is Part.SIZE), "")


def _spellings(name: ModelName) -> Iterator[str]:
    """Yield a name without ever more words that make no other network; roles and dates from the end on."""
    spellings = [name.without(*passed) for passed in _PASSED]
    words = [word for word in name.words if word.part not in _PASSED[-1]]
    while words and words[-1].part in {Part.DATE, Part.ROLE}:
        words.pop()
        spellings.append("-".join(word.text for word in words))
    spellings.append(name.without(*_PASSED[-1], Part.DATE, Part.ROLE))
    yield from filter(None, dict.fromkeys(spellings))


def _fits(part: ModelName, entries: list[_Entry]) -> Iterator[_Fit]:
    """Yield the entries whose letters and version the words have, in order; other words are unknown."""
    for entry in entries:
        rest, version, unknown = entry.letters, "", list[str]()
        is_known = True
        for at, (letters, digits) in enumerate(part.units):
            if letters and rest.startswith(letters):
                rest, is_known = rest[len(letters) :], True
            elif letters:
                is_known = False
                if not at:
                    break
                unknown.append(letters + digits)
                continue
            if is_known:
                version += digits
            elif digits:
                unknown.append(digits)
        else:
            if version == entry.version and (not rest or rest in VARIANTS):
                has_size = entry.name.size is not None and entry.name.size == part.size
                yield _Fit(entry, tuple(unknown), rest, has_size)


def _agrees(store: GraphStore, fit: _Fit, part: ModelName) -> bool | None:
    """True if the sizes of a name are the model's; None if its family and version have others.

    Where a size is told and agrees, words that nobody explained are passed over: family, version and size
    are the same. Without a size, a word that stands for another network is not.
    """
    own = fit.entry.name
    if part.experts is not None and own.experts is not None and part.experts != own.experts:
        return None
    agrees = None if part.size is None else part.size == own.size
    if own.size is None:
        agrees = _is_near(part.size, _number(store, fit.entry.id, "parameters"), _NEAR)
    counted = own.active or _number(store, fit.entry.id, "active_parameters")
    active = _is_near(part.active, counted, _NEAR_ACTIVE)
    if agrees is False or active is False:
        return None
    if agrees is None and part.size is not None:
        return False  # nobody knows whether it is that size
    is_told = bool(agrees or (part.size is None and active))
    if not is_told and part.size is None and own.size is not None:
        return False
    return is_told or not (fit.missing or set(fit.unknown) & VARIANTS)


def _is_near(told: float | None, counted: float | None, near: float) -> bool | None:
    """True if a size is nearly the count; None if one of them is not known."""
    return None if told is None or counted is None else abs(told / counted - 1) <= near


def _entries(store: GraphStore, keys: Iterable[tuple[str, NamedNode]], name: ModelName) -> Iterator[_Entry]:
    """Yield the names of the models whose family one of the words may be."""
    heads = {letters for letters, _ in name.units if letters}
    starts = tuple(head[:_LEAST_HEAD] for head in heads if len(head) >= _LEAST_HEAD) + tuple(
        head for head in heads if len(head) < _LEAST_HEAD
    )
    members: dict[NamedNode, str] = {}
    for key, node in keys:
        if not key.startswith(starts):
            continue
        if node.value.startswith(_MODELS):
            members.setdefault(node, "")
        elif node.value.startswith(_FAMILIES) and key in heads:
            members |= dict.fromkeys(nodes.subjects(store, TG.FAMILY, node), key)
    for node, family in members.items():
        if not node.value.startswith(_MODELS):
            continue
        for label in _labels(store, node):
            yield from _of_label(name_of(node), label, family)


def _labels(store: GraphStore, node: NamedNode) -> Iterator[str]:
    for predicate in (Shared.PREF_LABEL, Shared.ALT_LABEL):
        yield from (label.value for label in nodes.literals(store, node, predicate))


def _of_label(identifier: str, label: str, family: str) -> Iterator[_Entry]:
    """Yield the ways in which a name of a model may be written: ``DeepSeek-V3`` is ``deepseek3``, too."""
    own = read_name(label)
    units = own.units
    if not units or not units[0][0]:
        return
    version = "".join(digits for _, digits in units)
    spellings = {"".join(letters for letters, _ in units)}
    without = [
        letters for at, (letters, digits) in enumerate(units) if not (at and digits and letters in {"v", "m"})
    ]
    spellings.add("".join(without))
    if family and version and units[0][0] != family:
        spellings.add("".join((family, *without[1:])))  # Hy3 is Hunyuan 3
    for letters in spellings:
        yield _Entry(identifier, letters, version, own)


def _number(store: GraphStore, identifier: str, fact: str) -> float | None:
    value = _fact(store, model_iri(identifier), fact)
    return float(value) if isinstance(value, int | float) else None


def models_of_size(store: GraphStore, sizes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the ids of the models whose facts agree with all given sizes.

    Those of text alone come before those that see or hear, whose language part has the sizes of another; then
    those that state most of the sizes, those of the length that is given, and the plainest names.

    Args:
        store: The graph.
        sizes: Facts by name, such as ``hidden_size``; other names are passed over.

    Returns:
        Empty where one of :data:`DECISIVE` is not given, or no model agrees.
    """
    if any(not isinstance(sizes.get(name), int) for name in DECISIVE):
        return ()
    given = [name for name, value in sizes.items() if isinstance(value, int) and name not in PADDED]
    models: dict[str, tuple[bool, int, bool]] = {}
    for node in nodes.subjects(store, iri_of("property", DECISIVE[0]), Literal(int(str(sizes[DECISIVE[0]])))):
        if not node.value.startswith(_MODELS):
            continue
        facts = {name: _fact(store, node, name) for name in given}
        if "experts" not in given and _fact(store, node, "experts") is not None:
            continue  # what has experts says so
        if all(facts.get(name) == sizes[name] for name in DECISIVE) and all(
            value is None or value == sizes[name] for name, value in facts.items()
        ):
            words, told = _fact(store, node, "vocabulary_size"), sizes.get("vocabulary_size")
            is_other = (
                isinstance(words, int) and isinstance(told, int) and not 0 <= told - words < MOST_PADDING
            )
            if not is_other:
                kinds = (value_of(one) for one in nodes.literals(store, node, TG.ARCHITECTURE))
                unstated = sum(value is None for value in facts.values())
                is_longer = _fact(store, node, "max_positions") != sizes.get("max_positions")
                models[name_of(node)] = ("multimodal" in kinds, unstated, is_longer)
    return tuple(sorted(models, key=lambda name: (*models[name], name.count("-"), name)))


def _fact(store: GraphStore, node: NamedNode, name: str) -> object:
    return next(map(value_of, nodes.literals(store, node, iri_of("property", name))), None)
