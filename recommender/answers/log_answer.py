"""The answer to a log: what is understood of it, the load of a server in it, and what to set."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kg.nouns.codec import JsonNoun
from kg.nouns.knowledge import Bottleneck, FactKind, FaultPattern, Strategy
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, from_graph
from recommender.diagnosis.known_faults import MOST_TEXT, SeenFault, read_faults
from recommender.diagnosis.log_programs import owner_of, server_of
from recommender.diagnosis.logs import LogReading, read_log
from recommender.diagnosis.message_moves import MessageMoves
from recommender.diagnosis.pressures import (
    Move,
    as_numbers,
    draft_lengths,
    home_of,
    is_prefix_cache_off,
    lacks_of,
    limit_name,
    moves_against,
    running_limits,
)
from recommender.diagnosis.serving import LoadSamples, ServingLoad
from recommender.diagnosis.size_bounds import size_bounds
from recommender.diagnosis.training_rates import TrainingRates, TrainingSamples

KV_SHORT = "kv-block-shortage"
RUNNING_LIMIT = "running-limit"
CONSERVATIVE, WAITS = "conservative-scheduler", "waits-though-free"
DRAFTS, PREFILL, NO_PREFIXES = "drafts-rejected", "prefill-blocks-decode", "prefix-cache-off"
_RESERVES = ("sglang", "tensorrt-llm")
"""Servers that keep cache free for what running requests may still generate, as a setting says."""
FREE_KV = "free_kv_block_share"
_SERVING = frozenset({"inference", "decode", "prefill", "serving"})


_SAYS_MORE = re.compile(r"debug|verbos|log_?level", re.IGNORECASE)
"""Settings by which a program tells more of what failed: no cure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure(JsonNoun):
    """Settings that the words and numbers of one message call for.

    Attributes:
        line: Its number.
        text: The message as it is shown.
        program: The program that takes the settings.
        moves: The settings and where to move them.
    """

    line: int
    text: str
    program: str
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAnswer:
    """Faults, statements and state of a log, with the settings that help.

    Attributes:
        reading: What is understood of its lines.
        load: The load of a server over time; None without one.
        training: The steps of a training over time; None without any, and in the log of a server.
        program: The program whose settings the run is started with; empty where none is shown.
        server: The server among its programs; empty where none serves.
        lacks: What runs short or holds back, each with the settings against it.
        strategies: For each fault the strategies that go with the program, by fault.
        cures: What messages themselves say of settings, by number of their line.
        modelled: Memory of the model in GiB that the log does not tell, by the cost model.
        beside: Faults of devices and hosts in files beside the log, by file.
        block: The largest block that fits, where lines tell what a kernel needs, has, and its block: name,
            size and the largest; None otherwise.
    """

    reading: LogReading
    load: ServingLoad | None
    program: str
    server: str
    lacks: Mapping[str, tuple[Move, ...]]
    strategies: Mapping[str, tuple[str, ...]]
    cures: Mapping[int, Cure]
    modelled: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, tuple[SeenFault, ...]] = field(default_factory=dict)
    block: tuple[str, int, int] | None = None
    training: TrainingRates | None = None

    @property
    def is_understood(self) -> bool:
        """True if something is named, or if a known program wrote the log and no error of it is unknown."""
        is_known = bool(self.load or self.training) or self.reading.has_own_lines
        is_named = self.reading.names_error or any((self.lacks, self.cures, *self.beside.values()))
        return is_named or (is_known and not self.reading.unknown)

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        content = self.reading.to_json()
        faults = [
            {**item.to_json(), "strategies": list(self.strategies[item.fault.id])}
            for item in self.reading.faults
        ]
        return {
            **content,
            "faults": faults,
            "understood": self.is_understood,
            "program": self.program or None,
            "server": self.server or None,
            "serving": None if self.load is None else self.load.to_json(),
            "training": None if self.training is None else self.training.to_json(),
            "lacks": {name: [move.to_json() for move in moves] for name, moves in self.lacks.items()},
            "modelled": dict(self.modelled),
            "beside": {name: [item.to_json() for item in seen] for name, seen in self.beside.items()},
            "cures": [item.to_json() for item in self.cures.values()],
            "block": None
            if self.block is None
            else {"name": self.block[0], "size": self.block[1], "largest": self.block[2]},
        }


