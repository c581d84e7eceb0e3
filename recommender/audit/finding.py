"""A finding on one setting that runs: what is wrong with it, what it costs, where it is right, what to do."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.questions.launches.running import RunningSetting
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.gain import Gain
from kg.terms.meanings import divides
from recommender.ranking.change import LEAST_LOG_GAIN

_TAKEN_BACK = frozenset({FindingKind.COST, FindingKind.DEBUGGING, FindingKind.OFFLOAD, FindingKind.PRECISION})
REMOVED = "removed-setting"
"""Rule of a setting that the release took away."""
NO_START = ("the program does not start", "程序无法启动")
_PIECES = re.compile(r"(?<!\S)(-{1,2}[A-Za-z][\w.-]*+(?= )|[A-Za-z_][\w.]*+(?==))[ =](\S+)")
LIKELY = ("by the memory model the program does not start", "按显存模型程序无法启动")
_REMEDY = re.compile(r"(?:export )?(-{1,2}[A-Za-z][\w.-]*(?= )|[A-Za-z_][\w.-]*(?==))[ =](\S+)")
"""A flag with its value, a variable, or a key of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedCost:
    """Cost of a setting here, by the cost model.

    Attributes:
        gain: Log gain of the throughput without the setting, at the load of the question; None where the cost
            model sees none.
        single_gain: The same at one request at once, where no load is told.
        memory_bytes: More memory of the fullest device without it.
    """

    gain: Gain | None = None
    single_gain: Gain | None = None
    memory_bytes: float = 0.0

    @property
    def most(self) -> float:
        """The larger of the two log gains."""
        return max(gain.expected for gain in (self.gain, self.single_gain) if gain is not None)

    def to_json(self) -> dict[str, object]:
        """Plain content: the factors without the setting, with their intervals."""
        return {
            "throughput": None if self.gain is None else self.gain.to_json(),
            "throughput_at_one_request": None if self.single_gain is None else self.single_gain.to_json(),
            "memory_bytes": round(self.memory_bytes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingFinding:
    """A finding on one setting that runs.

    Attributes:
        rule: Id of the rule, or of the check of the registry.
        kind: What is wrong.
        level: How much it matters.
        setting: The setting as it is written.
        says: What it switches off or does, by language.
        cost: What that costs, by language.
        right: Where it is right, by language; empty where nowhere.
        remedy: The setting to write in its place; empty to take it away.
        others: What else helps, as it is written.
        adds: Whether the remedy is written beside what is there, where that does not set it.
        removes: What is taken away where that is not the setting alone, such as the flag of a field.
        default: What the release does without it; empty where that is not known.
        source: Address of who says so.
        load_fact: Fact that is told and that the setting falls short of; empty for another finding.
        spare: It stands only if the work fits the memory without the setting.
        priced: What it costs here; None where the cost model does not know.
    """

    rule: str
    kind: FindingKind
    level: FindingLevel
    setting: RunningSetting
    says: Mapping[str, str]
    cost: Mapping[str, str] = field(default_factory=dict)
    right: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""
    others: tuple[str, ...] = ()
    adds: bool = False
    removes: tuple[str, ...] = ()
    default: str = ""
    source: str = ""
    load_fact: str = ""
    spare: bool = False
    priced: PricedCost | None = None

    @property
    def text(self) -> str:
        """The setting with its value, as people write it."""
        key, value = self.setting.key, self.setting.value
        if value == "true" and key.startswith("-"):
            return key
        return written(key, value)

    @property
    def removals(self) -> tuple[str, ...]:
        """The settings that are taken away, where nothing is written in their place."""
        return self.removes or (() if self.adds and not self.remedy else (self.setting.key,))

    @property
    def stops(self) -> bool:
        """True if no start succeeds with it, by the facts of the model and the device."""
        return self.cost.get("en") in {NO_START[0], LIKELY[0]} and not self.source

    @property
    def is_modelled(self) -> bool:
        """True if it rests on the memory model, and not on certain facts."""
        return self.cost.get("en") == LIKELY[0]

    @property
    def is_taken_back(self) -> bool:
        """True if a start omits the setting; a warning leaves it to the user, but debugging goes."""
        is_left_on = self.kind is FindingKind.DEBUGGING and self.level is not FindingLevel.NOTE
        is_undone = self.kind is FindingKind.CONTRADICTION and not divides(self.setting.key)
        return is_left_on or (self.level is FindingLevel.ERROR and (is_undone or self.kind in _TAKEN_BACK))

    @property
    def is_below_told(self) -> bool:
        """True if it falls short of the load or the length in the question, which overrides a script."""
        return self.level is not FindingLevel.NOTE and bool(self.load_fact)

    @property
    def instead(self) -> tuple[str, str] | None:
        """Key and value of the setting to write in its place; None where it is not one setting."""
        found = _REMEDY.fullmatch(self.remedy)
        return None if found is None else (found[1], found[2])

    @property
    def bare(self) -> str:
        """The switch to write where a value stands behind one; empty where none does."""
        return self.remedy if self.setting.has_truth and self.stops and " " not in self.remedy else ""

    @property
    def rewrites(self) -> tuple[tuple[str, str], ...]:
        """Keys and values of the settings to write; none where they are not settings alone."""
        return self._pieces if self.adds else (self.instead,) if self.instead else ()

    @property
    def _pieces(self) -> tuple[tuple[str, str], ...]:
        found = tuple(_PIECES.findall(self.remedy))
        is_whole = " ".join(f"{key}{' ' if key[:1] == '-' else '='}{value}" for key, value in found)
        return found if is_whole == self.remedy else ()

    @property
    def is_rewritten(self) -> bool:
        """True if a start changes the value: with it nothing starts, or the requested length is cut."""
        is_refused = self.kind is FindingKind.REFUSED and (self.level is FindingLevel.ERROR or self.stops)
        if not self.rewrites:
            return False
        if any(divides(key) for key, _ in self.rewrites):  # for the user to say, where it starts at all
            return is_refused and self.level is FindingLevel.ERROR
        return is_refused or self.is_below_told

    @property
    def successors(self) -> tuple[tuple[str, str], ...] | None:
        """What is written for a setting that the release took away; None for others, or if a user chooses."""
        is_written = bool(self._pieces) or not self.remedy
        is_named = all(key.startswith("-") or key.isupper() for key, _ in self._pieces)
        return self._pieces if self.rule == REMOVED and is_written and is_named and self.removals else None

    @property
    def matters(self) -> bool:
        """True if it is more than a note, or has a price by which the change is worth testing."""
        is_dear = self.priced is not None and self.priced.most >= LEAST_LOG_GAIN
        return self.level is not FindingLevel.NOTE or is_dear

    @property
    def order(self) -> tuple[int, bool, float, int, int]:
        """Places the worst first: errors, what does not start before what costs most, then lines."""
        gain = 0.0 if self.priced is None else self.priced.most
        levels, kinds = list(FindingLevel), list(FindingKind)
        starts = self.kind is not FindingKind.REFUSED
        kind, line = kinds.index(self.kind), self.setting.line or 0
        return (levels.index(self.level), starts, -round(gain, 3), kind, line)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "rule": self.rule,
            "kind": str(self.kind),
            "level": str(self.level),
            "setting": self.setting.key,
            "value": self.setting.value,
            "place": str(self.setting.place),
            "file": self.setting.file or None,
            "line": self.setting.line,
            "says": dict(self.says),
            "cost": dict(self.cost),
            "right": dict(self.right),
            "remedy": self._cure(),
            **({"others": list(self.others)} if self.others else {}),
            "default": self.default or None,
            "priced": None if self.priced is None else self.priced.to_json(),
            "source": self.source,
        }

    def _cure(self) -> dict[str, object]:
        """What to write or to take away; empty where that is not known."""
        if self.remedy:
            return {"write": self.remedy}
        return {"remove": list(self.removals)} if self.removals else {}


def written(key: str, value: object) -> str:
    """A setting with a value, as people write it."""
    return f"{key} {value}" if key.startswith("-") else f"{key}={value}"


def factor_of(gain: Gain) -> str:
    """Speed-up without the setting, with its interval: ``2.10x (1.60x to 2.70x)``."""
    low, high = math.exp(gain.low), math.exp(gain.high)
    return f"{math.exp(gain.expected):.2f}x ({low:.2f}x to {high:.2f}x)"
