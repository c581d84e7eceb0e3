"""Frames of Python in traces of PyTorch that were recorded with ``with_stack``: what the program was doing.

A frame is named ``torch/optim/adam.py(553): _multi_tensor_adam``, a function of C
``<built-in function collect>``; ``Python id`` and ``Python parent id`` say who called whom. Numbers of lines
and addresses are left out of what is kept, so that names are few.

Source:
    PyTorch, ``torch/csrc/autograd/profiler_python.cpp`` and ``profiler_kineto.cpp`` (names, ids). Functions
    of the loader, the optimisers, autocast, Dynamo and built-in ones as traces of PyTorch 2.13 have them;
    those of DDP, FSDP and checkpoints as ``torch/nn/parallel``, ``torch/distributed`` and
    ``torch/serialization.py`` of 2.x name them.
"""

import re
import sys
from array import array
from collections.abc import Mapping

import numpy as np

from ingest.profiles.cells import nanoseconds
from ingest.profiles.facts.details import IdleFrame
from ingest.profiles.facts.intervals import gaps
from ingest.profiles.facts.kernels import Floats, Integers, Kernels, Mask
from ingest.profiles.facts.stretches import overlap_us

FRAME, SAVING = "frame", "save"
"""Levels of calls: a frame that tells a setting, and one that writes a checkpoint."""
_SHAPE = re.compile(r"(?:.*(?:site|dist)-packages/)?+([^<>]*)\(\d+\): (?s:(.+))")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BUILT_IN = re.compile(r"<built-in (?:method|function) (\S*)(?: of (\S+)(?: \S+)*)?>")
_KEPT = tuple(
    (re.compile(path), re.compile(function), level)
    for path, function, level in (
        (r"torch/utils/data/dataloader\.py", "__next__", "loader"),
        (r"torch/utils/data/dataloader\.py", "_try_get_data", FRAME),
        (r"torch/utils/data/_utils/fetch\.py", "fetch", FRAME),
        (r"torch/utils/data/_utils/pin_memory\.py", "_pin_memory_loop|pin_memory", FRAME),
        (r"torch/optim/\w+\.py", r"_(?:single_tensor|multi_tensor|fused)_\w+", FRAME),
        (r"apex/optimizers/fused_\w+\.py", "step", FRAME),
        (r"torch/(?:cuda/)?amp/autocast_mode\.py", "__enter__", FRAME),
        (r"torch/_dynamo/eval_frame\.py", "compile_wrapper", FRAME),
        (r"torch/_dynamo/convert_frame\.py", "_compile", FRAME),
        (r"torch/nn/parallel/distributed\.py", "forward", FRAME),
        (r"torch/distributed/fsdp/fully_sharded_data_parallel\.py", "forward", FRAME),
        (r"torch/distributed/fsdp/_fully_shard/_fsdp_state\.py", "_pre_forward", FRAME),
        (r"torch/serialization\.py", "save", SAVING),
        (r"torch/distributed/checkpoint/state_dict_saver\.py", "save", SAVING),
    )
)
_COLLECTOR = "<built-in function collect>"
COLLECTOR_FRAME = ("gc", "gc.collect")
"""Level and name of the call that a frame of the collector is."""
MOST_NAMES = 1 << 18
"""Names that are told apart: a program has some ten thousand functions; more are of no program."""
MOST_FRAMES = 12
"""Frames that are kept of what went on beside an idle device: those of most time."""
LEAST_GAP_NS = 50_000
"""A gap that no launch explains (msprof best practices: a launch takes some 5 to 20 µs)."""
_OTHER = "other frames"
_WAITS = frozenset(
    {"multiprocessing", "concurrent", "asyncio", "threading", "queue", "selectors", "subprocess"}
)
_LIBRARY = re.compile(
    rf"(?:^|/python3[.\d]*/)(?:{'|'.join(sorted(sys.stdlib_module_names - _WAITS))})(?:/|\.py: )|"
    r"^(?!(?:acquire|wait|poll|select|recv\w*|accept|get)\b)(?!.*\b(?:Tensor|type|torch))"
    r"[^:]*\(built in\)"
)
"""Frames of Python's own library and built-in functions, but for those that wait, and for PyTorch's."""