def answer_log(
    graph: GraphStore,
    log: Path,
    *,
    beside: Sequence[Path] = (),
    modelled: Callable[[Mapping[str, str]], Mapping[str, float]] = lambda _: {},
) -> LogAnswer:
    """Faults, statements and state of a log, with the settings that help.

    Args:
        graph: What is known.
        log: The log.
        beside: Logs of the kernel and outputs of tools for devices, from the same time.
        modelled: Memory in GiB by the arguments of a server.

    Raises:
        InputError: A file cannot be read, or nothing is in it.
    """
    samples, steps = LoadSamples(), TrainingSamples()
    patterns = list(all_of(graph, FaultPattern))
    reading = read_log(log, patterns, samples, steps)
    given = dict(reading.arguments) | samples.arguments
    load = samples.load(_least_free(graph))
    if load is not None:
        load = load.with_limit(running_limits(load.engine, given))
        load = load.with_drafts(*draft_lengths(load.engine, given))
    server = server_of(reading.programs) or (load.engine if load is not None else "")
    program = owner_of(reading.programs) or server
    strategies = (item for item in all_of(graph, Strategy) if item.kind != FactKind.CLAIMED)
    advice = {item.id: set(item.phases) for item in strategies}
    faults = (item.fault.id for item in reading.faults) if program else ()
    parts = (item.values["component"] for item in reading.faults if "component" in item.values)
    lacks = lacks_of(faults, program, (*reading.functions, *parts))
    told = _numbers_of(reading)
    added = {name: value for name, value in modelled(reading.arguments).items() if name not in told}
    numbers = told | added
    if load is not None:
        if home_of(server) != load.engine:  # a page of one server behind the log of another
            server = program = load.engine
        lacks += _lacks_of_load(load, is_short=KV_SHORT in lacks, is_out=bool(lacks))
        lacks += [NO_PREFIXES] * is_prefix_cache_off(program, given)
        numbers |= load.numbers
        if RUNNING_LIMIT in lacks:
            given |= {limit_name(load.engine): str(load.limit)}
    against = {lack: tuple(moves_against(lack, program, given, numbers)) for lack in dict.fromkeys(lacks)}
    return LogAnswer(
        reading=reading,
        load=load,
        training=steps.rates() if load is None else None,
        program=program,
        server=server,
        lacks=against,
        strategies={
            item.fault.id: tuple(
                name
                for name in item.fault.strategies
                if name in advice and (not server or not advice[name] or advice[name] & _SERVING)
            )
            for item in reading.faults
        },
        cures=_cures(reading, program, given, has_moves=any(against.values())),
        modelled=added if lacks else {},
        beside={str(path): read_faults(path, patterns) for path in beside},
        block=_largest_block(reading),
    )


def _numbers_of(reading: LogReading) -> dict[str, float]:
    """Memory, lengths and limits that a log states: first its lines of state, then its errors."""
    numbers = dict(reading.numbers)
    for item in reversed(reading.faults):
        numbers |= as_numbers(item.values)
    return numbers


def _cures(
    reading: LogReading, program: str, given: Mapping[str, str], *, has_moves: bool
) -> dict[int, Cure]:
    """Cures that messages themselves name, where no table has one: of faults, errors, then unknown lines."""
    found: dict[int, Cure] = {}
    if not has_moves:
        for fault in reading.faults:
            _take(found, reading, program, given, (fault.last, fault.message, fault.fault.patterns))
    for item in reading.statements:
        if item.is_grave:
            owner = item.statement.program if item.is_own or not program else program
            _take(found, reading, owner, given, (item.last, item.message, [item.statement.pattern]))
    for number, text in reading.unknown if program else ():
        _take(found, reading, program, given, (number, text, []))
    return found


def _take(
    found: dict[int, Cure],
    reading: LogReading,
    program: str,
    given: Mapping[str, str],
    message: tuple[int, str, Sequence[str]],
) -> None:
    number, text, patterns = message
    moves = [
        move
        for move in MessageMoves(program, given).moves(text, reading.goes_on(number), patterns)
        if not _SAYS_MORE.search(move.key)
    ]
    if moves:
        found[number] = Cure(line=number, text=text[:MOST_TEXT], program=program, moves=tuple(moves))


def _least_free(graph: GraphStore) -> float:
    """Share of free KV blocks below which they are short."""
    symptoms = from_graph(graph, Bottleneck, KV_SHORT).symptoms
    return next((item.threshold for item in symptoms if item.metric == FREE_KV), 0.0)


def _lacks_of_load(load: ServingLoad, *, is_short: bool, is_out: bool) -> list[str]:
    """Settings that hold requests back or slow them down, by the statistics of a server.

    Where memory ran out (``is_out``) more requests at once are no advice.
    """
    found = [DRAFTS] if load.accepted and load.useful_drafts < len(load.accepted) else []
    found += [PREFILL] if load.decode_rates is not None else []
    if load.short_share or is_short:
        return [KV_SHORT, *found]
    if load.limit is not None and not is_out:
        return [RUNNING_LIMIT, *found]
    if load.waits_though_free and not is_out:
        return [CONSERVATIVE if load.engine in _RESERVES else WAITS, *found]
    return found


def _largest_block(reading: LogReading) -> tuple[str, int, int] | None:
    """Name, size and largest of the one block that does not fit on chip."""
    fitting = ((item.sizes, item.most) for item in size_bounds(reading) if item.most is not None)
    return next(((name, size, most) for sizes, most in fitting for name, size in sizes.items()), None)
