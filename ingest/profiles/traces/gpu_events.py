"""Events of GPUs in traces of PyTorch (Kineto): kernels, copies, memory, and collectives with their groups.

Categories were written with capitals once (``Kernel``, ``Memcpy``, ``Runtime``, ``Operator``).
"""

import json
import math
import re
from array import array
from collections.abc import Iterator, Mapping

import numpy as np

from ingest.profiles.cells import nanoseconds, number
from ingest.profiles.facts.details import GroupCall
from ingest.profiles.facts.kernel_names import gpu_kernel
from ingest.profiles.facts.kernels import COPY_CORE, KernelBuilder, Kernels, TextColumn, is_collective
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import MemoryUse
from ingest.profiles.tables.memory_tables import Point, memory_use
from ingest.profiles.traces.marked_steps import Launches

KERNEL, COPY, RUNTIME, OPERATOR, ANNOTATION = "kernel", "copy", "runtime", "operator", "annotation"
CATEGORIES = {
    "kernel": KERNEL, "Kernel": KERNEL,
    "gpu_memcpy": COPY, "gpu_memset": COPY, "Memcpy": COPY, "Memset": COPY,
    "cuda_runtime": RUNTIME, "cuda_driver": RUNTIME, "hip_runtime": RUNTIME, "hip_driver": RUNTIME,
    "privateuse1_runtime": RUNTIME, "xpu_runtime": RUNTIME, "Runtime": RUNTIME,
    "cpu_op": OPERATOR, "Operator": OPERATOR, "user_annotation": ANNOTATION,
}  # fmt: skip
MARKS = (
    "Optimizer.step", "DistributedDataParallel.forward", "FullyShardedDataParallel.", "FSDP::", "fsdp::",
    "DeepSpeed", "Torch-Compiled Region", "CompiledFunction", "## Call CompiledFxGraph", "TorchDynamo Cache",
)  # fmt: skip
"""Ranges that PyTorch names for itself, by their beginnings; those that a program names may be any number."""
COMPILED = "(dynamo_timed)"
SAVING = re.compile(r"(?i)torch\.save|(?:save|write|dump)_?(?:model|checkpoint|ckpt|state)")
"""Ranges of PyTorch's compiler by their end, and of what saves a model as libraries and people name it."""
_BYTES_PER_MB = float(1 << 20)
_CPU = 0
"""Type of the host among the devices of PyTorch."""
_TORCH_TYPES = {
    "c10::BFloat16": "BF16", "c10::Half": "FLOAT16", "float": "FLOAT", "double": "DOUBLE", "int": "INT32",
    "long": "INT64", "long int": "INT64", "bool": "BOOL", "signed char": "INT8", "unsigned char": "UINT8",
}  # fmt: skip
"""Types of tensors as operators of PyTorch name them, in the names that profiles of Ascend have."""
_TYPES = {
    "Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1,
    "Float8_e5m2fnuz": 1, "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8,
    "ComplexFloat": 8, "ComplexDouble": 16,
}  # fmt: skip
"""Bytes of an element of each type, as PyTorch names it."""


