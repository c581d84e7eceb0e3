"""Settings of a server against a lack: where to move each from its current value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import yaml

import data
from kg.nouns.codec import JsonNoun, in_json
from kg.terms.setting_registry import registry

_TABLE = "settings/pressures.yaml"
_GIVEN = re.compile(r"['\"]?(\w+)['\"]?\s*[=:]\s*('[^']*'|\"[^\"]*\"|-?[\w.]+)")
_ARGUMENTS = ("non-default args", "server_args=", "ServerArgs(")
"""Marks of the line in which a server tells its own arguments: vLLM and SGLang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(JsonNoun):
    """A setting and where to move it.

    Attributes:
        key: The setting as its program writes it.
        to: ``lower``, ``higher``, or the value itself.
        current: Its value now; empty if unknown.
        origin: ``log`` or the release whose default the value is; empty if unknown.
        condition: When it applies; empty for always.
    """

    key: str
    to: str
    current: str = ""
    origin: str = ""
    condition: str = field(default="", metadata=in_json("if"))

    @property
    def text(self) -> str:
        """The move in words, such as ``--max-num-seqs higher than 256 (in the log)``."""
        origin = {"": "", "log": " (in the log)"}.get(self.origin, f" (default of {self.origin})")
        if self.to not in {"lower", "higher"}:
            return f"{self.key} {self.to}" + (f" in place of {self.current}{origin}" if self.current else "")
        return f"{self.key} {self.to}" + (f" than {self.current}{origin}" if self.current else "")


def lacks_of(faults: Iterable[str]) -> list[str]:
    """The lacks that known faults show, in their order."""
    by_fault = {fault: lack for lack, shown in _lacks().items() for fault in shown}
    return list(dict.fromkeys(by_fault[fault] for fault in faults if fault in by_fault))


def moves_against(lack: str, program: str, given: Mapping[str, str]) -> list[Move]:
    """The settings of a server against a lack; empty where none is known.

    Args:
        lack: A name of the table, such as ``device-memory``.
        program: The server; vllm-ascend takes vLLM's flags.
        given: Values that its log tells, by name.
    """
    home = "vllm" if program == "vllm-ascend" else program
    moves = []
    for entry in _table().get(home, {}).get(lack, ()):
        name = entry["key"].rpartition(".")[2].lstrip("-").replace("-", "_")
        current, origin = given.get(name, ""), "log"
        if not current:
            current, origin = _default(home, entry["key"])
        moves.append(
            Move(
                key=entry["key"],
                to=entry["to"],
                current=current,
                origin=origin,
                condition=entry.get("if", ""),
            )
        )
    return moves


def arguments_in(line: str) -> dict[str, str]:
    """The arguments that a server tells in a line, by name; empty for another line."""
    mark = next((text for text in _ARGUMENTS if text in line), "")
    if not mark:
        return {}
    told = _GIVEN.findall(line.partition(mark)[2])
    return {name: value.strip("'\"") for name, value in told if value not in {"None", "null"}}


@cache
def _lacks() -> dict[str, list[str]]:
    held: dict[str, list[str]] = yaml.safe_load(data.text(_TABLE))["lacks"]
    return held


@cache
def _table() -> dict[str, dict[str, list[dict[str, str]]]]:
    held: dict[str, dict[str, list[dict[str, str]]]] = yaml.safe_load(data.text(_TABLE))
    return held


def _default(program: str, key: str) -> tuple[str, str]:
    """A number that a setting has by default in the last release known, with that release; empty for none."""
    held = registry(program).at()
    setting = held.look_up(key, suggest=False).setting
    value = None if setting is None or not setting.defaults else setting.defaults[-1].value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (str(value), held.release) if is_number else ("", "")
