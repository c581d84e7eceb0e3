"""A small profile folder of the Ascend PyTorch Profiler, made by hand."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.samples.profile_files import KERNELS

COLUMNS = (
    *("Step Id", "Device_id", "Stream ID", "Name", "Type", "OP State", "Accelerator Core", "Start Time(us)"),
    *("Duration(us)", "Wait Time(us)", "Block Dim", "Input Shapes", "Input Data Types", "aicore_time(us)"),
    *("aic_total_cycles", "aic_mac_ratio", "aic_mte2_ratio", "aiv_time(us)", "aiv_total_cycles"),
    *("aiv_vec_ratio", "aiv_mte2_ratio"),
)


def kernel(name: str, start_us: float, duration_us: float, **cells: object) -> dict[str, str]:
    """A row of kernel_details; a matrix product of 24 cores unless told otherwise."""
    row = dict.fromkeys(COLUMNS, "0.0")
    row |= {
        "Step Id": "7", "Device_id": "0", "Stream ID": "2", "Name": name, "Type": name, "OP State": "static",
        "Accelerator Core": "AI_CORE", "Start Time(us)": f"17000000000{start_us:09.3f}\t",
        "Duration(us)": f"{duration_us}", "Wait Time(us)": "0", "Block Dim": "24",
        "Input Shapes": '"4096,4096;4096,4096"', "Input Data Types": "DT_BF16;DT_BF16",
        "aicore_time(us)": f"{duration_us}", "aic_total_cycles": f"{duration_us * 1800 * 24:.0f}",
        "aic_mac_ratio": "0.9", "aic_mte2_ratio": "0.6",
    }  # fmt: skip
    return row | {key: str(value) for key, value in cells.items()}


def write_table(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a profile folder of one rank with kernels and the split of their step."""

    def make(kernels: list[dict[str, str]], steps: dict[str, Any] | None = None, rank: int = 0) -> Path:
        home = tmp_path / "run" / f"host_{rank}_ascend_pt"
        inside = home / "ASCEND_PROFILER_OUTPUT"
        inside.mkdir(parents=True)
        write_table(inside / "kernel_details.csv", kernels)
        if steps is not None:
            write_table(inside / "step_trace_time.csv", [{key: str(value) for key, value in steps.items()}])
        (home / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": str(rank)}))
        return tmp_path / "run"

    return make


@pytest.fixture
def rows() -> Callable[..., list[dict[str, str]]]:
    """Kernels by name, of 15 µs each, 5 µs apart."""
    return lambda *names: [kernel(name, 1000.0 + 20 * place, 15.0) for place, name in enumerate(names)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    inside = tmp_path / "PROF_000001_1_X" / "mindstudio_profiler_output"
    inside.mkdir(parents=True)
    (inside / "op_summary_1.csv").write_text(KERNELS)
    return inside
