"""Settings named in a message: a limit between two numbers, and the advice of the program itself.

Numbers stand in a message beside names of settings ("max_num_batched_tokens (2048) is smaller than
max_model_len (8192)"); the words between say which relation does not hold, the numbers which side to move.
Advice are a verb and a setting ("try increasing gpu_memory_utilization"). Only settings of the program count.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kg.terms.setting_registry import registry, softwares
from recommender.diagnosis.pressures import RELEASE, Move, default_of, home_of, in_digits, names_of
from recommender.diagnosis.statements import compile_pattern, slots_of

MOST_BETWEEN = 160
"""Characters between two numbers that are still related."""
MOST_VALUE = 1e12
MOST_MESSAGE = 1000
"""Characters of a message that are read, to the end of a word: a number that is cut is another one."""
MOST_WORDS = 4
"""Words that are one name when joined, such as "GPU memory utilization"."""
MOST_DIVISORS = 3
MOST_ARGUMENTS = 20
"""Words behind a message of a parser that are looked up."""
_ORDER = re.compile(
    r"(?i)(?:greater|larger|longer|bigger|more|higher|smaller|less|lower|fewer|shorter)(?: \w+)? than|exceed|"
    r"\bat (?:least|most)\b|no more than|\bbeyond\b|\babove\b|\bbelow\b|[<>]=?|can hold at most"
)
_DIVIDES = re.compile(r"(?i)divisible by|multiple of|evenly divide|does not divide")
_TIMES = re.compile(r"\s*[x*×]\s*")
"""Stands between the factors of one number."""
_NOT_KNOWN = re.compile(r"unrecognized arguments: (.*)")
_SAME = re.compile(r"(?i)\bequals?\b|must match|not match|!=|==|\bsame as\b")
_NUMBER = re.compile(
    r"(?<![\w./:-])-?\d[\d,]*+(?:\.\d++)?+(?:e[+-]?\d++)?+"
    r"(?![\w.]*+[/:]\d|\.\d|(?=(?:(?![A-Za-z_])\w)*+[A-Za-z_])\w++\()"
)
_NAME = re.compile(r"(--?[A-Za-z][\w.-]*|[A-Za-z_][\w.-]*)[`'\"\])]*\s*(?:=|:|\(|\[|of|is|to)?\s*[`'\"(\[]*$")
_WORD = r"--?[A-Za-z][\w.-]*\w|[a-z]+[A-Z]\w+|[A-Za-z]\w*(?:[_.]\w+)+|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+"
_ADVICE = re.compile(
    r"(?i)(?<![-\w])(?:(?P<higher>increas\w*|rais(?:e|ing)|enlarg\w*|larger|higher|bigger|greater)|"
    r"(?P<lower>decreas\w*|reduc\w*|lower(?:ing)?|shrink\w*|smaller|fewer)|"
    r"(?P<off>disabl(?:e|ing)|remov(?:e|ing)|unset(?:ting)?|drop(?:ping)?)|"
    r"(?P<on>enabl(?:e|ing)|set(?:ting)?|us(?:e|ing)|pass(?:ing)?|add(?:ing)?|specify(?:ing)?|provid(?:e|ing)|try))\b(?!-)"
)
_IDLE = re.compile(
    r"(?i)(?:\b(?:not|if|when|cannot|can't|never|is|are|was|been|were|be|only|unless|both)\s+(?:\w+\s+)?)$"
)
_THEN = re.compile(
    r"(?:=|\s+(?:to|as|=)\s+|\s+)[`'\"]?(?P<value>-?\d[\w.]*|[Tt]rue|[Ff]alse|None|[a-z][\w./-]*)?"
)
_IS_CUT = re.compile(r"[(\[]\s*$")
"""Text before the last number of a line that is cut off inside it."""
_SMALLER = re.compile(r"(?i)^\W{0,3}\s*(?:to )?(?:an? )?(?:smaller|lower)")
_LARGER = re.compile(r"(?i)^\W{0,3}\s*(?:to )?(?:an? )?(?:larger|higher|bigger|greater)")
_HEAD = re.compile(r"\b\w*(?:Error|Exception|error)\b: |\] |\b(?:ERROR|CRITICAL|FATAL)\b:? ")
"""End of the head of a line: its logger, its exception."""
_END = re.compile(r"[.;!?]\s+[A-Z]|\bor\b(?= \w+ing\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amount:
    """A number of a message: its place, its names, and whether it is whole."""

    start: int
    end: int
    value: float
    names: tuple[str, ...]


class MessageMoves:
    """Finds what messages of a program say of its settings.

    Args:
        program: The program.
        given: Values that its log tells, by name.
    """

    def __init__(self, program: str, given: Mapping[str, str]) -> None:
        self._home = home_of(program)
        self._is_known = self._home in softwares()
        self._given = given

    def moves(self, line: str, further: str = "", patterns: Sequence[str] = ()) -> list[Move]:
        """The moves that a message asks for, each setting once; numbers before words.

        Args:
            line: Its line.
            further: The lines that go on with it.
            patterns: Patterns of it that are known: they name its values.
        """
        if not self._is_known:
            return []
        text, slots = _message(line, patterns)
        found: dict[str, Move] = {}
        moves = (*self._misspelt(text), *self._limits(text, slots), *self._advice(f"{text} {further}"))
        for move in moves:
            found.setdefault(move.key, move)
        return list(found.values())

    def _misspelt(self, text: str) -> Iterator[Move]:
        """The nearest settings in place of arguments that the parser of the command line does not know."""
        told = _NOT_KNOWN.search(text)
        for word in told[1].split()[:MOST_ARGUMENTS] if told is not None else ():
            argument = word.partition("=")[0]
            found = registry(self._home).at().look_up(argument) if argument.startswith("--") else None
            if found is not None and found.nearest:
                yield Move(key=found.nearest[0], to="", current=argument)

    def _limits(self, text: str, slots: Sequence[tuple[int, int, str]]) -> Iterator[Move]:
        amounts = list(_amounts(text, slots))
        before = 1.0
        for factor, second in pairwise(amounts):
            between = text[factor.end : second.start]
            first = factor if before == 1 else replace(factor, value=before * factor.value, names=())
            before = first.value if _TIMES.fullmatch(between) else 1.0
            if len(between) > MOST_BETWEEN or first.value == second.value:
                continue
            if _DIVIDES.search(between):
                yield from self._divided(first, second)
            elif _ORDER.search(between):
                for one, other in ((first, second), (second, first)):
                    bound = "at most" if one.value > other.value else "at least"
                    yield from self._moved(one, f"{bound} {in_digits(other.value)}")
            elif _SAME.search(between):
                yield from self._moved(first, in_digits(second.value))
                yield from self._moved(second, in_digits(first.value))

    def _divided(self, whole: _Amount, part: _Amount) -> Iterator[Move]:
        """Moves so that one number divides another; none where it does, or for what is no whole number."""
        number, by = whole.value, part.value
        if by < 2 or number < 1 or number % 1 or by % 1 or number % by == 0:
            return
        fit = [item for item in range(1, int(min(number, 4096)) + 1) if number % item == 0]
        divisors = sorted(sorted(fit, key=lambda item: abs(item - by))[:MOST_DIVISORS])
        yield from self._moved(part, "one of " + ", ".join(map(str, divisors)))
        below, above = by * (number // by), by * (number // by + 1)
        near = [in_digits(item) for item in (below, above) if item]
        yield from self._moved(whole, " or ".join(near))

    def _moved(self, amount: _Amount, to: str) -> Iterator[Move]:
        for name in amount.names:
            if key := self._setting(name):
                yield Move(key=key, to=to, current=in_digits(amount.value), origin="log")
                return

    def _advice(self, text: str) -> Iterator[Move]:
        for verb in _ADVICE.finditer(text):
            if _IDLE.search(text[max(verb.start() - 24, 0) : verb.start()]):
                continue
            rest = text[verb.end() : verb.end() + MOST_BETWEEN]
            stop = _END.search(rest)
            rest = rest[: stop.start()] if stop else rest
            if "ot recommended" in rest:
                continue
            following = _ADVICE.search(rest)
            for key, behind in self._settings_in(rest, following.start() if following else len(rest)):
                to = self._direction(verb.lastgroup or "on", behind, key)
                if to:
                    yield self._move(key, to)

    def _settings_in(self, rest: str, end: int) -> Iterator[tuple[str, str]]:
        """Settings named behind a verb, before the next one, with what follows each."""
        named = False
        for found in re.finditer(_WORD, rest[:end]):
            if key := self._setting(found[0]):
                named = True
                yield key, rest[found.end() :]
        if not named:
            words = list(re.finditer(r"[A-Za-z]\w+", rest[:end]))[: MOST_WORDS + 2]
            for size in range(min(MOST_WORDS, len(words)), 1, -1):
                for start in range(len(words) - size + 1):
                    name = "_".join(word[0].lower() for word in words[start : start + size])
                    if key := self._setting(name):
                        yield key, rest[words[start + size - 1].end() :]
                        return

    def _direction(self, verb: str, behind: str, key: str) -> str:
        if _SMALLER.search(behind):
            return "lower"
        if _LARGER.search(behind):
            return "higher"
        if verb == "off" and re.match(r"(?i)-*(?:disable|no)[-_]", key):
            return "on"  # "disable graphs by --disable-cuda-graph"
        if verb in {"higher", "lower", "off"}:
            return verb
        then = _THEN.match(behind.lstrip("`'\""))
        value = (then["value"] or "") if then is not None else ""
        if value and (value[0].isdigit() or value[0] == "-" or value in {"True", "true", "False", "false"}):
            return value.rstrip(".,")
        if value and behind.lstrip("`'\"").startswith("="):
            return value.rstrip(".,")
        return "on" if self._is_switch(key) else "stated"

    def _move(self, key: str, to: str) -> Move:
        current = self._given.get(_bare(key), "")
        if current or to not in {"lower", "higher"}:
            return Move(key=key, to=to, current=current, origin="log" if current else "")
        current, origin = default_of(self._home, key, self._given.get(RELEASE, ""))
        if current in {"0", "-1"}:
            current = origin = ""  # the program chooses
        return Move(key=key, to=to, current=current, origin=origin)

    def _setting(self, name: str) -> str:
        """The key of a setting that has a name; empty where none has."""
        told = name.strip("`'\".,:;()")
        told = names_of(self._home).get(_bare(told), told)
        if not re.search(r"[-_.]|[a-z][A-Z]", told):
            return ""  # one plain word is seldom meant as a setting
        found = registry(self._home).at().look_up(told, suggest=False)
        if found.setting is None or found.abbreviation:
            return ""
        return found.setting.key

    def _is_switch(self, key: str) -> bool:
        found = registry(self._home).at().look_up(key, suggest=False).setting
        return found is not None and found.type == "bool"


def _message(line: str, patterns: Sequence[str]) -> tuple[str, list[tuple[int, int, str]]]:
    """A line without its head, and begin, end and name of the values that a pattern of it names."""
    for pattern in patterns:
        if (found := compile_pattern(pattern).search(line)) is not None:
            start = found.start()
            names = enumerate(slots_of(pattern), 1)
            return _cut(line[start:]), [
                (found.start(g) - start, found.end(g) - start, name) for g, name in names
            ]
    heads = list(_HEAD.finditer(line))
    return _cut(line[heads[-1].end() :] if heads else line), []


def _cut(text: str) -> str:
    return text if len(text) <= MOST_MESSAGE else text[:MOST_MESSAGE].rpartition(" ")[0]


def _amounts(text: str, slots: Sequence[tuple[int, int, str]]) -> Iterator[_Amount]:
    """The numbers of a message, in their order, with the names they may have."""
    named = {(start, end): name for start, end, name in slots}
    for found in _NUMBER.finditer(text):
        value = float(found[0].replace(",", ""))
        if abs(value) > MOST_VALUE or (_IS_CUT.search(text[: found.start()]) and found.end() == len(text)):
            continue
        slot = next((name for (a, b), name in named.items() if a <= found.start() and found.end() <= b), "")
        before = _NAME.search(text[max(found.start() - 60, 0) : found.start()])
        names = [before[1]] if before is not None else []
        words = re.findall(r"[A-Za-z]\w+", text[max(found.start() - 60, 0) : found.start()])[-MOST_WORDS:]
        names += ["_".join(words[-size:]).lower() for size in range(len(words), 1, -1)]
        yield _Amount(
            start=found.start(),
            end=found.end(),
            value=value,
            names=tuple(item for item in (slot, *names) if item),
        )


def _bare(key: str) -> str:
    return key.rpartition(".")[2].lstrip("-").replace("-", "_").lower()
