"""Settings of programs by the facts that they state, read from ``data/settings/meanings.yaml``."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

import data
from kg.errors import UnknownEntityError
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value

OF_VLLM = frozenset({"vllm", "vllm-ascend", "vllm-gaudi"})
"""vLLM and its plugins for chips of other makers, which take its flags."""
OWN_NAMES = frozenset({"maxtext", "nemo", "nemo-2"})
"""Programs that know models by names of their own, not by those of a hub."""
OWN = "tunegraph"
"""The program whose names hold where no program is named."""
_ON, _OFF = frozenset({"true", "1", "on", "yes"}), frozenset({"false", "0", "off", "no", "none"})
_SAME = "*"
"""Value of a word that stands for itself."""
_TEXTS, _SWITCH = "choice", "switch"
"""Kinds of facts: with words for values, and on or off."""
_COUNTS = frozenset({"degree", "part", "devices", "length", "batch"})
"""Kinds of facts that no truth value is, and of which a launch states one."""
_DIVIDING = frozenset({"degree", "devices", "replicas"})
"""Kinds of facts about the devices of a job."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Meaning:
    """The meaning of a setting.

    Attributes:
        fact: What it states.
        key: Its first spelling, as it is written.
        place: Where it stands.
        file: The file, where it stands in one.
        also: Other spellings.
        values: Values of the fact by words; ``*`` in a word matches any text.
        switch: What it says when it is on and when it is off; None if it is no switch.
        product: The sizes whose product a switch states.
        over: Whether the size is of all replicas.
        largest: Whether the largest number of a list counts.
        less: By how much it is larger than the fact.
        yields: Whether another setting of the same fact counts before it.
        rest: The size that takes what no other size does.
        beside: Settings without which the program does not hear this one.
    """

    fact: str
    key: str
    place: SettingPlace = SettingPlace.CODE
    file: str = ""
    also: tuple[str, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict)
    switch: tuple[Value, Value] | None = None
    product: tuple[str, ...] = ()
    over: bool = False
    largest: bool = False
    less: int = 0
    yields: bool = False
    rest: str = ""
    beside: Mapping[str, Value] = field(default_factory=dict)

    def reads(self, written: Value) -> bool:
        """True if it can interpret a value, if only as leaving its fact open."""
        value = _number(written)
        kind = kinds()[self.fact]
        if self._word(value) is not None:
            return True
        if self.switch is not None or (kind == _SWITCH and not isinstance(value, int | float)):
            return value is None or str(value).strip().lower() in _ON | _OFF
        if self.largest:
            return bool(re.search(r"\d", str(value)))
        if kind == _TEXTS:
            return isinstance(value, str) and not self.values
        return isinstance(value, int | float) and not (isinstance(value, bool) and kind in _COUNTS)

    def says(self, written: Value) -> Value:
        """The value of the fact by a value that it :meth:`reads`; None where that says nothing."""
        value = _number(written)
        if (word := self._word(value)) is not None:
            return value if self.values[word] == _SAME else self.values[word]
        if self.switch is not None:
            return self.switch[0 if _is_on(value) else 1]
        if kinds()[self.fact] == _SWITCH and not isinstance(value, int | float):
            return int(_is_on(value))
        if self.largest:
            return max(int(size) for size in re.findall(r"\d{1,9}", str(value)))
        if isinstance(value, int | float):
            return max(value - self.less, 0) if self.less else value + 0  # a truth as a number
        return value

    def writes(self, value: Value, copies: int = 1) -> Value:
        """The value by which it says one of the fact, for so many replicas; None if it cannot."""
        if self.product or self.largest:
            return True if self.product else None
        if self.switch is not None:
            return next(
                (on for on, says in zip((True, False), self.switch, strict=True) if says == value), None
            )
        word = next((word for word, says in self.values.items() if says == value and "*" not in word), None)
        if word is not None:
            return _number(word)
        has_numbers = kinds()[self.fact] != _TEXTS and any(
            isinstance(_number(one), int) for one in self.values
        )
        if (self.values and not has_numbers) or str(value) in self.values:
            return None
        if isinstance(value, int | float):
            return (value + self.less) * (copies if self.over else 1)
        return value

    def _word(self, value: Value) -> str | None:
        word = str(value).strip().lower() if isinstance(value, str) else str(value)
        words = {word, word.replace("-", "_")}
        return next((one for one in self.values if any(fnmatchcase(word, one) for word in words)), None)


def meaning_of(setting: str, program: str = "") -> Meaning | None:
    """The meaning of a setting in any spelling, by the program's words, else by any; None if there is none.

    A field counts by its last name where its object is one whose fields are settings of their own: the
    ``tp_size`` of a peer's transfer says nothing of this engine.
    """
    return _meaning(setting, program if program in _programs() else "")


