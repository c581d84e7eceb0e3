"""A start configuration: the complete settings that a plan begins with."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kg.errors import InputError
from kg.nouns.codec import JsonNoun, four_digits, in_json
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from recommender.ranking.change import LEAST_LOG_GAIN
from recommender.ranking.paste import (
    ENGINES,
    OVERRIDING,
    command_of,
    export_lines,
    field_lines,
    flag_words,
    launch_text,
    object_words,
    pasted,
)
from recommender.ranking.plan_setting import PlanSetting

OFFICIAL = "an official configuration of this case"
"""Begins the line that tells where a start differs from the page of its very case."""
_COMMIT = re.compile(r"<https://github\.com/([^/]+/[^/]+)/blob/([0-9a-f]{7})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedValue(JsonNoun):
    """A value that a configuration is expected to reach.

    Attributes:
        metric: Name of the metric.
        unit: Its unit.
        value: The expectation.
        low: Lower end of the 90 % interval.
        high: Upper end.
        tier: How it is known: ``"measured here"``, ``"measured elsewhere"``, ``"published"``, ``"modelled"``.
    """

    metric: str
    unit: str
    value: float = field(metadata=in_json(write=four_digits))
    low: float = field(metadata=in_json(write=four_digits))
    high: float = field(metadata=in_json(write=four_digits))
    tier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConfiguration:
    """A complete configuration to begin with.

    Attributes:
        framework: Id of what is launched; empty if it is not known.
        version: Its release.
        layout: How the work is divided; None for a kernel.
        fits: Whether it fits the memory; None where that cannot be told.
        fits_in: Where it does not, the widest narrower number format that fits the devices, with its layout.
        settings: What to set, in the order to write it.
        expected: What it is expected to reach.
        needs: What must be there for it to run, or is run beside it, a line each.
        because: What it rests on, a line each.
        checkpoint: The model as its command takes it; empty where that is not known.
        filled: What words in capitals of its command stand for, such as the devices of a server.
        id: From question, settings and knowledge version; an outcome refers to it. Empty for a kernel.
        recipes: Ids of the recipes that it rests on.
        agreement: How far recipes for such problems divide the work as it does, 0 to 1: a doubling apart
            counts e times less; None where none was asked.
    """

    framework: str = ""
    version: str = ""
    layout: ParallelLayout | None = None
    fits: bool | None = None
    fits_in: tuple[str, ParallelLayout] | None = None
    settings: tuple[PlanSetting, ...] = ()
    expected: tuple[ExpectedValue, ...] = ()
    needs: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    checkpoint: str = ""
    filled: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    recipes: tuple[str, ...] = ()
    agreement: float | None = None

    @property
    def configuration(self) -> Settings:
        """Its settings by name, as programs and experiments know them."""
        return Settings({item.name: item.value for item in self.settings})

    @property
    def is_measured(self) -> bool:
        """True if it is a measured run, kept as it was."""
        return self.layout is not None and any(item.tier == "measured here" for item in self.expected[:1])

    @property
    def official(self) -> str:
        """A sentence on the differences from the official page of its case; empty without one."""
        line = next((one for one in self.because if one.startswith(OFFICIAL)), "")
        page, said = _COMMIT.search(line), line.partition(" <")[0].partition("has other settings: ")[2]
        if page is None:
            return ""
        named = f"the official configuration ({page[1]} at {page[2]})"
        return f"Otherwise in {named}: {said}" if said else f"As in {named}"

    @property
    def paste_lines(self) -> list[str]:
        """Lines to paste: exports, one command with flags and JSON, fields of files."""
        return pasted(self.settings, self.framework, self.checkpoint, self.filled)

    @property
    def is_bare(self) -> bool:
        """True if nothing of it can be run as it is printed: it has flags without a command, or no line."""
        if self.framework in OVERRIDING or command_of(self.settings, self.framework, self.filled):
            return False
        return not self.paste_lines or any(item.where is SettingPlace.FLAG for item in self.settings)

    @property
    def words(self) -> list[str]:
        """Its variables and flags, as a command takes them; none where a part of it is written in files."""
        if field_lines(self.settings):
            return []
        return [*export_lines(self.settings), *flag_words(self.settings), *object_words(self.settings)]

    def is_of(self, form: str) -> bool:
        """True if a form of an answer is that of its engine."""
        return self.framework in ENGINES[form]

    def launch_text(self, form: str) -> str:
        """The text that launches an engine with it.

        Args:
            form: The engine: ``"vllm"``, ``"sglang"``, ``"mindie"`` or ``"megatron"``.

        Raises:
            InputError: It is for another one.
        """
        if not self.is_of(form):
            raise InputError(f"the plan is for {self.framework}, not for {form}", hint=f"--software {form}")
        return launch_text(self.settings, self.framework, self.checkpoint)

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        narrower = {}
        if self.fits_in is not None:
            narrower["fits_in"] = {"precision": self.fits_in[0], "layout": self.fits_in[1].to_json()}
        return {
            **({"id": self.id} if self.id else {}),
            "framework": self.framework or None,
            "version": self.version or None,
            "fits": self.fits,
            **narrower,
            "layout": None if self.layout is None else self.layout.to_json(),
            "settings": [item.to_json() for item in self.settings],
            "expected": [item.to_json() for item in self.expected],
            "paste": self.paste_lines,
            **({"needs": list(self.needs)} if self.needs else {}),
            "because": list(self.because),
            "recipes": list(self.recipes),
        }


def log_gain_over(start: StartConfiguration, other: StartConfiguration) -> float:
    """The modelled gain over another start in the question's metric, as a natural log; 0 without a price."""
    if not start.expected or not other.expected:
        return 0.0
    now, then = start.expected[0], other.expected[0]
    if now.metric != then.metric or not (now.value > 0 and then.value > 0):
        return 0.0
    ratio = math.log(then.value / now.value)
    return ratio if now.metric.endswith("throughput") else -ratio


def without_promises(
    first: StartConfiguration, others: Iterable[StartConfiguration]
) -> tuple[StartConfiguration, ...]:
    """Alternatives, without the numbers of those that are modelled to do better than the first.

    Recipes, tests, or what a model cannot tell apart put the first one first: a number that says otherwise
    would be no promise, but a difference to test.
    """
    gains = ((one, log_gain_over(first, one)) for one in others)
    return tuple(one if gain <= 0 else _untested(one, gain) for one, gain in gains)


def _untested(start: StartConfiguration, log_gain: float) -> StartConfiguration:
    is_even = log_gain < LEAST_LOG_GAIN
    modelled = "as fast" if is_even else f"{math.exp(log_gain):.2g} times as fast as the start"
    return replace(start, expected=(), because=(f"modelled to be {modelled}: to be tested", *start.because))
