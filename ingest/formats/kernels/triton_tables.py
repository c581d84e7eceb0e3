"""Writing of Triton's tuning tables, as vLLM and SGLang keep them, and of lists of ``triton.Config``.

A table holds one configuration for each size; the other facts of the problem are in its file name, so the
cases of several problems fill several tables. vLLM writes the Triton version into the table, SGLang into the
folder; of block-scaled products vLLM takes every key for a size, so there the version is left out.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ingest.formats.kernels import block_gemm, fused_moe, mamba_state
from ingest.formats.kernels.table_layout import TableLayout
from kg.errors import InputError
from kg.nouns.entities import Better, Case, Configuration, Problem, Status
from kg.nouns.values import show


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonTable:
    """One file.

    Attributes:
        name: File name; for SGLang with its folder.
        text: Content.
    """

    name: str
    text: str


_LAYOUTS = {layout.operator: layout for layout in (fused_moe.LAYOUT, block_gemm.LAYOUT, mamba_state.LAYOUT)}
_FIRST = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
"""Parameters in the order in which the tuners write them; others follow by name."""
_LAUNCH = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Parameters that ``triton.Config`` takes by keyword; the others are the kernel's own."""
_WORDS = frozenset({"grf_mode"})
"""Parameters whose values are words, digits or not: vLLM 0.33.0's tables of Intel Arc have ``"256"``."""
_H200 = "NVIDIA_H200"
"""Name under which vLLM 0.33.0 looks for the fused-MoE tables of every H200 (``get_config_file_name``)."""
_UNSAFE = re.compile(r"[^\w.,=()\[\]+ -]")
"""Characters that a file name must not have: names come from data."""


def tables(cases: Iterable[Case], *, sglang: bool = False) -> list[TritonTable]:
    """The tables that cases fill, each with the best configuration known for a size, in order of file names.

    A measured configuration stands before a winner without a time; what failed is left out.

    Args:
        cases: Of the operators that have such tables.
        sglang: As SGLang names them: spaces in lists, a folder for the Triton version.

    Raises:
        InputError: A case of another operator, or of a problem that a file name cannot tell.
    """
    found: dict[str, dict[int, Case]] = {}
    versions: dict[str, set[str]] = {}
    for case in cases:
        if case.measurement.status not in (Status.OK, Status.NOT_MEASURED):
            continue
        version = str(case.software.get("triton") or "")
        name = file_name(case.problem, sglang=sglang)
        if sglang and version:
            name = f"triton_{_UNSAFE.sub('_', version.replace('.', '_'))}/{name}"
        size = size_of(case.problem)
        best = found.setdefault(name, {})
        if size not in best or _rank(case) < _rank(best[size]):
            best[size] = case
        if case.problem.workload.operator == block_gemm.LAYOUT.operator:
            version = (
                ""  # vLLM 0.33.0 takes every key of these tables for a size (get_w8a8_block_fp8_configs)
            )
        versions.setdefault(name, set()).add(version)
    made = []
    for name, best in sorted(found.items()):
        known = versions[name]
        version = "" if sglang or len(known) > 1 else next(iter(known))
        text = table_text({size: case.configuration for size, case in best.items()}, triton_version=version)
        made.append(TritonTable(name=name, text=text))
    return made


def table_text(configurations: Mapping[int, Configuration], *, triton_version: str = "") -> str:
    """A table from size to configuration, smallest size first."""
    table: dict[str, object] = {"triton_version": triton_version} if triton_version else {}
    for size, configuration in sorted(configurations.items()):
        table[str(size)] = _ordered(configuration)
    return json.dumps(table, indent=4) + "\n"


def triton_configs(configurations: Sequence[Configuration]) -> str:
    """A Python list of ``triton.Config``, best first, for ``@triton.autotune(configs=...)``.

    Raises:
        InputError: A launch parameter, such as ``num_warps``, that is no number.
    """
    lines = []
    for configuration in configurations:
        values = _ordered(configuration)
        launch = [f"{name}={_whole(name, values.pop(name))}" for name in _LAUNCH if name in values]
        arguments = ", ".join([repr(values), *launch])
        lines.append(f"    triton.Config({arguments}),\n")
    return f"[\n{''.join(lines)}]\n"


def file_name(problem: Problem, *, sglang: bool = False) -> str:
    """The name that a problem's table has, such as ``E=8,N=3584,device_name=NVIDIA_H20,dtype=fp8_w8a8.json``.

    Raises:
        InputError: An operator without such tables, or facts that a name has no place for.
    """
    work = problem.workload
    layout = _layout(problem)
    missing = [name for name in (*layout.sizes, layout.key) if not isinstance(work.shape.get(name), int)]
    surplus = sorted(set(work.shape) - {*layout.sizes, layout.key})
    if missing or surplus or problem.hardware.count not in (None, 1):
        what = f"lacks {missing[0]}" if missing else f"also has {surplus[0]}" if surplus else "has devices"
        raise InputError(f"a table of {work.operator} cannot hold a problem that {what}")
    device = re.sub(r"[\s/]+", "_", problem.hardware.reported or problem.hardware.name)
    if layout is fused_moe.LAYOUT and not sglang and "H200" in device.split("_"):
        device = _H200
    facts = [f"{name}={work.shape[name]}" for name in layout.sizes] + [f"device_name={device}"]
    if work.precision:
        facts.append(f"{layout.precision}={work.precision}")
    traits = dict(work.traits)
    suffix = "_down" if traits.pop("gemm", None) == "down" else ""
    for name, value in traits.items():
        text = show(value)
        facts.append(f"{name}={text.replace(',', ', ') if sglang else text}")
    return _UNSAFE.sub("_", f"{','.join(facts)}{suffix}.json")


def _layout(problem: Problem) -> TableLayout:
    operator = problem.workload.operator
    if operator not in _LAYOUTS:
        raise InputError(f"no tuning table for {operator!r}", hint=f"there are for {', '.join(_LAYOUTS)}")
    return _LAYOUTS[operator]


def size_of(problem: Problem) -> int:
    """The size under which a problem's configuration stands in its table.

    Raises:
        InputError: An operator without such tables, or a size that is no whole number.
    """
    size = problem.workload.shape[_layout(problem).key]
    if isinstance(size, bool) or not isinstance(size, int):
        raise InputError(f"a size of {show(size)} is no key of a table")
    return size


def _rank(case: Case) -> float:
    """Less is better; without a value it comes last."""
    value = case.measurement.value
    if value is None:
        return math.inf
    return value if case.problem.objective.better is Better.LOWER else -value


def _ordered(configuration: Configuration) -> dict[str, object]:
    values = configuration.to_json()
    values |= {name: str(values[name]) for name in _WORDS & values.keys()}
    return {name: values[name] for name in (*_FIRST, *sorted(set(values) - set(_FIRST))) if name in values}


def _whole(name: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InputError(f"{name}: {value!r} is no whole number")
