"""Text of a log that was read: faults, statements, the load of a server, steps of a training, what to set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cli import output
from cli.diagnosis.labels import say_labelled
from cli.output import say
from cli.text.language import language, localised
from kg.errors import NoEvidenceError
from recommender.diagnosis.known_faults import MOST_TEXT
from recommender.diagnosis.pressures import as_numbers, is_general
from recommender.diagnosis.training_rates import LONGER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recommender.answers.log_answer import LogAnswer
    from recommender.diagnosis.known_faults import SeenFault
    from recommender.diagnosis.logs import SeenStatement
    from recommender.diagnosis.pressures import Move
    from recommender.diagnosis.serving import ServingLoad
    from recommender.diagnosis.training_rates import TrainingRates

MOST_STATEMENTS = 3
MOST_STATES = 6
MOST_MOVES = 5
_LOAD = {
    "prompt_tokens_s": ("prompt tokens/s", 1.0), "generated_tokens_s": ("generated tokens/s", 1.0),
    "running": ("requests running", 1.0), "waiting": ("requests waiting", 1.0),
    "kv_share": ("KV cache in use, %", 100.0), "prefix_hit_share": ("prefix cache hits, %", 100.0),
    "preemptions": ("preemptions", 1.0), "paused": ("requests paused", 1.0),
    "step_ms": ("ms a step", 1.0), "accepted_tokens": ("tokens a step with drafts", 1.0),
    "accepted_share": ("drafts accepted, %", 100.0),
}  # fmt: skip
"""Names of the statistics of a server, and what they are multiplied by on the screen."""
_RATES = {
    "step_s": ("s a step", 1.0), "steps_s": ("steps/s", 1.0), "samples_s": ("samples/s", 1.0),
    "tokens_s": ("tokens/s", 1.0), "tflops": ("TFLOP/s a device", 1.0), "mfu": ("MFU, %", 100.0),
    "memory_gib": ("memory, GiB", 1.0), "memory_share": ("memory in use, %", 100.0),
}  # fmt: skip
"""The same of a trainer."""
_MODELLED = {
    "needed": "KV cache of one request of full length", "weights": "weights", "capacity": "memory of a device"
}  # fmt: skip
"""Memory that the cost model adds, each on one device."""
_TIMED_OUT = "nccl-watchdog-timeout"
_PROCESS, _HELD = "process", "held_by_process"
"""Names of values of a fault: who holds memory of the device, and how much."""
_ALLOCATORS = {
    "cuda-out-of-memory": "PYTORCH_CUDA_ALLOC_CONF", "npu-out-of-memory": "PYTORCH_NPU_ALLOC_CONF",
}  # fmt: skip
"""Variables that let segments of PyTorch's allocator grow, by fault; its notes on CUDA memory."""


def show_log(path: Path, answer: LogAnswer) -> None:
    """Print the reading of a log."""
    reading = answer.reading
    for name, seen in answer.beside.items():
        _show_beside(name, seen)
    graves = [item for item in reading.statements if item.is_grave]
    causes = [item for item in reading.faults if not is_general(item.fault.id)]
    named = [*(item.lines[0] for item in reading.faults), *(item.lines[0] for item in graves)]
    is_echo = not causes and bool(named) and bool(reading.unknown) and reading.unknown[0][0] < min(named)
    if is_echo:  # what came before may be the cause of what failed in turn
        number, text = reading.unknown[0]
        say(f"first error, which no table has, line {number}")
        say_labelled("seen", text[:MOST_TEXT], is_quoted=True)
        say()
    for fault in causes or ([] if graves else reading.faults):
        _show_fault(fault, answer)
    for item in (graves or ([] if reading.faults else reading.statements))[:MOST_STATEMENTS]:
        _show_statement(item, answer)
    for fault in reading.faults if graves and not causes else []:  # they only say that something failed
        _show_fault(fault, answer)
    _show_unknown(answer, is_named=bool(causes or graves), shown=int(is_echo))
    if answer.load is not None:
        _show_load(answer.load, answer.lacks)
    if answer.training is not None:
        _show_training(answer.training)
    for lack, moves in answer.lacks.items():
        if moves:
            say(f"Against {lack} in {answer.program}")
            _show_moves(moves)
            if answer.modelled:
                parts = ", ".join(
                    f"{_MODELLED[name]} {value:.2f} GiB" for name, value in answer.modelled.items()
                )
                say_labelled("modelled", parts)
            say()
    if not (reading.names_error or answer.cures):
        _show_states(path, answer)


