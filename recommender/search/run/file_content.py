"""The content of a search file, with checked access to its values."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_keys(keys: tuple[str, ...], content: Mapping[str, object], where: str) -> None:
    """Refuse keys that nothing reads.

    Raises:
        InputError: There is one; the hint names the nearest key.
    """
    for key in content:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
            raise InputError(f"a search file has no key {where}{key!r}", hint=hint)


def number(key: str, value: object, *, least: float = 0.0) -> float:
    """A number that is not below ``least``.

    Raises:
        InputError: The value is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
        raise InputError(f"{key}: {str(value)[:40]} is no number of at least {least:g}")
    return float(value)


@dataclass(frozen=True, slots=True)
class FileContent:
    """Names and values of one search file; each access raises InputError where the value is of another kind.

    Attributes:
        raw: As YAML or the log has them.
    """

    raw: Mapping[str, object]

    def table(self, key: str) -> dict[str, object]:
        """The mapping of a key, empty if it is not there."""
        content = self.raw.get(key)
        if content is None:
            return {}
        if not isinstance(content, dict):
            raise InputError(f"{key}: expected names and values, not {str(content)[:60]!r}")
        return {str(name): item for name, item in content.items()}

    def number(self, key: str, default: float, *, least: float = 0.0) -> float:
        """The number of a key that is not below ``least``; ``default`` if it is not there."""
        return number(key, self.raw.get(key, default), least=least)

    def count(self, key: str, default: int, *, least: int) -> int:
        """The whole number of a key."""
        value = self.number(key, default, least=least)
        if value % 1:
            raise InputError(f"{key}: {value:g} is not whole")
        return int(value)

    def settings(self, key: str) -> Settings | None:
        """The configuration of a key; None if it is not there."""
        if self.raw.get(key) is None:
            return None
        try:
            return Settings(self.table(key))
        except ValueError as fault:
            raise InputError(f"{key}: {fault}") from None

    def problem(self) -> dict[str, object] | None:
        """The question that the search answers, as a problem file states it; None if it is not there."""
        if self.raw.get("problem") is None:
            return None
        if not isinstance(self.raw["problem"], dict):
            raise InputError("problem: expected what a problem file says", hint="op, shape, hardware ...")
        return self.table("problem")
