"""The operators of the cost model with their calibrated constants.

A kind is one table of measurements and one analytic formula. Its constants and its learned residual
were fitted on one reference device; on another device the physics takes that device's facts, and
the residual, which describes the kernel library, is used where the cores are of the same design.
Times are microseconds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce
from hashlib import sha256
from io import BytesIO
from operator import or_
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

import data
from kg.archives import arrays
from kg.atomic_files import write_bytes
from kg.errors import InputError
from recommender.cost_model.anchors import STEPS_FILE, UNANCHORED, Anchors, shipped_anchors
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_of, rows_of
from recommender.cost_model.operators import analytic, collective, moe
from recommender.cost_model.operators.residual import Residual, residual_of

Analytic = Callable[[Device, Floats, Mapping[str, float]], tuple[Floats, Floats]]

SCHEMA_VERSION = 1
KEPT, KEPT_ROWS = 2048, 256
"""Calls of a kind whose times are kept, and their rows at most: 20 MB where all are full; choices."""


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One kind of operator.

    Attributes:
        stem: Name of its table, such as ``"matmul_bf16"``.
        columns: Numbers that describe one call.
        prior: Constants before calibration.
        kernels: Groups of features that the learned residual uses.
        analytic: Its formula: device, rows, constants to times and features.
        trees: Whether a forest helps the Gaussian process (there are rows enough).
        gpu_kernels: Kernels that a GPU launches for one call.
    """

    stem: str
    columns: tuple[str, ...]
    prior: Mapping[str, float]
    kernels: tuple[tuple[int, ...], ...]
    analytic: Analytic
    trees: bool
    gpu_kernels: int


_FORMULAS: Mapping[str, Callable[..., tuple[Floats, Floats]]] = MappingProxyType(
    {
        "matmul": analytic.products,
        "attention_prefill": analytic.prefill,
        "attention_decode": analytic.decode,
        "moe": moe.analytic,
        "collective": lambda _, x, c: collective.analytic(x, c),
    }
)


def _kind_of(row: Mapping[str, str]) -> OperatorKind:
    """A kind as ``data/cost_model/operators.csv`` has it."""
    number = {"number": row["number"]} if row["number"] else {}
    return OperatorKind(
        stem=row["kind"],
        columns=tuple(row["columns"].split()),
        prior=reduce(or_, (dict(physics_of(f"prior.{group}")) for group in row["prior"].split())),
        kernels=tuple(tuple(map(int, part.split())) for part in row["kernels"].split(";")),
        analytic=partial(_FORMULAS[row["formula"]], **number),
        trees=row["trees"] == "1",
        gpu_kernels=int(row["gpu_kernels"]),
    )


KINDS: Mapping[str, OperatorKind] = MappingProxyType(
    {row["kind"]: _kind_of(row) for row in rows_of("operators")}
)
"""Every kind, by the stem of its table."""


@dataclass(frozen=True, slots=True)
class CalibratedOperator:
    """A kind with fitted constants.

    Attributes:
        kind: The kind.
        constants: Fitted, by name.
        residual: Learned correction of the logarithm.
        spread: Standard deviation of the log error on groups left out.
        header: Origin: source, date, rows, groups, error.
        known: Times of calls that were asked before, by the facts of the device and the rows: the layouts
            that plans compare, and questions about one model, share most of their products.
    """

    kind: OperatorKind
    constants: Mapping[str, float]
    residual: Residual
    spread: float
    header: Mapping[str, object]
    known: dict[object, Floats] = field(default_factory=dict, repr=False, compare=False)

    def constants_on(self, device: Device) -> Mapping[str, float]:
        """The constants with the fixed cost of a call, and of products their stream, on such a device."""
        if device.ascend or "launch_us" not in self.constants or self.header.get("device") == device.id:
            return self.constants
        if device.nvidia and (own := physics_of(f"nvidia.{self.kind.stem}")):
            return {**self.constants, **own}
        launch = min(self.constants["launch_us"], self.kind.gpu_kernels * PHYSICS["gpu_kernel_us"])
        share = (
            {"memory_share": PHYSICS["gpu_memory_share"]}
            if self.kind.stem.startswith(("matmul", "moe"))
            else {}
        )
        if device.arrayed and "task_us" in self.constants:
            share = {"task_us": 0.0}
        if device.amd and share:
            share = {
                "memory_share": PHYSICS["amd_memory_share"],
                "efficiency": physics_of("amd_peak_share")[self.kind.stem],
            }
        return {**self.constants, "launch_us": launch, **share}

    def times_us(self, device: Device, x: Floats) -> Floats:
        """Times with the learned residual where the device has the cores it was learned on."""
        x = np.atleast_2d(np.asarray(x, dtype=np.float64))
        if x.shape[1] != len(self.kind.columns):
            raise InputError(f"{self.kind.stem} takes {', '.join(self.kind.columns)}")
        if len(x) > KEPT_ROWS:
            return self._times_us(device, x)
        call = (device.id, frozenset(device.facts.items()), x.tobytes())
        if (kept := self.known.get(call)) is None:
            if len(self.known) >= KEPT:
                self.known.clear()
            kept = self.known[call] = self._times_us(device, x)
        return kept.copy()

    def _times_us(self, device: Device, x: Floats) -> Floats:
        unique, where = _distinct(x)
        time, features = self.kind.analytic(device, unique, self.constants_on(device))
        if self.kind.stem == "collective" or self._was_measured_on(device):
            time = time * np.exp(self.residual.predict(features))
        return np.asarray(time[where], dtype=np.float64)

    def _was_measured_on(self, device: Device) -> bool:
        """True if the residual applies to a device: Ascend's split cores share one, any other has its own."""
        measured = str(self.header.get("device", ""))
        if measured in {"", reference_device().id}:
            return device.ascend and not device.joint
        return measured == device.id


