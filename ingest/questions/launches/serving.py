"""Servers of language models: ``vllm serve`` (and its older entry points) and ``sglang.launch_server``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.shell import UNKNOWN, readable
from kg.terms.dialects import layout_of
from kg.terms.meanings import degree_of, table
from kg.terms.model_name import read_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.options import LaunchOptions

NOT_TUNED = frozenset(table("left_out")["server"])
"""Options of addresses, users and logs of a server, which do not affect speed."""

_NO_FORMAT = frozenset({"auto", "half", "float"})


def read_vllm(given: LaunchOptions, environment: Mapping[str, object]) -> LaunchFacts:
    """The facts of ``vllm serve`` or ``python -m vllm.entrypoints...``; devices by its defaults."""
    positional = next((word for word in given.others if not word.startswith("-")), None)
    return _told("vllm", given, environment, given.text("model") or positional)


def read_sglang(given: LaunchOptions, environment: Mapping[str, object]) -> LaunchFacts:
    """The facts of ``sglang.launch_server``."""
    return _told("sglang", given, environment, given.text("model_path", "model"))


def _told(
    engine: str, given: LaunchOptions, environment: Mapping[str, object], model: str | None
) -> LaunchFacts:
    question: dict[str, object] = {"phase": "serving", "software": {engine: ""}}
    notes = given.unreadable(NOT_TUNED - {"model", "model_path"})
    if not any(degree_of(name) for name in given.unknown):
        question["count"] = layout_of(given.values, engine).devices
    if model and UNKNOWN in model:
        notes.append(f"could not be read: the model is {readable(model)}")
    elif model:
        question["model"] = model
    dtype, is_quantised = given.text("dtype"), "quantization" in given.values
    if dtype and dtype not in _NO_FORMAT and not (is_quantised or read_name(model or "").weights):
        question["precision"] = dtype  # of quantised weights it is what they are widened to
    settings = {name: value for name, value in given.values.items() if name not in NOT_TUNED}
    question["current"] = {**environment, **settings}
    if places := {name: path for name, path in given.places.items() if name in settings}:
        question["places"] = places
    if "config" in given.values:
        notes.append(f"not read: the settings in {given.values['config']}")
    return LaunchFacts(question=question, notes=tuple(notes))
