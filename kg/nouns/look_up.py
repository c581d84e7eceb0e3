"""Look-up of one spelling of a setting in a release of a program."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from kg.nouns.setting import Setting, SettingPlace
from kg.nouns.values import Value

SAME_KEY = 0.95
"""Likeness from which two keys are one misspelt: a letter left out of twenty. Of 1,481 keys of vllm-ascend,
SGLang and torch_npu 30 pairs are as like as that."""


class Standing(StrEnum):
    """The standing of a setting in a release."""

    TAKEN = "taken"
    PASSED_ON = "passed on unchecked"
    NOT_YET = "not yet"
    REMOVED = "removed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """Look-up of one spelling of a setting in a release of a program.

    Attributes:
        standing: Taken, passed on, not yet there, removed, or unknown.
        release: The release that was read for the answer.
        setting: The setting; None where it is unknown.
        negated: The spelling was the one that switches it off.
        abbreviation: The spelling was the beginning of a longer flag.
        nearest: Keys like an unknown one, nearest first.
    """

    standing: Standing
    release: str
    setting: Setting | None = None
    negated: bool = False
    abbreviation: bool = False
    nearest: tuple[str, ...] = ()

    def intended_key(self, key: str) -> str:
        """The setting that an unknown key means: misspelt, or a field in the wrong object; else empty."""
        first = self.nearest[0] if self.nearest and self.setting is None else ""
        one, other = (text.strip("-").replace("-", "_").lower() for text in (key, first))
        is_moved = "." in one and one.rpartition(".")[2] == other.rpartition(".")[2]
        return first if is_moved or SequenceMatcher(None, one, other).ratio() >= SAME_KEY else ""

    @property
    def shared(self) -> bool:
        """True if programs beneath may state more of it: a flag with choices, or one without a type."""
        item = self.setting
        return (
            item is not None
            and item.place is SettingPlace.FLAG
            and (bool(item.choices) or item.type == "any")
        )

    @property
    def usable(self) -> bool:
        """True if writing it there has an effect that the program means."""
        return self.standing in {Standing.TAKEN, Standing.PASSED_ON}

    def is_default(self, value: Value) -> bool:
        """True if a value is the default of the release."""
        if self.setting is None or self.standing is not Standing.TAKEN:
            return False
        if self.negated:
            value = value is False or str(value).lower() == "false"
        return self.setting.is_default(value, self.release)

    def __str__(self) -> str:
        if self.setting is None:
            hint = f"; did you mean {', '.join(self.nearest)}?" if self.nearest else ""
            return f"unknown{hint}"
        text = f"{self.setting.software} {self.setting.key}: {self.standing}"
        if self.standing is Standing.NOT_YET:
            return f"{text}, since {self.setting.since}" if self.setting.since else text
        if self.standing is Standing.REMOVED:
            then = f", replaced by {self.setting.replaced_by}" if self.setting.replaced_by else ""
            return f"{text} in {self.setting.removed}{then}"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """A setting as one spelling of it was found.

    Attributes:
        setting: The setting.
        negated: By the flag that switches it off.
        abbreviation: By the beginning of its flag.
        beneath: The spelling lies beneath an open one.
    """

    setting: Setting
    negated: bool = False
    abbreviation: bool = False
    beneath: bool = False
