"""Recommended configurations written in the formats of other programs, best first."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import yaml

from ingest.formats.kernels.kernel_tuner_t4 import SCHEMA_VERSION
from ingest.formats.kernels.triton_tables import file_name, size_of, table_text, triton_configs
from kg.errors import InputError
from kg.nouns.entities import Configuration, Problem
from kg.nouns.values import show


def queue(configurations: Sequence[Configuration]) -> str:
    """Configurations as JSON, for ``study.enqueue_trial`` one by one, best first.

    Raises:
        InputError: A parameter that is a list.
    """
    for configuration in configurations:
        for name, value in configuration.items():
            if isinstance(value, tuple):
                raise InputError(f"Optuna has no parameters that are lists, such as {name}")
    return json.dumps([item.to_json() for item in configurations], indent=2, ensure_ascii=False) + "\n"


def restriction(configurations: Sequence[Configuration]) -> str:
    """A restriction that lets these configurations pass.

    A parameter that a configuration does not set is left free in it.

    Raises:
        InputError: A name is no Python name: Kernel Tuner reads restrictions as expressions of names.
    """
    lines = []
    for configuration in configurations:
        for name in configuration:
            if not name.isidentifier():
                raise InputError(
                    f"{name!r} is no name in a restriction", hint="--format kernel-tuner, yaml or json"
                )
        settings = configuration.to_json()
        terms = " and ".join(f"{name} == {value!r}" for name, value in settings.items())
        lines.append(f"({terms})")
    alternatives = " or ".join(lines)
    return f"restrictions = [{alternatives!r}]\n"


def t4_of_choices(configurations: Sequence[Configuration]) -> str:
    """Configurations to try, best first, as T4 without a single measurement."""
    results = [
        {
            "configuration": item.to_json(),
            "invalidity": "correct",
            "correctness": 0,
            "objectives": [],
            "times": {},
            "measurements": [],
        }
        for item in configurations
    ]
    note = "recommended, best first; nothing here was measured, no result was checked"
    metadata = {"timeunit": "ms", "note": note}
    document = {"schema_version": SCHEMA_VERSION, "metadata": metadata, "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """An answer written in the format of another program.

    Attributes:
        text: The answer.
        notes: Facts that the format has no place for, and where to save the file.
    """

    text: str
    notes: tuple[str, ...] = ()


def write_answer(
    name: str,
    problem: Problem,
    choices: Sequence[tuple[Configuration, Sequence[str]]],
    *,
    remarks: Sequence[str] = (),
) -> WrittenAnswer:
    """Write an answer in a format.

    Args:
        name: One of ``ANSWERS``.
        problem: The question.
        choices: The answer, best first: each configuration, empty for advice that sets none, and its flags.
        remarks: Remarks, each a line: comments where the format has such, else notes.

    Raises:
        InputError: The form is unknown, or cannot hold the answer.
    """
    if name == "flags":
        return WrittenAnswer(
            text="".join(" ".join(flags) + "\n" for _, flags in choices), notes=tuple(remarks)
        )
    if name not in _FORMS:
        raise InputError(f"no format {name!r} for an answer", hint=f"one of: {', '.join(ANSWERS)}")
    set_ = [configuration for configuration, _ in choices if configuration]
    if not set_:
        raise InputError(
            f"{name} cannot hold this answer: it sets no parameter", hint="--format flags or json"
        )
    left = len(choices) - len(set_)
    notes = (f"{left} recommendations set no parameter and are left out",) if left else ()
    written = _FORMS[name](problem, set_)
    if name not in _COMMENTED:
        return WrittenAnswer(text=written.text, notes=(*notes, *written.notes, *remarks))
    comments = "".join(f"# {' '.join(line.split())}\n" for line in remarks)
    return WrittenAnswer(text=comments + written.text, notes=(*notes, *written.notes))


def _environment(_: Problem, configurations: Sequence[Configuration]) -> WrittenAnswer:
    for configuration in configurations:
        for name in configuration:
            if not (name.isascii() and name.isidentifier()):
                raise InputError(
                    f"{name!r} is no name of an environment variable", hint="--format yaml or json"
                )
    lines = (
        " ".join(f"{name}={shlex.quote(show(value))}" for name, value in item.items())
        for item in configurations
    )
    return WrittenAnswer(text="".join(f"{line}\n" for line in lines))


def _yaml(_: Problem, configurations: Sequence[Configuration]) -> WrittenAnswer:
    content = [item.to_json() for item in configurations]
    return WrittenAnswer(text=yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _table(*, sglang: bool) -> Callable[[Problem, Sequence[Configuration]], WrittenAnswer]:
    def written(problem: Problem, configurations: Sequence[Configuration]) -> WrittenAnswer:
        name = file_name(problem, sglang=sglang)
        notes = [f"save it as {name}"]
        if len(configurations) > 1:
            notes.append("a table holds one configuration a size: this is the first")
        return WrittenAnswer(text=table_text({size_of(problem): configurations[0]}), notes=tuple(notes))

    return written


_FORMS: dict[str, Callable[[Problem, Sequence[Configuration]], WrittenAnswer]] = {
    "env": _environment,
    "yaml": _yaml,
    "vllm": _table(sglang=False),
    "sglang": _table(sglang=True),
    "triton": lambda _, configurations: WrittenAnswer(text=triton_configs(configurations)),
    "kernel-tuner": lambda _, configurations: WrittenAnswer(text=t4_of_choices(configurations)),
    "kernel-tuner-restriction": lambda _, configurations: WrittenAnswer(text=restriction(configurations)),
    "optuna": lambda _, configurations: WrittenAnswer(text=queue(configurations)),
}
_COMMENTED = frozenset({"yaml", "triton", "kernel-tuner-restriction"})
"""Forms with comments; a line of flags or variables is one configuration."""
ANSWERS = ("flags", *_FORMS, "json")
"""Names of all forms; ``json`` is the whole answer and written where that is made."""
