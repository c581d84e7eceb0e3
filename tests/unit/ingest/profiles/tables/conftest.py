"""A folder of msprof with two kernels, to which tests add tables."""

from pathlib import Path

import pytest

KERNELS = (
    "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
    "0,hcom_allReduce__1_0_1,hcom_allReduce_,COMMUNICATION,1000,70\n0,a,MatMul,AI_CORE,1100,30\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    inside = tmp_path / "PROF_000001_1_X" / "mindstudio_profiler_output"
    inside.mkdir(parents=True)
    (inside / "op_summary_1.csv").write_text(KERNELS)
    return inside
