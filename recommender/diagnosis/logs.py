"""A log read: known faults in it, statements of released programs, and what no table understands."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kg.nouns.codec import NOT_IN_JSON, JsonNoun, in_json
from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.known_faults import MOST_TEXT, KnownFaults, SeenFault
from recommender.diagnosis.log_lines import BEGINS, KEPT_LINES, MOST_FURTHER, SAYS_ERROR, LogLine, read_lines
from recommender.diagnosis.log_programs import BASES, CODES, ProgramMark, program_marks
from recommender.diagnosis.pressures import argument_marks, arguments_in, as_numbers, telling_patterns
from recommender.diagnosis.rank_sequences import MARK, RankSequences
from recommender.diagnosis.serving import MAY_TELL, LoadSamples, telling_marks
from recommender.diagnosis.statements import (
    LEVELS,
    KnownStatement,
    StatementHit,
    StatementIndex,
    index_of,
    programs,
    values_found,
)
from recommender.diagnosis.text_index import TextIndex
from recommender.diagnosis.training_rates import MARKS, TrainingSamples, training_marks

MOST_NEAREST = 3
FEW = 3
"""Programs that one log is usually written by: a choice."""
MOST_KEPT = 100_000
"""Lines in which statements are looked for, the last ones: a log without end has other lines without end."""
ALIKE = 0.7
"""Part of the longest fitting pattern that one of another program must have to be named beside it."""
_PARTS = (
    "error",
    "exception",
    "interrupt",
    "fault",
    "critical",
    "fatal",
    "panic:",
    "failed",
    "aborted",
    "dumped",
    "warn",
)
"""Parts of those and of warnings; of the heads of Google's logger the digits tell."""
_SIZE = re.compile(r"\b(?=\w*(?:BLOCK|block_?size))(\w++)\s*+[=:]{1,2}\s*+(\d++)\b")
"""A size of a block as a program prints it."""
_BLOCK, _FRAME_BYTES = b"block", b'File "'
"""Texts of lines that state the size of a block, or a frame of a traceback."""
_FRAME = re.compile(r'File "[^"]+", line \d+, in (\w+)')
_SAYS_NONE = re.compile(r"\b(?:INFO|DEBUG|(?<!NCCL )WARN(?:ING)?)\b")
"""A line that is no error; NCCL and RCCL have no graver word than their warning."""
_STATE = re.compile(r"(?:(?!WARN|ERROR|CRITICAL|FATAL|NCCL ).){0,60}?(?<![=:'\"])\b(?:INFO|DEBUG)\b")
_SAYS_RAISED = re.compile(r"Error|Exception|error|ERROR|[Aa]ssert|CRITICAL|FATAL|Traceback")
_EXCEPTION = re.compile(r"\w(?:Error|Exception)\b")
GRAVE = LEVELS.index("error")
"""Levels up to this one are errors; what follows are warnings and lines of state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStatement(JsonNoun):
    """A statement of a released program that wrote lines of a log.

    Attributes:
        statement: The most specific statement that fits.
        programs: Programs that have it, with their releases.
        lines: The first lines that show it.
        count: Number of lines that show it.
        last: Number of the last line.
        text: Text of the last line, cut to 200 characters.
        values: Values of the last line by name.
        message: Text of the last line.
        is_own: Whether its programs show themselves in the log, or none does: else its words alone are known.
    """

    programs: Mapping[str, str]
    statement: KnownStatement = field(metadata=in_json(is_spread=True))
    lines: tuple[int, ...]
    count: int
    last: int = field(metadata=NOT_IN_JSON)
    text: str
    values: Mapping[str, str]
    message: str = field(default="", metadata=NOT_IN_JSON)
    is_own: bool = field(default=True, metadata=in_json("program_shown"))

    @property
    def is_grave(self) -> bool:
        """True if it is an error, not a warning or a line of state."""
        return LEVELS.index(self.statement.level) <= GRAVE


def _numbered(lines: Iterable[tuple[int, str]]) -> list[dict[str, object]]:
    return [{"line": number, "text": text[:MOST_TEXT]} for number, text in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReading(JsonNoun):
    """A log as it was understood.

    Attributes:
        faults: Known faults: causes before what only says that something failed, the last one first.
        statements: Statements of released programs on other lines: errors before warnings, the last first.
        states: Lines of state with their numbers, in their order.
        programs: Programs that the log's own lines show.
        unknown: Lines that tell of an error no table has: number and text, the first and the last ones.
        numbers: Memory in GiB, lengths and limits that lines tell, by name.
        following: Text of lines by number, where a message goes on.
        nearest: Lines nearest to being understood, where nothing is.
        looked_for: How many faults and statements of which programs were looked for.
        lines: Lines that the log has.
        arguments: Arguments that a server tells of itself, by name.
        sizes: Sizes of blocks that lines assign, by name: of a kernel that does not fit.
        functions: Functions in tracebacks, the last one last.
        behind: Ranks behind the others where a collective timed out, their number of it and the others'.
    """

    faults: tuple[SeenFault, ...]
    statements: tuple[SeenStatement, ...]
    states: tuple[SeenStatement, ...]
    programs: tuple[str, ...]
    unknown: tuple[tuple[int, str], ...] = field(metadata=in_json(write=_numbered))
    nearest: tuple[tuple[int, str], ...] = field(metadata=in_json(write=_numbered))
    looked_for: str
    lines: int = field(metadata=NOT_IN_JSON)
    arguments: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict, metadata=NOT_IN_JSON)
    numbers: Mapping[str, float] = field(default_factory=dict, metadata=NOT_IN_JSON)
    following: Mapping[int, str] = field(default_factory=dict, metadata=NOT_IN_JSON)
    functions: tuple[str, ...] = field(default=(), metadata=NOT_IN_JSON)
    behind: tuple[tuple[int, ...], int, int] | None = field(default=None, metadata=NOT_IN_JSON)

    def goes_on(self, number: int) -> str:
        """A message's further lines: those behind it that begin no line of a log."""
        more: list[str] = []
        for place in range(number + 1, number + 1 + MOST_FURTHER):
            text = self.following.get(place)
            if text is None or BEGINS.match(text.encode()) or SAYS_ERROR.search(text.encode()):
                break
            more.append(text.strip())
        return " ".join(more)

    @property
    def names_error(self) -> bool:
        """True if a fault or an error of a released program is named."""
        return bool(self.faults) or any(item.is_grave for item in self.statements)

    @property
    def has_own_lines(self) -> bool:
        """True if it holds lines of a released program."""
        return bool(self.states or self.statements)


