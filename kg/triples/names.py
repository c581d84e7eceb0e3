"""Names as people write them, and the nodes they mean.

A node is found directly by its key, what ``normalise`` leaves of its id, labels and aliases; nothing is
loaded for it. Only to say what a misspelt name may have meant are all keys read.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from kg.errors import AmbiguousEntityError, UnknownEntityError, UnsizedModelError
from kg.nouns.knowledge import Level
from kg.nouns.values import digest
from kg.terms.model_name import VARIANTS, read_name
from kg.triples import nodes
from kg.triples.iris import framework_iri, hardware_iri, model_iri, name_of
from kg.triples.vocabulary import NAMESPACE, RDF_TYPE, TG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.terms.model_name import ModelName
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareNode, HardwareTree
    from kg.triples.model_finder import ModelSearch

_SIGNS = re.compile(r"[®™©]")
_MARKS = re.compile(r"\((?:r|tm|c)\)")
_NOT_WORD = re.compile(r"[\W_]+")

_MEMORY = re.compile(r"^(\d{2,3})(?:g|gib)?$")
"""The memory of a device as a word of its name: ``"80g"``, ``"141"``."""
_MOST_WORDS = 4
"""Words of a name that are looked for in another order."""
_NEAREST = 5
_MOST_SIZES = 12
_OWN_MODEL = "its config.json tells its sizes: --config-json FILE; so does a launch script that states them"
"""Hint for a model that the graph does not have."""
_OWN_HARDWARE = "tunegraph kb add hardware FILE adds its facts"
_LIKE_IN_CHINESE = 0.45
"""Similarity from which on a Chinese name is offered for another: two letters of four or five say much."""


def normalise(text: str) -> str:
    """Return the key of a name: its letters and digits in lower case, without trademark signs.

    ``"NVIDIA(R) H100-SXM"``, ``"nvidia h100 sxm"`` and full-width spellings give one key.
    """
    return _NOT_WORD.sub("", _plain(text))


def slug(text: str) -> str:
    """Make an id for a name that no node has: ``"RTX 2080 Ti"`` gives ``"rtx-2080-ti"``."""
    return _NOT_WORD.sub("-", _plain(text)).strip("-")


def _first_word(name: str) -> str:
    """The letters that a name begins with."""
    found = re.match("[a-z]*", slug(name))
    return found[0] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """The node that a name stands for.

    Attributes:
        id: Of the node.
        note: What the answer must say about it; empty if the name is plain.
    """

    id: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel(ResolvedName):
    """The model that a name stands for.

    Attributes:
        weights: Number format in which the name says that the weights are stored; empty if it says none.
        exact: Every word of the name is explained, and it leaves no size open.
        passed_over: Words of the name that nobody explained: it may be another network of that size.
    """

    weights: str = ""
    exact: bool = True
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """One class of nodes: what it is called, where its IRIs are, and its class if others share the path."""

    name: str
    path: str
    term: NamedNode | None = None
    add: bool = False

    @property
    def prefix(self) -> str:
        return f"{NAMESPACE}{self.path}/"


_HARDWARE = _Kind(name="hardware", path="hardware", add=True)
_MODEL = _Kind(name="model", path="model", add=True)
_BOTTLENECK = _Kind(name="bottleneck", path="pattern", term=TG.BOTTLENECK)
_FRAMEWORK = _Kind(name="framework", path="framework")


def _ask_for_device(about: str, choices: Sequence[str]) -> AmbiguousEntityError:
    """The error of hardware that stands for several devices; its hint is what to write instead."""
    first, *others = choices
    also = f" (or {', '.join(others)})" if others else ""
    return AmbiguousEntityError(about, choices=choices, hint=f"name one: --hardware {first}{also}")


class Names:
    """The names of one graph.

    Args:
        store: The graph; it stays open as long as names are resolved.
        tree: Its hardware tree, if there is one already.

    Raises:
        UnknownEntityError: In every strict method: nothing has the name; the hint has the nearest ones.
        AmbiguousEntityError: In every strict method: several have it, or it must be said more exactly.

    Example:
        >>> from kg.nouns.knowledge import HardwareProfile
        >>> from kg.triples.graph import GraphStore
        >>> from kg.triples.serialisation import to_triples
        >>> store = GraphStore()
        >>> device = HardwareProfile(id="ascend-910b1", labels={"en": "Ascend 910B1"}, level=Level.DEVICE)
        >>> store.extend(to_triples(device))
        >>> Names(store).hardware("Ascend(R) 910-B1").id
        'ascend-910b1'
    """

    def __init__(self, store: GraphStore, tree: HardwareTree | None = None) -> None:
        self._store = store
        self._known_tree = tree
        self._vendor_keys: list[str] | None = None
        self._all_keys: list[tuple[str, NamedNode]] = []
        self._in_files: dict[str, tuple[str, bool]] = {}

    def hardware(self, text: str, count: int | None = None) -> ResolvedName:
        """Resolve the name of hardware in a question.

        A family whose devices differ too much, and a server that holds one, raise ``AmbiguousEntityError``;
        a family that stands for a device is taken for it, and the note says so. So is one of which
        ``count`` devices fill servers, where all such servers hold the same device.
        """
        if not self._find_hardware(text) and any(
            self._store.triples(None, TG.HARDWARE, hardware_iri(slug(text)))
        ):
            note = f"of {slug(text)} only measured cases are known: {_OWN_HARDWARE}"
            return ResolvedName(id=slug(text), note=note)
        node = self._hardware_node(text)
        if node.ambiguous and count is not None and len(filled := self._in_servers(node, count)) == 1:
            ((only, server),) = filled.items()
            note = f"{count} of {node.label} are taken as {self._label(only)}, which {server} holds"
            return ResolvedName(id=only, note=note)
        held = self._tree.node(node.device) if node.device else None
        if held is not None and held.ambiguous:
            about = f"{text!r} holds {held.label}, which is several devices that differ"
            raise _ask_for_device(about, self._tree.devices(held.id))
        if node.ambiguous:
            raise _ask_for_device(f"{text!r} fits several devices that differ", self._tree.devices(node.id))
        if node.assumed:
            return ResolvedName(id=node.assumed, note=f"{node.label} is taken as {self._label(node.assumed)}")
        return ResolvedName(id=node.id)

    def _in_servers(self, family: HardwareNode, count: int) -> dict[str, str]:
        """The devices of a family in servers that so many of them fill, and the name of such a server."""
        own = self._tree.devices(family.id)
        servers = {name for device in own for name in self._tree.servers(device)}
        found: dict[str, str] = {}
        for name in sorted(servers):
            server = self._tree.node(name)
            if server is not None and server.device_count and count % server.device_count == 0:
                found |= {one: server.label for one in self._tree.devices(name) if one in own}
        return found

    def _label(self, hardware_id: str) -> str:
        node = self._tree.node(hardware_id)
        return node.label if node is not None else hardware_id

    def server(self, text: str) -> ResolvedName:
        """Resolve the name of what devices sit in, whatever it holds."""
        return ResolvedName(id=self._hardware_node(text).id)

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        """Resolve hardware as a file names it: a family stays a family, an unknown name gets a slug.

        Returns:
            The id, and whether the tree has it.
        """
        if text not in self._in_files:
            ids = self._find_hardware(text)
            otherwise = slug(text) or f"unnamed-{digest(text)[:8]}"
            self._in_files[text] = (ids[0], True) if len(ids) == 1 else (otherwise, False)
        return self._in_files[text]

    def model(self, text: str) -> ResolvedModel:
        """Resolve the name of a model, as hubs, scripts and people write it (:mod:`kg.terms.model_name`).

        Raises:
            UnsizedModelError: It is one of a family, or published, and nothing is known of its sizes.
        """
        from kg.triples.model_finder import find_model

        search = find_model(self._store, text, self)
        for spelling in () if search.matches else self._in_latin(text):
            search = find_model(self._store, spelling, self)
            if search.matches:
                break
        name = read_name(text)
        if not search.matches and (measured := self._measured_model(text)):
            note = f"of {measured} only measured cases are known: {_OWN_MODEL}"
            return ResolvedModel(id=measured, note=note)
        if not search.matches:
            raise self._missing_model(text, name, search)
        found = search.matches[0]
        self._one(_MODEL, text, [one.id for one in search.matches])
        note = ""
        if found.base:
            note = f"{text} is taken as {found.id}, on which it is built"
        elif found.is_unique:
            note = f"{text} is taken as {found.id}: no other size of it is known"
        elif found.passed_over:
            note = f"{text} is taken as {found.id}: not known is {', '.join(found.passed_over)}"
        return ResolvedModel(
            id=found.id, note=note, weights=name.weights, exact=not note, passed_over=found.passed_over
        )

    def _measured_model(self, text: str) -> str:
        """The id of a model that nothing describes and cases were measured of; empty if there is none."""
        ids = dict.fromkeys((text.strip(), slug(text)))
        return next((one for one in ids if any(self._store.triples(None, TG.OF_MODEL, model_iri(one)))), "")

    def _missing_model(self, text: str, name: ModelName, search: ModelSearch) -> UnknownEntityError:
        """The error of a name that no model has: a size that its family lacks, a network without facts."""
        if search.sizes:
            has = ", ".join(search.sizes[:_MOST_SIZES])
            return UnknownEntityError(
                f"the family of {text!r} has no model of that size", hint=f"it has {has}; {_OWN_MODEL}"
            )
        unknown = self._unknown(_MODEL, text)
        is_near = "did you mean" in unknown.hint
        is_network = bool(name.organisation or {word for word, digits in name.units if not digits} & VARIANTS)
        if is_network and (search.family or not is_near):
            return UnsizedModelError(f"the sizes of {text!r} are not known", hint=_OWN_MODEL)
        return unknown

    def model_ids(self, name: str) -> list[str]:
        """Return the ids of the models that have exactly this name, however it is punctuated."""
        return self._find(_MODEL, normalise(name))

    def models_of_size(self, sizes: Mapping[str, object]) -> tuple[str, ...]:
        """Return the ids of the models whose facts agree with all given sizes."""
        from kg.triples.model_finder import models_of_size

        return models_of_size(self._store, sizes)

    def keys(self) -> list[tuple[str, NamedNode]]:
        """Return every key of the graph with its node, read once."""
        if not self._all_keys:
            self._all_keys = [
                (one.object.value, one.subject)
                for one in self._store.triples(None, TG.KEY)
                if isinstance(one.subject, NamedNode) and isinstance(one.object, Literal)
            ]
        return self._all_keys

    def bottleneck(self, text: str) -> ResolvedName:
        """Resolve the name of a bottleneck."""
        return self._plain_name(_BOTTLENECK, text)

    def phases_of(self, program: str) -> tuple[str, ...]:
        """Return the scopes of phases that a program serves; empty where it is not known."""
        found = self._find(_FRAMEWORK, normalise(program))
        phases = (nodes.literals(self._store, framework_iri(one), TG.PHASE) for one in found)
        return tuple(phase.value for of_one in phases for phase in of_one)

    def _hardware_node(self, text: str) -> HardwareNode:
        node = self._tree.node(self._one(_HARDWARE, text, self._find_hardware(text)))
        if node is None:
            raise self._unknown(_HARDWARE, text)
        return node

    def _plain_name(self, kind: _Kind, text: str) -> ResolvedName:
        return ResolvedName(id=self._one(kind, text, self._find(kind, normalise(text))))

    @property
    def _tree(self) -> HardwareTree:
        if self._known_tree is None:
            from kg.triples.hardware_tree import HardwareTree

            self._known_tree = HardwareTree(self._store)
        return self._known_tree

    def _find(self, kind: _Kind, key: str) -> list[str]:
        """Return ids of the nodes of a kind with a key, sorted; if one has it as its id, only that one."""
        named = {
            node
            for node in nodes.subjects(self._store, TG.KEY, Literal(key))
            if node.value.startswith(kind.prefix)
            and (kind.term is None or any(self._store.triples(node, RDF_TYPE, kind.term)))
        }
        ids = sorted(map(name_of, named))
        exact = [name for name in ids if normalise(name) == key]
        return exact if len(exact) == 1 else ids

    def _find_hardware(self, text: str) -> list[str]:
        key = normalise(text)
        ids = self._find(_HARDWARE, key)
        for vendor in () if ids else self._vendors():
            if key.startswith(vendor) and (ids := self._find(_HARDWARE, key.removeprefix(vendor))):
                break
        words = [_MEMORY.sub(r"\1gb", word) for word in slug(text).split("-")]
        if not ids and 1 < len(words) <= _MOST_WORDS:
            keys = {"".join(order) for order in permutations(words)}
            ids = sorted({name for one in keys for name in self._find(_HARDWARE, one)})
        return ids

    def _in_latin(self, text: str) -> Iterator[str]:
        """Yield a model's name with each Chinese name of a family replaced by the family's id."""
        for node in () if text.isascii() else self._families():
            for key in nodes.literals(self._store, node, TG.KEY):
                if not key.value.isascii() and key.value in normalise(text):
                    yield normalise(text).replace(key.value, name_of(node))

    def _families(self) -> Iterator[NamedNode]:
        return nodes.subjects(self._store, RDF_TYPE, TG.MODEL_FAMILY)

    def _vendors(self) -> list[str]:
        if self._vendor_keys is None:
            vendors = list(nodes.subjects(self._store, TG.LEVEL, Literal(Level.VENDOR.value)))
            keys = [key.value for node in vendors for key in nodes.literals(self._store, node, TG.KEY)]
            self._vendor_keys = sorted(keys, key=len, reverse=True)
        return self._vendor_keys

    def _one(self, kind: _Kind, text: str, ids: list[str]) -> str:
        if not ids:
            raise self._unknown(kind, text)
        if len(ids) > 1:
            raise AmbiguousEntityError(f"{text!r} is the name of more than one {kind.name}", choices=ids)
        return ids[0]

    def _unknown(self, kind: _Kind, text: str) -> UnknownEntityError:
        from difflib import get_close_matches

        ids_by_key: dict[str, list[str]] = {}
        for key, name in self._keys(kind):
            ids_by_key.setdefault(key, []).append(name)
        text_alone = read_name(text).short if kind is _MODEL else text
        spellings = [normalise(text_alone), *(self._in_latin(text) if kind is _MODEL else ())]
        near = [
            key
            for wanted in spellings
            for key in get_close_matches(
                wanted, sorted(ids_by_key), n=_NEAREST, cutoff=0.6 if wanted.isascii() else _LIKE_IN_CHINESE
            )
            if wanted
        ]
        ids = list(dict.fromkeys(name for key in near for name in ids_by_key[key]))[:_NEAREST]
        if kind is _MODEL and text.isascii():  # "large-v3" alone makes no two models alike
            ids = [name for name in ids if get_close_matches(_first_word(text_alone), [_first_word(name)])]
        hints = [f"did you mean {', '.join(ids)}?"] if ids else []
        if kind.add:
            hints.append(f"add your own with: tunegraph kb add {kind.name} FILE")
            hints += [_OWN_MODEL] if kind is _MODEL else []
        return UnknownEntityError(f"no {kind.name} named {text!r}", hint="; or ".join(hints))

    def _keys(self, kind: _Kind) -> Iterator[tuple[str, str]]:
        """Yield every key of the nodes of a kind, with the id."""
        among = None if kind.term is None else set(nodes.subjects(self._store, RDF_TYPE, kind.term))
        for key, node in self.keys():
            if node.value.startswith(kind.prefix) and (among is None or node in among):
                yield key, name_of(node)


def _plain(text: str) -> str:
    return _MARKS.sub(" ", unicodedata.normalize("NFKC", _SIGNS.sub(" ", text)).lower())
