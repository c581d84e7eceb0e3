"""Kernels of profiles: job, clock, number of cores, times.

Three shapes of CSV are read: tables with ``measured_us`` and ``op`` (kernels of serving runs), with
``median_us``, ``clock_mhz`` and ``max_cube_block_dim`` (medians of profiles), and what msprof and the
Ascend PyTorch Profiler write themselves (``Type`` or ``OP Type``, ``Input Shapes``, ``Duration(us)``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.cost_models.profiled.kernel import Kernel, parse
from benchmarks.cost_models.profiled.kernel_times import KernelBatch, KernelModel, batch, fit
from kg.errors import CaseFormatError, Fault
from recommender.cost_model.facts.device import FLOPS_PER_CYCLE, Device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recommender.cost_model.fit.measurements import Row
    from recommender.cost_model.operators.kinds import CalibratedOperator

Floats = NDArray[np.float64]

_FORMS = (
    {"kind": "type", "time": "median_us", "inputs": "input_shapes", "outputs": "output_shapes",
     "types_in": "input_dtypes", "types_out": "output_dtypes"},
    {"kind": "op", "time": "measured_us", "inputs": "input_shapes", "outputs": "", "types_in": "",
     "types_out": ""},
    {"kind": "Type", "time": "Duration(us)", "inputs": "Input Shapes", "outputs": "Output Shapes",
     "types_in": "Input Data Types", "types_out": "Output Data Types"},
    {"kind": "OP Type", "time": "Task Duration(us)", "inputs": "Input Shapes", "outputs": "Output Shapes",
     "types_in": "Input Data Types", "types_out": "Output Data Types"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProfiledJob:
    """The kernels of one job in a profile.

    Attributes:
        name: Name of the job: its operator, or clock and core count.
        kin: Jobs of one kin count as one when factors are shrunk.
        kernels: The kernels.
        measured_us: Their times, shape (n,).
        device: The device.
    """

    name: str
    kin: str
    kernels: tuple[Kernel, ...]
    measured_us: Floats
    device: Device

    def batch(self, products: CalibratedOperator) -> KernelBatch:
        """The job's kernels as a batch."""
        return batch(self.device, self.kernels, products)


def _form(rows: Sequence[Row]) -> Mapping[str, str] | None:
    columns = set(rows[0])
    return next((f for f in _FORMS if {f["kind"], f["time"], f["inputs"]} <= columns), None)


def jobs(path: Path, rows: Sequence[Row], reference: Device) -> list[ProfiledJob]:
    """Jobs of a file.

    Raises:
        CaseFormatError: A time is no positive number.
    """
    form = _form(rows)
    if form is None:
        raise CaseFormatError(str(path), [Fault(place="line 1", reason="no kernel type, shapes and time")])
    held: dict[str, list[Row]] = {}
    faults = []
    for line, row in enumerate(rows, start=2):
        try:
            if float(row[form["time"]]) <= 0:
                raise ValueError  # noqa: TRY301  the same fault as text that is no number
        except ValueError:
            faults.append(Fault(place=f"line {line}", reason=f"{form['time']} is {row[form['time']]!r}"))
            continue
        held.setdefault(_name(row, path), []).append(row)
    if faults:
        raise CaseFormatError(str(path), faults)
    return [_job(name, part, form, path, reference) for name, part in held.items()]


def _name(row: Row, path: Path) -> str:
    if row.get("clock_mhz") and row.get("max_cube_block_dim"):
        return f"{row['clock_mhz']} MHz, {row['max_cube_block_dim']} cores"
    return row.get("group") or path.stem


def _job(
    name: str, rows: Sequence[Row], form: Mapping[str, str], path: Path, reference: Device
) -> ProfiledJob:
    kernels = tuple(
        parse(
            row[form["kind"]],
            row[form["inputs"]],
            row.get(form["outputs"], ""),
            row.get(form["types_in"], ""),
            row.get(form["types_out"], ""),
        )
        for row in rows
    )
    clock, cores = rows[0].get("clock_mhz"), rows[0].get("max_cube_block_dim")
    known = bool(clock and cores)
    device = bin_of(reference, float(cores or 0), 1e6 * float(clock or 0)) if known else reference
    return ProfiledJob(
        name=name,
        kin=name if known else path.stem,
        kernels=kernels,
        measured_us=np.array([float(row[form["time"]]) for row in rows]),
        device=device,
    )


def bin_of(reference: Device, cores: float, clock: float) -> Device:
    """Another bin of the reference part: its cores and clock (hertz), peaks by the formula of the core.

    Every core has a port of 32 bytes a cycle to memory, so bandwidth falls with cores and clock too.
    """
    ports = min(cores * clock / (reference.cores * reference.clock), 1.0)
    peak = cores * clock * FLOPS_PER_CYCLE
    facts = {
        **reference.facts,
        "cube_cores": cores,
        "vector_cores": 2 * cores,
        "clock_hz": clock,
        "memory_bandwidth_bytes_per_s": reference.memory_bandwidth * ports,
        "peak_bf16_flops": peak,
        "peak_fp16_flops": peak,
        "peak_int8_ops": 2 * peak,
    }
    return Device(f"{reference.id}, {cores:g} cores at {clock / 1e9:g} GHz", facts)


def fit_jobs(given: Sequence[ProfiledJob], products: CalibratedOperator) -> KernelModel:
    """A kernel model from jobs."""
    return fit(
        [job.batch(products) for job in given], [job.measured_us for job in given], [j.kin for j in given]
    )
