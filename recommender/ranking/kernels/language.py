"""The languages that kernels are written in, and which of them a question means."""

from collections.abc import Collection
from enum import StrEnum

from kg.errors import InputError
from kg.nouns.values import Value
from recommender.cost_model.facts.device import Device
from recommender.space.made.kernels import KernelKind
from recommender.space.made.needs import is_amd, is_nvidia


class Language(StrEnum):
    """A language that kernels are written in."""

    TRITON = "triton"
    ASCEND_C = "ascend-c"
    CUDA = "cuda"
    OPENCL = "opencl"


_FORMS = {
    Language.TRITON: ("triton",),
    Language.ASCEND_C: ("ascendc",),
    Language.CUDA: ("cuda", "opencl"),
    Language.OPENCL: ("opencl", "cuda"),
}
"""The forms of a space that belong to a language, the first that a kernel has counts: the kernels that tuners
are compared on exist in CUDA and in OpenCL, with the same parameters."""

_OF_SOFTWARE = {
    "triton-ascend": Language.TRITON,
    "triton": Language.TRITON,
    "vllm": Language.TRITON,
    "sglang": Language.TRITON,
    "lightllm": Language.TRITON,
    "cann": Language.ASCEND_C,
    "cuda": Language.CUDA,
    "opencl": Language.OPENCL,
    "clblast": Language.OPENCL,
}
"""The language of what a software tunes; the first of these that is named counts."""

_SPELLED = {"ascendc": Language.ASCEND_C, "ascend_c": Language.ASCEND_C, "cuda-c": Language.CUDA}


def form_of(language: Language, kernel: KernelKind) -> str:
    """The form of a kernel's space in a language; empty if it has none."""
    return next((form for form in _FORMS[language] if form in kernel.forms), "")


def choose_language(
    kernel: KernelKind, operator: str, device: Device, stated: Value, software: Collection[str]
) -> tuple[Language, str]:
    """The language of a question, and a note where it was assumed.

    Args:
        kernel: What is asked about.
        operator: Its name in the question.
        device: Where it runs.
        stated: The trait ``language``; None without one.
        software: Names of the software in the question.

    Raises:
        InputError: A language that is not known, that the device does not run, or that has no space here.
    """
    possible = [item for item in Language if form_of(item, kernel) and _runs(item, device)]
    names = ", ".join(possible)
    if stated is not None:
        language = _named(str(stated))
        if language is None:
            raise InputError(f"language: no language {stated!r} is known", hint=f"of {operator}: {names}")
        if language not in possible:
            raise InputError(
                f"language: no space of {operator} in {language} on {device.id} can be made",
                hint=f"there: {names}" if names else "declare one, and search it: docs/search-spaces.md",
            )
        return language, ""
    for name, language in _OF_SOFTWARE.items():
        if name in software and language in possible:
            return language, f"language: {language}, because of {name}"
    if not possible:
        raise InputError(
            f"no way to write {operator} for {device.id} is known",
            hint="declare its parameters, and search them: docs/search-spaces.md",
        )
    usual = Language.ASCEND_C if device.ascend else Language.TRITON
    if not (device.ascend or is_nvidia(device) or is_amd(device)):
        usual = Language.OPENCL
    language = usual if usual in possible else possible[0]
    return language, f"language: taken as {language}, the usual one; --trait language= says another"


def _named(text: str) -> Language | None:
    name = text.strip().lower()
    return next((item for item in Language if item == name), _SPELLED.get(name))


def _runs(language: Language, device: Device) -> bool:
    if device.ascend:
        return language in {Language.TRITON, Language.ASCEND_C}
    if language is Language.ASCEND_C:
        return False
    return language is not Language.CUDA or is_nvidia(device)