def read_log(
    path: Path,
    patterns: Iterable[FaultPattern],
    samples: LoadSamples | None = None,
    steps: TrainingSamples | None = None,
) -> LogReading:
    """A log as it was understood.

    Args:
        path: The log.
        patterns: Known faults.
        samples: Takes the statistics of a server on the way.
        steps: Takes what a trainer tells of its steps.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    faults = KnownFaults(patterns)
    # one index of rare bytes for all that is looked for: most lines hold none and cost next to nothing
    told = ((pattern, pattern) for pattern in telling_patterns())
    parts = [(text, None) for text in (*_PARTS, *MAY_TELL, *MARKS, *faults.digits())]
    looked_at = [(text.decode(), text) for text in (_BLOCK, _FRAME_BYTES)]
    looked_at += [(text, text.encode()) for text in argument_marks()]
    index: TextIndex[int | str | ProgramMark | bytes | None] = TextIndex(
        [*parts, *looked_at, *faults.items(), *told, *program_marks()]
    )
    marked: set[str] = set()
    others: list[LogLine] = []
    arguments: dict[str, str] = {}
    sizes: dict[str, int] = {}
    numbers: dict[str, float] = {}
    functions: dict[str, int] = {}
    number = 0
    taken, sequences = samples or LoadSamples(), RankSequences()
    for kinds in read_lines(
        path,
        index.places,
        faults.codes_in,
        lambda text: telling_marks(text) + [MARK] * (MARK in text) + training_marks(text),
        lambda line: _take(line, sequences, taken, steps),
    ):
        further: list[LogLine] = []
        for line, items in zip(kinds, index.find([line.head for line in kinds]), strict=True):
            number = max(number, line.last_number)
            if line.has_head:
                marked.update(name for name, code in CODES.items() if code.search(line.head))
            if not items and not line.has_head and not line.code:
                further.append(line)
                continue
            last = line.last
            line.says_error = SAYS_ERROR.search(line.tail) is not None
            shown: list[int] = []
            for item in items:
                if isinstance(item, int):
                    shown.append(item)
                elif isinstance(item, str):
                    numbers |= as_numbers(values_found(item, last) or {})
                elif isinstance(item, tuple):
                    if item[0] not in marked and item[1].search(line.head):
                        marked.add(item[0])
                        index.drop(lambda other: isinstance(other, tuple) and other[0] in marked)
                elif item is not None:
                    _tell(item, line, arguments, sizes, functions)
            if not faults.take(line, shown):
                further.append(line)
        # a log of any length is read in bounded memory: lines that may still explain something stay
        if len(kept := [*others, *further]) > MOST_KEPT:
            kept = _worth(kept, marked)[-MOST_KEPT:]
        others = kept
    marked |= {BASES[name] for name in marked if name in BASES}
    telling = [line for line in others if line.says_error]
    statements, looked = _statements(others, telling, marked)
    graves = [item for item in statements if item.is_grave]
    states = [item for item in statements if item.statement.level == "info"]
    known = {number for item in statements for number in item.lines}
    unknown = [line for line in telling if not _STATE.match(line.last) and not known & set(line.numbers)]
    unknown.sort(key=lambda line: line.numbers[0])
    seen = faults.seen_faults()
    own = dict.fromkeys(name for item in statements for name in item.programs)
    return LogReading(
        faults=tuple(seen),
        statements=(*graves, *(item for item in statements if item.statement.level == "warning")),
        states=tuple(sorted(states, key=lambda item: item.lines[0])),
        programs=tuple(sorted(marked)) or tuple(own),
        unknown=(*((line.numbers[0], line.first.strip()) for line in unknown[:1]), *_last_lines(unknown[1:])),
        nearest=() if seen or statements else _last_lines([*_nearest(others, looked), *unknown]),
        looked_for=f"{faults.number} known faults, statements of {', '.join(looked) or 'no program'}",
        lines=number,
        arguments=arguments,
        sizes=sizes,
        numbers=numbers,
        functions=tuple(sorted(functions, key=functions.__getitem__)),
        behind=sequences.behind(),
        following={place: line.last for line in others for place in (*line.numbers, line.last_number)},
    )


def _take(line: bytes, sequences: RankSequences, samples: LoadSamples, steps: TrainingSamples | None) -> None:
    """Hand a line with a mark to what reads it: collectives, the load of a server, or steps of a training."""
    if MARK in line:
        sequences.take(line)
    elif telling_marks(line):
        samples.take(line)
    elif steps is not None and training_marks(line):
        steps.take(line)


def _tell(
    mark: bytes, line: LogLine, arguments: dict[str, str], sizes: dict[str, int], functions: dict[str, int]
) -> None:
    """Take what a line with a mark tells: sizes of blocks, functions of a traceback, or arguments."""
    if mark == _BLOCK:
        sizes |= {name: int(value) for name, value in _SIZE.findall(line.last)}
    elif mark == _FRAME_BYTES:
        found = _FRAME.findall(line.last)
        functions |= {name: max(line.last_number, functions.get(name, 0)) for name in found}
    else:
        arguments |= arguments_in(line.last)


def _worth(lines: Sequence[LogLine], marked: set[str]) -> list[LogLine]:
    """Lines of a log without end that tell an error, go on with one, or are warnings of its programs."""
    index = _index(marked)
    telling = {line.last_number for line in lines if line.says_error}
    near = {number + step for number in telling for step in range(MOST_FURTHER + 1)}
    for line in lines:
        if not line.is_kept:
            warns = b"WARN" in line.tail
            line.is_kept = line.last_number in near or (warns and bool(index.near(line.last)))
    return [line for line in lines if line.is_kept]


def _statements(
    lines: Sequence[LogLine], telling: Sequence[LogLine], marked: set[str]
) -> tuple[list[SeenStatement], list[str]]:
    """Statements that wrote lines, and the programs looked in: those marked, all where they tell no error."""
    every = programs()
    looked = [name for name in every if name in marked]
    found = _found(lines, looked)
    if any(item.is_grave for item in found):
        return found, looked
    tells = telling if looked else lines
    rest = [name for name in every if name not in marked] if tells else []
    others = [
        replace(item, is_own=not looked) for item in _found(tells, rest) if not looked or _is_raised(item)
    ]
    return sorted([*found, *others], key=_order), [*looked, *rest]


def _found(lines: Iterable[LogLine], names: Iterable[str]) -> list[SeenStatement]:
    """Statements of programs that wrote lines: errors first, those with numbers first, the last first."""
    asked = frozenset(names)
    index = _index(asked)
    held: dict[str, tuple[list[StatementHit], list[LogLine]]] = {}
    for line in lines:
        hits = [hit for hit in index.hits(line.last, asked) if _may_write(hit, line.last)]
        if hits:
            held.setdefault(hits[0][0].pattern, (hits, []))[1].append(line)
    return sorted((_seen_statement(hits, kinds) for hits, kinds in held.values()), key=_order)


def _index(names: Collection[str]) -> StatementIndex:
    """An index with the statements of some programs: of few their own, else of all, which is made once."""
    return index_of(tuple(sorted(names if len(names) <= FEW else programs())))


def _seen_statement(hits: Sequence[StatementHit], lines: Sequence[LogLine]) -> SeenStatement:
    last = max(lines, key=lambda line: line.last_number)
    first = hits[0][0]
    alike = [item for item, _ in hits if ALIKE * len(first.pattern) <= len(item.pattern)]
    return SeenStatement(
        statement=first,
        programs={item.program: item.releases for item in reversed(alike)},
        lines=tuple(sorted({number for line in lines for number in line.numbers})[:KEPT_LINES]),
        count=sum(line.count for line in lines),
        last=last.last_number,
        text=last.last.strip()[:MOST_TEXT],
        values=first.values_in(last.last) or {},
        message=last.last.strip(),
    )


def _is_raised(item: SeenStatement) -> bool:
    """True if the line names no exception other than the one that its statement raises."""
    is_other = _EXCEPTION.search(item.message) is not None and item.statement.where not in item.message
    return item.statement.level != "raise" or not is_other


def _order(item: SeenStatement) -> tuple[bool, bool, int]:
    return not item.is_grave, not _numbers(item.values), -item.last


def _may_write(hit: StatementHit, line: str) -> bool:
    """True if a line looks as its statement's level writes it."""
    statement, values = hit
    level = statement.level
    if level == "info":
        return _numbers(values)
    if level == "warning" or _SAYS_RAISED.search(line):
        return True
    return not _SAYS_NONE.search(line) and len(statement.pattern) >= len(line.strip()) // 2


def _numbers(values: Mapping[str, str]) -> bool:
    return any(re.match(r"-?\.?\d", text) for text in values.values())


def _nearest(lines: Sequence[LogLine], looked: Sequence[str]) -> list[LogLine]:
    """Lines of no error in the order of how many words they share with what is known."""
    words = _index(looked).words
    others = (line for line in lines if line.last.strip() and not line.says_error)
    return sorted(others, key=lambda line: len(words.intersection(line.last.split())))


def _last_lines(lines: Sequence[LogLine]) -> tuple[tuple[int, str], ...]:
    near = sorted(lines[-MOST_NEAREST:], key=lambda line: line.last_number)
    return tuple((line.last_number, line.last.strip()) for line in near)
