"""Defaults after resolution: the value that a program computes for a setting left open, by the device.

The registry holds *cases* by release (``resolved``), the first that holds wins: terms of a device
(``platform == npu``, ``memory >= 70`` in GiB, ``device has h100``), ``plain decoder`` for a model that writes
text by attention alone, ``text writer`` for every one without an encoder that reads it first, of other
settings, taken as nobody tells them, and ``?`` for what no reader of the sources can judge. A value counts
as the default only where every case that may hold gives it.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from kg.errors import UnknownEntityError
from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import OF_MODEL, PLAIN, ResolvedCase, same_value
from kg.nouns.values import Value
from kg.terms.setting_conflicts import holds
from kg.terms.setting_registry import registry

_GIB = 2**30
_REPORTED = 0.95
"""Part of its stated memory that a device reports at least: 60.9 of 64 GiB an Ascend 910B, 79.1 of 80 an
H100, as their runtimes say it when memory runs out."""
_MEMORY = re.compile(r"memory (<=|>=|<|>) (\S+)")
_PLATFORMS = {
    "intel-xeon": ("cpu",), "intel-core": ("cpu",), "intel-gaudi": ("hpu",), "intel": ("xpu",),
    "amd": ("rocm",), "nvidia": ("cuda",), "huawei": ("npu", "ascend"), "google": ("tpu",),
    "aws": ("neuron",), "cambricon": ("camb",), "metax": ("maca",), "moore-threads": ("musa",),
}  # fmt: skip
"""Names of the engines for the devices below a name of the hardware; the first name counts."""


def is_default(answer: LookUp, value: Value, facts: Mapping[str, object]) -> bool:
    """True if a value is the default of the release, as stated or as the program resolves it.

    Args:
        answer: The setting in the release.
        value: As told.
        facts: Of the question; ``hardware`` and ``memory_bytes`` are those of the device.
    """
    usual = answer.is_default(value)
    if answer.setting is None or answer.standing is not Standing.TAKEN or answer.negated:
        return usual
    cases = list(possible(answer, facts))
    kind = answer.setting.type
    fits = bool(cases) and all(
        not case.computed and case.bound != "least" and same_value(value, case.value, kind) for case in cases
    )
    asks_model = any(term in case.when for case in cases for term in OF_MODEL) and bool(
        facts.get("attention")
    )
    return fits if asks_model else fits or usual


def possible(answer: LookUp, facts: Mapping[str, object]) -> Iterator[ResolvedCase]:
    """The cases of a setting that may hold for a device, up to the first that does."""
    for case in answer.setting.resolved_in(answer.release) if answer.setting is not None else ():
        truths = [_truth(term, answer, facts) for term in case.when.split(" and ") if term]
        if False not in truths:
            yield case
            if None not in truths:
                return


def _truth(term: str, answer: LookUp, facts: Mapping[str, object]) -> bool | None:
    """Truth of a term; None if unknown."""
    if term == "?":
        return None
    hardware = facts.get("hardware")
    names = {str(name) for name in hardware} if isinstance(hardware, AbstractSet) else set()
    if term in OF_MODEL:
        return _is_plain(facts) or (term != PLAIN and _is_writer(facts)) or None
    if term.startswith("platform == "):
        platform = next((own for name, own in _PLATFORMS.items() if name in names), None)
        return None if platform is None else term.rpartition(" ")[2] in platform
    if match := _MEMORY.fullmatch(term):
        memory = facts.get("memory_bytes")
        if not isinstance(memory, int | float):
            return None
        reported = (memory / _GIB * _REPORTED, memory / _GIB)
        ways = {(own < float(match[2])) == match[1].startswith("<") for own in reported}
        return ways.pop() if len(ways) == 1 else None
    if term.startswith("device "):
        return None if not names else any(term.rpartition(" ")[2] in name for name in names)
    return _of_settings(term, answer)


def _is_writer(facts: Mapping[str, object]) -> bool:
    """True if the model is known to write text without an encoder that reads it first."""
    kinds = facts.get("model")
    is_decoder = isinstance(kinds, AbstractSet) and bool(kinds & {"decoder", "moe-decoder", "multimodal"})
    return is_decoder and facts.get("pooling") is False and facts.get("attention") != frozenset({"linear"})


def _is_plain(facts: Mapping[str, object]) -> bool:
    """True if the model is known to write text by attention alone."""
    kinds, attention = facts.get("model"), facts.get("attention")
    return (
        isinstance(kinds, AbstractSet)
        and isinstance(attention, AbstractSet)
        and bool(kinds & {"decoder", "moe-decoder"})
        and bool(attention)
        and not attention & {"linear", "none"}
    )


def _of_settings(term: str, answer: LookUp) -> bool | None:
    """Truth of a term about another setting that is unset; None if unknown."""
    if answer.setting is None:
        return None
    key = term.removeprefix("not ").partition(" ")[0]
    try:
        release = registry(answer.setting.software).at(answer.release)
        other = release.look_up(key, suggest=False)
    except UnknownEntityError:
        return None
    default = other.setting.default_in(answer.release) if other.setting is not None else None
    if default is None or default.computed:
        return None
    return holds(term, {} if default.value is None else {key: default.value}, release)