def _show_beside(name: str, seen: tuple[SeenFault, ...]) -> None:
    """Faults of devices and hosts in a file beside the log."""
    if not seen:
        say(f"Beside, {name}: no fault of a device or host.")
        say()
    for item in seen:
        say(f"Beside, {name}: {item.fault.label}, line {_lines(item.lines, item.count)}")
        say_labelled("seen", item.first, is_quoted=True)
        _show_values(item.values)
        say_labelled("remedy", _in_language(item.fault.remedy))
        say()


def _show_moves(moves: tuple[Move, ...]) -> None:
    for move in moves[:MOST_MOVES]:
        say_labelled("set", move.text + (f", if {move.condition}" if move.condition else ""))


def _show_unknown(answer: LogAnswer, *, is_named: bool, shown: int) -> None:
    """Errors that no table has: those that say something of settings, all where nothing else is named."""
    for number, text in answer.reading.unknown[shown:]:
        cure = answer.cures.get(number)
        if is_named and cure is None:
            continue
        say(f"error that no table has, line {number}")
        say_labelled("seen", text[:MOST_TEXT], is_quoted=True)
        if cure is not None:
            _show_moves(cure.moves)
        say()


def not_understood(path: Path, answer: LogAnswer) -> NoEvidenceError:
    """The refusal of a log in which nothing is understood."""
    reading = answer.reading
    near = reading.nearest or reading.unknown
    lines = "; ".join(f"{localised(f'line {number}')}: {text[:MOST_TEXT]}" for number, text in near)
    return NoEvidenceError(
        f"{path}: nothing of its {reading.lines} lines is understood; nearest are {lines}",
        hint=f"looked for {reading.looked_for}",
    )


def _show_fault(item: SeenFault, answer: LogAnswer) -> None:
    codes = f" [{', '.join(item.fault.codes)}]" if item.fault.codes else ""
    say(f"{item.fault.label}{codes}, line {_lines(item.lines, item.count)}")
    say_labelled("seen", item.first, is_quoted=True)
    _show_values(item.values)
    if (held := item.values.get(_HELD)) and _is_of_another(item.values):
        say_labelled(
            "first",
            f"process {item.values[_PROCESS]} holds {held} of this device: end it, or take another device",
        )
    if (name := _ALLOCATORS.get(item.fault.id)) and (spare := _in_pieces_gib(item.values)):
        asked = item.values["asked"]
        say_labelled(
            "first",
            f"{spare:.1f} GiB are reserved and free, and none of their pieces holds {asked}: write "
            f"{name}=expandable_segments:True",
        )
    if item.fault.id == _TIMED_OUT and (behind := answer.reading.behind) is not None:
        ranks, low, high = ", ".join(map(str, behind[0])), *behind[1:]
        say_labelled(
            "first", f"rank {ranks} is behind: at collective {low}, others at {high}; see what it waits for"
        )
    say_labelled("cause", _in_language(item.fault.cause))
    say_labelled("remedy", _in_language(item.fault.remedy))
    if answer.block is not None and item is answer.reading.faults[0]:
        name, size, largest = answer.block
        say_labelled(
            "bound", f"{name} {size} is too large: at most {largest} fits, as the need grows with it"
        )
    if cure := answer.cures.get(item.last):
        _show_moves(cure.moves)
    if strategies := answer.strategies[item.fault.id]:
        say_labelled("try", ", ".join(strategies))
    say_labelled("source", item.fault.source.url or item.fault.source.title)
    say()


def _show_statement(item: SeenStatement, answer: LogAnswer) -> None:
    known = ", ".join(f"{program} {releases}" for program, releases in item.programs.items())
    what = {"raise": item.statement.where}.get(item.statement.level, item.statement.level)
    of = "known statement of" if item.is_own else "in words of"
    say(f"{what}, {of} {known}, line {_lines(item.lines, item.count)}")
    say_labelled("seen", item.text, is_quoted=True)
    _show_values(item.values)
    if cure := answer.cures.get(item.last):
        _show_moves(cure.moves)
    say()


def _show_values(values: Mapping[str, str]) -> None:
    numbers = {name: _with_size(text) for name, text in values.items() if _is_number(text)}
    if told := ", ".join(f"{_in_words(name)} {text}" for name, text in numbers.items()):
        sizes = as_numbers(values)
        need, there = sizes.get("required", 0.0), sizes.get("available", 0.0)
        more = f": {need / there:.2f} times what is there" if 0 < there < need else ""
        say_labelled("numbers", told + more)


def _in_words(name: str) -> str:
    """The name of a number as its program has it, or in words of the language where those are known."""
    words = name.replace("_", " ")
    return name if localised(words) == words else localised(words)