class GpuEvents:
    """A collector of events of GPUs.

    Args:
        file: Name of the trace.
        builder: Takes kernels and copies.
    """

    def __init__(self, file: str, builder: KernelBuilder) -> None:
        self._file, self._builder = file, builder
        self._memory_ns = array("q")
        self._memory_mb = array("d")
        self.allocations = 0
        self.launches = Launches()
        self._operators, self._shaped = array("q"), array("q")
        self._shapes = array("i")
        self._known: dict[tuple[str, str], int] = {}
        self.calls: list[GroupCall] = []

    def take(
        self,
        event: Mapping[str, object],
        row: int,
        kind: str,
        lasted_us: float,
        arguments: Mapping[str, object],
    ) -> None:
        """Take a kernel or a copy."""
        name = str(event.get("name", ""))
        start = nanoseconds(event.get("ts"))
        core = COPY_CORE if kind == COPY else "COMMUNICATION" if is_collective(name) else "GPU"
        grid = arguments.get("grid")
        blocks = math.prod(map(number, grid)) if isinstance(grid, list) and grid else math.nan
        kind_of, types = gpu_kernel(name) if core == "GPU" else ("", "")
        self.launches.take_kernel(arguments.get("correlation"))
        operator = arguments.get("External id")
        self._operators.append(operator if isinstance(operator, int) else -1)
        occupancy = number(arguments.get("est. achieved occupancy %"))
        self._builder.add(
            row, start, duration_us=lasted_us, name=name, core=core, kind=kind_of,
            input_types=f"{types};{types}" if types else "",
            stream=str(arguments.get("stream", event.get("tid", ""))), blocks=blocks,
            device=str(arguments.get("device", "")),
            pipes=None if math.isnan(occupancy) else {"occupancy": occupancy / 100},
        )  # fmt: skip
        if core == "COMMUNICATION" and start is not None and "Collective name" in arguments:
            self.calls.append(self._call(row, start, lasted_us, arguments))

    def take_operator(self, arguments: Mapping[str, object]) -> None:
        """Take the shapes of an operator's inputs, where they were recorded."""
        operator, sizes, types = map(arguments.get, ("External id", "Input Dims", "Input type"))
        if not isinstance(operator, int) or not isinstance(sizes, list) or not isinstance(types, list):
            return
        told = [
            (",".join(map(str, size)), _TORCH_TYPES.get(str(kind), ""))
            for size, kind in zip(sizes, types, strict=False)
            if isinstance(size, list) and size and not isinstance(size[0], list)
        ]
        key = ";".join(size for size, _ in told), ";".join(kind for _, kind in told)
        self._shaped.append(operator)
        self._shapes.append(self._known.setdefault(key, len(self._known)))

    def with_shapes(self, kernels: Kernels) -> Kernels:
        """The kernels with the shapes of the operators that launched them, and their types."""
        if not self._shaped or len(self._operators) != len(kernels):
            return kernels
        numbers, last = np.unique(np.frombuffer(self._shaped, np.int64)[::-1], return_index=True)
        codes = np.frombuffer(self._shapes, np.int32)[::-1][last] + 1
        wanted = np.frombuffer(self._operators, np.int64)
        at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
        found = np.where(numbers[at] == wanted, codes[at], 0).astype(np.int32)
        shapes, types = zip(("", ""), *self._known, strict=True)
        own = kernels.texts["input_types"]
        merged: dict[str, int] = {}
        both = [merged.setdefault(text, len(merged)) for text in (*own.labels, *types)]
        codes_of = np.array(both, np.int32)
        is_told = np.array([bool(text) for text in own.labels])[own.codes] | (found == 0)
        kinds = np.where(is_told, codes_of[own.codes], codes_of[len(own.labels) + found])
        return kernels.with_texts(
            input_shapes=TextColumn(found, shapes),
            input_types=TextColumn(kinds.astype(np.int32), tuple(merged)),
        )

    def _call(self, row: int, start_ns: int, lasted_us: float, arguments: Mapping[str, object]) -> GroupCall:
        ranks = _ranks(arguments.get("Process Group Ranks"))
        size = number(arguments.get("Group size"))
        members = len(ranks) if math.isnan(size) or size < 1 else round(size)
        elements = [number(arguments.get(name)) for name in ("In msg nelems", "Out msg nelems")]
        each = _TYPES.get(str(arguments.get("dtype", "")))
        known = [amount for amount in elements if amount > 0]
        sequence = arguments.get("Seq")
        return GroupCall(
            name=str(arguments["Collective name"]),
            group=str(arguments.get("Process Group Name", arguments.get("Process Group Description", ""))),
            ranks=ranks if len(ranks) == members else (),
            members=members,
            sequence=sequence if isinstance(sequence, int) else None,
            start_ns=start_ns,
            lasted_us=lasted_us,
            size_mb=max(known) * each / 1e6 if each and known else None,
            place=FactPlace(self._file, (row,)),
            about=str(arguments.get("Process Group Description", "")),
        )

    def take_memory(self, event: Mapping[str, object]) -> None:
        """Take a change of the memory that PyTorch's allocator holds."""
        arguments = event.get("args")
        at = nanoseconds(event.get("ts"))
        if not isinstance(arguments, dict) or at is None or arguments.get("Device Type", _CPU) == _CPU:
            return
        self.allocations += number(arguments.get("Bytes")) > 0
        held = number(arguments.get("Total Reserved")), number(arguments.get("Total Allocated"))
        if not (math.isnan(held[0]) or math.isnan(held[1])):
            self._memory_ns.append(at)
            self._memory_mb.extend(held)

    def memory(self) -> MemoryUse | None:
        """Use of memory over time; None if it was not recorded."""

        def points() -> Iterator[Point]:
            for place, at in enumerate(self._memory_ns):
                reserved, allocated = self._memory_mb[2 * place], self._memory_mb[2 * place + 1]
                yield "PYTORCH", at, reserved / _BYTES_PER_MB, allocated / _BYTES_PER_MB

        return memory_use(points(), self._file, self.allocations)


def _ranks(arguments: object) -> tuple[int, ...]:
    """Members of a group, written as a list or as the text of one; a long one is cut in the middle."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return ()
    return (
        tuple(arguments)
        if isinstance(arguments, list) and all(isinstance(rank, int) for rank in arguments)
        else ()
    )