class PythonFrames:
    """A collector of frames: calls that tell something, and when each frame ran."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str] | None] = {}
        self._codes: dict[str, int] = {_OTHER: 0}
        self._times = array("q")
        self._links = array("q")

    def take(
        self, name: str, event: Mapping[str, object], lasted_us: float, arguments: Mapping[str, object]
    ) -> tuple[str, str] | None:
        """Take a frame; level and name of the call that it is, None where it tells nothing by itself."""
        number, start = arguments.get("Python id"), nanoseconds(event.get("ts"))
        if isinstance(number, int) and start is not None and 0 <= number < 1 << 62:
            parent = arguments.get("Python parent id")
            above = parent if isinstance(parent, int) and 0 <= parent < 1 << 62 else -1
            thread = event.get("tid")
            self._times.extend((start, start + round(lasted_us * 1e3)))
            self._links.extend((number, above, self._code(name), hash(str(thread))))
        if name in self._told:
            return self._told[name]
        found = _told_by(name)
        if len(self._told) < MOST_NAMES and not name.startswith("<"):
            self._told[name] = found
        return found

    def _code(self, name: str) -> int:
        label = _ADDRESS.sub("", name) if name.startswith("<") else name
        if label not in self._codes and len(self._codes) >= MOST_NAMES:
            return 0
        return self._codes.setdefault(label, len(self._codes))

    def beside_idle(
        self, kernels: Kernels, thread: object
    ) -> tuple[tuple[IdleFrame, ...], tuple[IdleFrame, ...]]:
        """Frames in which a thread was while the device had nothing to do for long: innermost, and callers.

        What Python's own library and built-in functions take is, among the second, of who called them.

        Args:
            kernels: Of the device; only gaps before a kernel of a step count where steps are known.
            thread: The one that marks steps; None where none does: then that of most frames.
        """
        if not self._times:
            return (), ()
        times = np.frombuffer(self._times, np.int64).reshape(-1, 2)
        number, above, code, threads = np.frombuffer(self._links, np.int64).reshape(-1, 4).T
        chosen = hash(str(thread))
        if thread is None or not (threads == chosen).any():
            values, counts = np.unique(threads, return_counts=True)
            chosen = int(values[counts.argmax()])
        mine = threads == chosen
        start, end = _long_gaps(kernels)
        if not len(start) or not mine.any():
            return (), ()
        within = 1e3 * overlap_us(times[mine, 0], times[mine, 1], start, end)
        own = within - _of_children(number[mine], above[mine], within)
        own, codes = np.maximum(0.0, own), code[mine]
        labels = list(map(short_name, self._codes))
        called = np.array([bool(_LIBRARY.search(label)) for label in labels])[codes]
        callers = codes[_callers(number[mine], above[mine], called)]
        return _most(labels, codes, own), _most(labels, callers, own)


def _most(labels: list[str], codes: Integers, spent_ns: Floats) -> tuple[IdleFrame, ...]:
    """The frames of most time, by label."""
    sums: dict[str, float] = {}
    by_code = np.bincount(codes, weights=spent_ns, minlength=len(labels))
    for at in np.flatnonzero(by_code):
        sums[labels[int(at)]] = sums.get(labels[int(at)], 0.0) + float(by_code[at]) / 1e3
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple(IdleFrame(name=name, us=us) for name, us in ordered[:MOST_FRAMES])


def _callers(number: Integers, above: Integers, called: Mask) -> Integers:
    """The row of the nearest frame above each that is not of a library, its own where there is none, (n,)."""
    order = np.argsort(number, kind="stable")
    parent = order[np.minimum(np.searchsorted(number[order], above), len(order) - 1)]
    rows = np.arange(len(number))
    to = np.where(called & (number[parent] == above), parent, rows)
    while not np.array_equal(further := to[to], to):
        to = further
    return np.where(called[to], rows, to)


def short_name(name: str) -> str:
    """A frame without what differs from machine to machine: folders of packages, lines, addresses."""
    if (found := _SHAPE.fullmatch(name)) is not None:
        return f"{found[1]}: {found[2]}"
    if (built_in := _BUILT_IN.fullmatch(_ADDRESS.sub("", name))) is not None:
        owner = f" of {built_in[2]}" if built_in[2] else ""
        return f"{built_in[1] or '?'}{owner} (built in)"
    return name


def _told_by(name: str) -> tuple[str, str] | None:
    """Level and name of the call that a frame is; None for one that tells nothing by itself."""
    if name == _COLLECTOR:
        return COLLECTOR_FRAME
    found = _SHAPE.fullmatch(name)
    if found is None:
        return None
    for path, function, level in _KEPT:
        if path.fullmatch(found[1]) and function.fullmatch(found[2]):
            return level, f"{found[1]}: {found[2]}"
    return None


def _long_gaps(kernels: Kernels) -> tuple[Integers, Integers]:
    """Begin and end of each long gap, shape (n,), before a kernel of a step where steps are known."""
    start, end = gaps(kernels)
    keep = end - start > LEAST_GAP_NS
    step = kernels.texts["step"]
    if any(step.labels):
        within = kernels.start_ns[step.where(bool(label) for label in step.labels)]
        keep &= np.isin(end, within)
    return start[keep], end[keep]


def _of_children(number: Integers, above: Integers, within: Floats) -> Floats:
    """Sums over the direct callees of each frame, shape (n,)."""
    order = np.argsort(number, kind="stable")
    place = np.minimum(np.searchsorted(number[order], above), len(order) - 1)
    parent = order[place]
    known = number[parent] == above
    sums = np.zeros(len(number))
    np.add.at(sums, parent[known], within[known])
    return sums
