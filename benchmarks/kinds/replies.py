"""The reply to a situation of the panel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.kinds.command_line import CommandResult
from benchmarks.kinds.situations import PanelSituation


@dataclass(frozen=True)
class Reply:
    """The reply to a situation.

    Attributes:
        situation: The question.
        result: How the command line ended.
    """

    situation: PanelSituation
    result: CommandResult

    @property
    def content(self) -> Mapping[str, Any]:
        """The printed JSON; empty where there is none."""
        return self.result.content

    @property
    def start(self) -> Mapping[str, Any]:
        """The start of a plan; empty where there is none."""
        return self.content.get("start") or {}

    @property
    def starts(self) -> Sequence[Mapping[str, Any]]:
        """The start and its alternatives."""
        return [item for item in (self.start, *(self.content.get("alternatives") or ())) if item]

    @property
    def is_answered(self) -> bool:
        """True if it is a plan that is said to run."""
        return self.result.code == 0 and bool(self.start)

    def values(self, *keys: str) -> Iterator[tuple[str, str]]:
        """Keys of the start that end so, plainly spelled, with their values as text."""
        for key, value in settings_of(self.start):
            if key.rpartition(".")[2] in keys:
                yield key, value

    def number(self, *keys: str) -> float | None:
        """The value of the first such key, where it is a number."""
        for _, value in self.values(*keys):
            try:
                return float(value)
            except ValueError:
                return None
        return None


def settings_of(start: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys and values of a start, keys without leading dashes, in lower case, with dashes for underscores."""
    for item in start.get("settings", ()):
        value = item["value"]
        yield (
            str(item["key"]).lstrip("-").replace("_", "-").lower(),
            "true" if value in (None, True) else str(value),
        )