def _distinct(x: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The distinct rows of an array, and which of them each row is; told apart by one number of each."""
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = x @ np.sqrt(np.arange(2.0, 2.0 + x.shape[1]))
    _, first, where = np.unique(mixed, return_index=True, return_inverse=True)
    unique = x[first]
    if np.array_equal(unique[where], x):
        return unique, where
    unique, where = np.unique(x, axis=0, return_inverse=True)
    return unique, where.ravel()


@dataclass(frozen=True, slots=True)
class Operators:
    """All calibrated kinds and the device they were measured on.

    Attributes:
        kinds: By stem.
        reference: The measured device.
        anchors: Measured steps that whole steps are anchored on.
    """

    kinds: Mapping[str, CalibratedOperator]
    reference: Device
    anchors: Anchors = UNANCHORED

    def __getitem__(self, stem: str) -> CalibratedOperator:
        """The calibrated kind of one table; uncalibrated, from its prior, where there was none.

        Raises:
            InputError: No such kind.
        """
        if stem in self.kinds:
            return self.kinds[stem]
        if stem not in KINDS:
            raise InputError(f"no operator named {stem!r}", hint=f"known: {', '.join(KINDS)}")
        kind = KINDS[stem]
        return CalibratedOperator(kind, kind.prior, Residual(None, None, 0.0), 0.5, {"source": "prior"})


@cache
def reference_device() -> Device:
    """The measured device: a 24-core 910B with 64 GB, facts as in ``data/cost_model/reference.json``."""
    held = json.loads(data.text("cost_model/reference.json"))
    return Device(str(held["id"]), held["facts"])


def folder() -> Path:
    """The folder of the shipped constants."""
    return Path(data.__file__).parent / "cost_model"


def save(operators: Operators, target: Path) -> None:
    """Write constants (JSON) and residuals (plain arrays) into a folder, as one step.

    The JSON names the files of the arrays, which carry their digest in their name; so a process that is
    killed leaves the old constants with their arrays, or the new ones.
    """
    target.mkdir(parents=True, exist_ok=True)
    table: dict[str, dict[str, object]] = {}
    for stem, kind in operators.kinds.items():
        packed = BytesIO()
        np.savez_compressed(packed, **_narrow(kind.residual.arrays()))  # type: ignore[arg-type]  # numpy's stub
        name = f"{stem}-{sha256(packed.getvalue()).hexdigest()[:12]}.npz"
        write_bytes(target / name, packed.getvalue())
        table[stem] = {
            **kind.header,
            "log_spread": round(kind.spread, 4),
            "constants": {name: float(f"{value:.6g}") for name, value in kind.constants.items()},
            "arrays": name,
        }
    text = json.dumps({"schema_version": SCHEMA_VERSION, "operators": table}, indent=1, sort_keys=True)
    write_bytes(target / "constants.json", f"{text}\n".encode())
    for stem, entry in table.items():
        for old in target.glob(f"{stem}-*.npz"):
            if old.name != entry["arrays"]:
                old.unlink()


def _narrow(arrays: dict[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """Points and tree values do not need more than single precision."""
    return {
        name: array.astype(np.float32) if array.ndim and array.dtype == np.float64 else array
        for name, array in arrays.items()
    }


def load(source: Path) -> Operators:
    """Constants and residuals as ``save`` wrote them.

    A folder with measured steps alone has the shipped constants, one with constants alone the shipped steps.

    Raises:
        InputError: Another schema version, or a file that is not there.
    """
    steps = source / STEPS_FILE
    anchors = Anchors.read(steps) if steps.exists() else shipped_anchors()
    if steps.exists() and not (source / "constants.json").exists():
        return replace(shipped(), anchors=anchors)
    try:
        held = json.loads((source / "constants.json").read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise InputError(f"{source} holds no constants.json", hint="tunegraph calibrate FILES") from missing
    if held.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{source}: constants of schema {held.get('schema_version')}, not {SCHEMA_VERSION}")
    kinds = {}
    for stem, entry in held["operators"].items():
        residual = residual_of(arrays(source / entry.get("arrays", f"{stem}.npz")))
        apart = {"constants", "log_spread", "arrays"}
        header = {key: value for key, value in entry.items() if key not in apart}
        kinds[stem] = CalibratedOperator(
            KINDS[stem], entry["constants"], residual, entry["log_spread"], header
        )
    return Operators(MappingProxyType(kinds), reference_device(), anchors)


@cache
def shipped() -> Operators:
    """The shipped constants."""
    return load(folder())