def _is_of_another(values: Mapping[str, str]) -> bool:
    """True if the named process is another one: in a container PyTorch cannot tell its own by number."""
    sizes = as_numbers(values)
    own = sizes.get("allocated", math.inf) + sizes.get("unallocated", 0.0)
    return "own" in sizes or sizes.get(_HELD, 0.0) < own < math.inf


def _in_pieces_gib(values: Mapping[str, str]) -> float:
    """Memory that PyTorch has reserved and that nothing uses, if what was asked for is less; else 0."""
    sizes = as_numbers(values)
    spare = sizes.get("unallocated", sizes.get("reserved", 0.0) - sizes.get("allocated", math.inf))
    return spare if 0 < sizes.get("asked", math.inf) <= spare else 0.0


def _is_number(text: str) -> bool:
    return text.lstrip("-+.")[:1].isdigit()


def _with_size(text: str) -> str:
    """A number of bits with its KiB; anything else as it is."""
    number, _, unit = text.partition(" ")
    if unit == "bits" and number.isdigit():
        return f"{text} ({int(number) / 8192:g} KiB)"
    return text


def _show_states(path: Path, answer: LogAnswer) -> None:
    """Print that no error is named, and the lines of a program's state."""
    programs = ", ".join(answer.reading.programs)
    trainer = "" if answer.training is None else answer.training.program
    say(f"{path}: lines of {programs or answer.server or trainer}, none of them an error.")
    for item in answer.reading.states[-MOST_STATES:]:
        say_labelled("says", f"{localised(f'line {item.last}')}: {item.text}", is_quoted=True)


def _show_load(load: ServingLoad, lacks: Mapping[str, tuple[Move, ...]]) -> None:
    say(f"Load of {load.engine}, {load.samples} samples")
    rows = [
        (label, f"{scale * load.means[name]:.1f}", f"{scale * load.peaks[name]:.1f}")
        for name, (label, scale) in _LOAD.items()
        if name in load.means
    ]
    output.table(("what", "mean", "most"), rows)
    if load.accepted:
        rates, useful = ", ".join(f"{rate:.0%}" for rate in load.accepted), load.useful_drafts
        say(f"Drafts accepted by position: {rates}; {useful} of them bring 1/32 of a step or more.")
    if load.decode_rates is not None:
        busy, quiet = load.decode_rates
        say(f"Prefills block decoding: {busy:.1f} tokens/s a request beside them, {quiet:.1f} without.")
    if load.short_share:
        say(
            f"KV blocks run short [kv-block-shortage] in {load.short_share:.0%} of the samples, "
            "and requests wait."
        )
    elif "kv-block-shortage" in lacks:
        say("KV blocks run short [kv-block-shortage]: requests that run are put back.")
    elif load.limit is not None and "waiting" in load.means:
        say(f"All {load.limit} requests that may run at once do [running-limit], and others wait.")
    elif load.limit is not None:
        say(f"All {load.limit} requests that may run at once do [running-limit].")
    elif load.waits_though_free:
        say("Requests wait though KV blocks are free.")
    elif load.peaks.get("waiting", 0) > 0:
        say("Requests wait in some of the samples.")
    elif "waiting" in load.means:
        say("No request waits.")


def _show_training(rates: TrainingRates) -> None:
    """Print the steps of a training: their rates, the slow ones, memory and parts."""
    say(f"Training by {rates.program}, {rates.samples} steps told")
    rows = [
        (label, f"{scale * rates.medians[name]:.4g}", f"{scale * rates.peaks[name]:.4g}")
        for name, (label, scale) in _RATES.items()
        if name in rates.medians
    ]
    output.table(("what", "median", "most"), rows)
    if rates.slow:
        where = localised(f"every {rates.every} steps") if rates.every else localised("anywhere")
        say(
            f"{rates.slow} steps, {where}, take {rates.factor:.1f} times the median: "
            f"{rates.lost_share:.0%} of the time."
        )
    if rates.growth >= LONGER:
        say(f"Steps of the last quarter take {rates.growth:.2f} times those of the first.")
    if rates.is_full:
        say(f"Device memory is full to {rates.peaks['memory_share']:.0%} [memory-capacity].")
    if rates.reduces is not None:
        name, share = rates.reduces
        say(f"Reducing gradients ({name}) is {share:.0%} of a step [data-parallel-communication].")
    if rates.parts:
        say("Parts of a step: " + ", ".join(f"{name} {share:.0%}" for name, share in rates.parts.items()))
    say()


def _lines(lines: tuple[int, ...], count: int) -> str:
    more = f" and {count - len(lines)} more" if count > len(lines) else ""
    return ", ".join(map(str, lines)) + more


def _in_language(texts: Mapping[str, str]) -> str:
    return texts.get(language()) or texts.get("en", "")
