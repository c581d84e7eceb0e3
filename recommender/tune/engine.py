"""An engine's way to be started, asked and stopped: a row of ``data/tune/engines.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

import data
from kg.nouns.codec import JsonNoun

READY_S = 1800.0
"""A start that is silent for so long is given up; a choice, above the compile times of large models."""
GRACE_S = 60.0
"""From being asked to end to being killed, for a program that no row knows; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDriver(JsonNoun):
    """One engine.

    Attributes:
        id: Of the program; empty for a command that nothing here knows.
        ready: Paths that answer with success once it is ready; one of them is enough.
        port: Flag of its port; empty where it has none.
        name: Flag of the name that it serves the model under; empty where it has none.
        usual_port: The port without that flag; 0 where it is not known.
        grace_s: From being asked to end to being killed.
        left: Flags that are left alone unless they are asked for: they change what is served.
        divided: The length that a program divides among its users, by the flag of their number.
        key: Flags and variables of the key that it asks its users for.
    """

    id: str = ""
    ready: tuple[str, ...] = ("/health",)
    port: str = ""
    name: str = ""
    usual_port: int = 0
    grace_s: float = GRACE_S
    left: tuple[str, ...] = ()
    divided: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ("--api-key", "API_KEY", "OPENAI_API_KEY")


@cache
def engine_of(program: str) -> EngineDriver | None:
    """The engine of a program; None for one that has no row."""
    table: dict[str, dict[str, Any]] = yaml.safe_load(data.text("tune/engines.yaml"))
    row = table.get(program)
    if row is None:
        return None
    row = {**table[row["as"]], **row} if "as" in row else row
    return EngineDriver.from_json({"id": program, **{key: row[key] for key in row.keys() - {"as", "source"}}})
