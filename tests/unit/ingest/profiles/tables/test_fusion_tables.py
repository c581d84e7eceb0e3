"""Fused operators."""

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile

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


def test_fused_operators_and_their_parts(home: Path) -> None:
    (home / "fusion_op_1.csv").write_text(
        "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),"
        'Memory Workspace(KB),Memory Total(KB)\nhost,net,1,conv1relu,"conv1,relu",1,1,2,0,4\n'
    )
    [rank] = read_profile(home.parent).ranks
    [fused] = rank.details.fused
    assert (fused.name, fused.parts, fused.memory_kb) == ("conv1relu", ("conv1", "relu"), 4.0)