def degree_of(setting: str) -> str | None:
    """The degree of parallelism that a setting states; None if it states none."""
    meaning = meaning_of(setting)
    return meaning.fact if meaning is not None and kind_of(setting) == "degree" else None


def kind_of(setting: str) -> str:
    """The kind of the fact that a setting states; empty if it states none."""
    meaning = meaning_of(setting)
    return "" if meaning is None else kinds()[meaning.fact]


def size_of(setting: str, program: str = "") -> str | None:
    """The size that a setting alone states: a degree, a length or a batch; None for switches and choices."""
    meaning = meaning_of(setting, program)
    is_size = meaning is not None and meaning.switch is None and not meaning.product
    return meaning.fact if meaning is not None and is_size and kinds()[meaning.fact] in _COUNTS else None


def divides(setting: str) -> bool:
    """True if a setting states only the division of work over devices."""
    meaning = meaning_of(setting)
    chooses = meaning is not None and bool(meaning.product) and meaning.switch is None
    return kind_of(setting) in _DIVIDING and not chooses


def long_names(program: str) -> dict[str, str]:
    """The first spelling of a program's settings by each of the others, both without dashes."""
    names: dict[str, str] = {}
    for spelling, one in _programs()[program].items():
        names.setdefault(plain_name(spelling), plain_name(one.key))  # its own are before what it takes
    return {other: name for other, name in names.items() if other != name}


def has_own_fields(carrier: str) -> bool:
    """True if the fields of an object are settings of their own, known by their last names."""
    return plain_name(carrier) in _fields()


def own_names() -> tuple[str, ...]:
    """The names of this program for what settings state."""
    return tuple(_programs()[OWN])


def stated_anyway(program: str, *, experts: bool) -> tuple[str, ...]:
    """Sizes that a plan for a program states even where they are 1."""
    content = table("meanings")["programs"][program]
    above = stated_anyway(content["as"], experts=experts) if "as" in content else ()
    return (*above, *content.get("always", ()), *(content.get("experts", ()) if experts else ()))


def file_of(program: str) -> str:
    """The file that holds a program's settings in YAML or JSON; empty where none is known."""
    return str(table("meanings")["programs"].get(program, {}).get("file", ""))


def usual_place(program: str) -> str:
    """The place that a program's own settings stand in; empty where its table names none."""
    return str(table("meanings")["programs"].get(program, {}).get("place", ""))


def built_on(program: str) -> tuple[str, ...]:
    """The programs whose settings a program takes over, the nearest first; none of one of its own."""
    above = str(table("meanings")["programs"].get(program, {}).get("as", ""))
    return (above, *built_on(above)) if above else ()


def settings_of(program: str) -> tuple[Meaning, ...]:
    """The settings of a program that state facts, in the order of the file.

    Raises:
        UnknownEntityError: There is no such program.
    """
    if program not in _programs():
        raise UnknownEntityError(f"no dialect of {program!r}", hint=f"known: {', '.join(_programs())}")
    return tuple(dict.fromkeys(_programs()[program].values()))


def programs() -> tuple[str, ...]:
    """Programs whose settings are known."""
    return tuple(_programs())


def variant_of(program: str, settings: Mapping[str, Value]) -> str:
    """The program that another is by what it is told, as verl on Megatron; itself where it is none."""
    said = [f"{plain_name(name)}={value}".lower() for name, value in settings.items()]
    return next(
        (
            name
            for name, row in table("meanings")["programs"].items()
            if row.get("registry") == program
            and any(fnmatchcase(one, sign) for one in said for sign in row["signs"])
        ),
        program,
    )


@cache
def pasted_after() -> dict[str, tuple[str, str]]:
    """The command that a program's start is appended to, and the words before its ``key=value`` fields."""
    rows = table("meanings")["programs"].items()
    return {name: (row["command"], row.get("words", "")) for name, row in rows if "command" in row}


def is_installed(program: str) -> bool:
    """True if a program is started by a command of its own, not as a script that its user may change."""
    command, _ = pasted_after().get(program, ("", ""))
    first = next((word for word in command.split() if "=" not in word), "python")
    return not first.startswith(("python", "torchrun"))


@cache
def kinds() -> dict[str, str]:
    """The kind of each fact."""
    return dict(table("meanings")["facts"])


def phrase_of(setting: str, program: str = "") -> str:
    """The meaning of a setting in English words; empty where neither its fact nor a pattern is known."""
    meaning, known = meaning_of(setting, program), table("meanings")
    if meaning is not None:
        return str(known["words"][meaning.fact][0])
    plain = plain_name(setting)
    return next((words[0] for pattern, words in known["phrases"].items() if fnmatchcase(plain, pattern)), "")


def chinese_phrases() -> dict[str, str]:
    """The Chinese of every phrase by its English."""
    known = table("meanings")
    return dict([*known["words"].values(), *known["phrases"].values()])


@lru_cache(maxsize=8192)
def _meaning(setting: str, program: str) -> Meaning | None:
    plain = plain_name(setting)
    words, fields = _words(program), _fields()
    if program and setting.startswith("-") and not setting.startswith("--"):
        return _programs()[program].get(setting)  # one dash is the program's own, and its case counts
    head, dot, _ = plain.partition(".")
    if (found := words.get(plain)) is not None:
        return found
    if dot and head in fields:
        found = words.get(plain.rpartition(".")[2])
    if found is None and program:
        found = _meaning(setting, "")
    return found


@cache
def _words(program: str) -> dict[str, Meaning]:
    """Meanings by plain names: of a program all of its spellings, of no program those of all with a name."""
    words: dict[str, Meaning] = {}
    for name in (program,) if program else _programs():
        for key, meaning in _programs()[name].items():
            is_short = key.startswith("-") and not key.startswith("--")
            if program or not is_short:
                plain = plain_name(key)
                _add(words, plain, meaning)
                if plain.partition(".")[0] in _fields():
                    _add(words, plain.rpartition(".")[2], meaning)
    return words


def _add(words: dict[str, Meaning], plain: str, meaning: Meaning) -> None:
    """Add a meaning by a name; where programs give one name different words, it keeps the words of all."""
    ours = words.setdefault(plain, meaning)
    if ours is not meaning and ours.fact == meaning.fact and (ours.values or meaning.values):
        words[plain] = replace(ours, values={**meaning.values, **ours.values})


@cache
def _fields() -> frozenset[str]:
    return frozenset(
        name for item in table("meanings")["programs"].values() for name in item.get("fields", ())
    )


@cache
def _programs() -> dict[str, dict[str, Meaning]]:
    """Meanings by each spelling of each program, those of what it takes after its own."""
    found: dict[str, dict[str, Meaning]] = {}
    for name, item in table("meanings")["programs"].items():
        own = dict(_spellings(item, found.get(item.get("as", ""), {})))
        inherited = (_in_its_file(key, one, item) for key, one in found.get(item.get("as", ""), {}).items())
        found[name] = own | {key: one for key, one in inherited if key not in own}
    facts = {name: Meaning(fact=name, key=name) for name in kinds()}
    found[OWN] |= {name: one for name, one in facts.items() if name not in found[OWN]}
    return found


def _in_its_file(key: str, meaning: Meaning, item: Mapping[str, Any]) -> tuple[str, Meaning]:
    """A spelling that a program takes over: what is a flag elsewhere is a key where it reads a file."""
    if item.get("place") != SettingPlace.YAML or not key.startswith("--"):
        return key, meaning
    own = replace(meaning, key=meaning.key.lstrip("-"), place=SettingPlace.YAML, file=item.get("file", ""))
    return key.lstrip("-"), own


def _spellings(item: Mapping[str, Any], above: Mapping[str, Meaning]) -> Iterator[tuple[str, Meaning]]:
    for key, content in item.get("settings", {}).items():
        entry: dict[str, Any] = {"fact": content} if isinstance(content, str) else dict(content)
        first = next(iter(above.values()), None)
        place = entry.pop("place", _place_of(key, item.get("place", first.place if first else "code")))
        on = entry.pop("enabled", True if "product" in entry and "values" not in entry else None)
        off = entry.pop("disabled", None)
        meaning = Meaning(
            key=key,
            place=SettingPlace(place),
            file=item.get("file", ""),
            also=tuple(entry.pop("also", ())),
            values={str(word): value for word, value in entry.pop("values", {}).items()},
            switch=None if on is None else (on, off),
            product=tuple(entry.pop("product", ())),
            **entry,
        )
        for spelling in (key, *meaning.also):
            yield spelling, meaning


def _place_of(key: str, usual: str) -> str:
    """The place that a spelling shows, else that of the program's other settings."""
    if key.startswith("-"):
        return "flag"
    if usual != "flag":
        return usual
    return "json" if "." in key else "code"


@cache
def table(name: str) -> Any:
    """A table of ``data/settings`` by the stem of its YAML file, as ``tools/shipping`` compiled it."""
    return json.loads(data.text("settings/compiled/tables.json"))[name]


@lru_cache(maxsize=8192)
def plain_name(key: str) -> str:
    """A spelling without dashes in front, in lower case, with ``_`` for ``-`` and without places in lists."""
    plain = key.strip().lstrip("-+").replace("-", "_").lower()
    return re.sub(r"\[\d*\]", "", plain) if "[" in plain else plain


def _is_on(value: Value) -> bool:
    """True if a switch is on; one without a value is."""
    return value is None or str(value).strip().lower() in _ON


def _number(written: Value) -> Value:
    """A number for a text that is one."""
    if isinstance(written, str) and re.fullmatch(r"-?\d{1,18}", written.strip()):
        return int(written)
    return written
