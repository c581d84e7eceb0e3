"""``tunegraph search space`` as people run it."""

import shutil
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run


def _toy(device: str) -> str:
    """All times of a toy kernel on a device, as a table."""
    names = "task.kind,task.op,hardware.name,config.x,config.y,config.z"
    lines = [f"{names},outcome.metric,outcome.unit,outcome.status,outcome.value,source.title"]
    lines += [
        f"kernel,toy,{device},{x},{y},{z},kernel_time,s,ok,{1 + abs(x - 4) + abs(y - 2) + z / 10},t"
        for x in (1, 2, 4, 8)
        for y in (1, 2, 4, 8)
        for z in range(8)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.long
def test_a_space_is_made_and_searched(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "layouts.yaml"
    asked = (
        "--model",
        "bert-large",
        "--hardware",
        "ascend-910b3",
        "--count",
        "8",
        "--server",
        "atlas-800t-a2",
    )
    made = run("search", "space", *asked, "--set", "seq_len=128,global_batch=512", "--out", out)
    assert made.code == 0, made.err
    assert "configurations fit the memory (modelled)" in made.err
    again = run("search", "space", *asked, "--set", "seq_len=128", "--out", out)
    assert (again.code, "is there already" in again.err) == (2, True)
    ran = run("search", "run", out, "-n", "6", "--cold", "--no-ingest", "--json", folder=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.json["best"]["configuration"]["pipeline_parallel"] in {1, 2, 4, 8}


def test_a_file_is_pruned_by_another_device(run: Run, tmp_path: Path) -> None:
    task = {
        "parameters": {"x": [1, 2, 4, 8], "y": [1, 2, 4, 8], "z": [0, 1, 2, 3, 4, 5, 6, 7]},
        "objectives": ["kernel_time"],
    }
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    (tmp_path / "known.csv").write_text(_toy("NVIDIA A100-SXM4-80GB"))
    ran = run("search", "space", tmp_path / "task.yaml", "--known", tmp_path / "known.csv")
    assert ran.code == 0, ran.err
    assert "128 configurations" in ran.err
    assert "left out: x=8 with y=8" in ran.err
    written = yaml.safe_load(ran.out)
    assert written["parameters"] == task["parameters"]
    assert all("known device" in rule["reason"] for rule in written["constraints"])


def test_a_compilers_limit_bounds_a_space(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(
        "BLOCK_SIZE= 48000\nerror: ub overflow, requires 3072000 bits while 1572864 bits available!\n"
    )
    asked = ("search", "space", "--kernel", "elementwise", "--shape", "N=1048576", "--form", "triton")
    ran = run(*asked, "--hardware", "ascend-910b3", "--bound-from", tmp_path / "log.txt")
    assert ran.code == 0, ran.err
    assert "BLOCK_SIZE <= 24576" in [rule["expression"] for rule in yaml.safe_load(ran.out)["constraints"]]
    task = {
        "parameters": {"block_size": [16384, 32768], "x": [1, 2]},
        "default": {"block_size": 32768, "x": 1},
    }
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    ran = run("search", "space", tmp_path / "task.yaml", "--bound-from", tmp_path / "log.txt")
    assert [rule["expression"] for rule in yaml.safe_load(ran.out)["constraints"]] == ["block_size <= 24576"]
    assert "default" not in yaml.safe_load(ran.out)
    (tmp_path / "log.txt").write_text("BLOCK_SIZE= 48000\n")
    ran = run("search", "space", tmp_path / "task.yaml", "--bound-from", tmp_path / "log.txt")
    assert (ran.code, "no bound on block_size, x" in ran.err) == (2, True)


def test_tiles_of_a_product_and_their_buffers(run: Run) -> None:
    asked = ("--kernel", "gemm", "--shape", "M=4096,N=4096,K=64", "--precision", "bf16")
    ran = run("search", "space", *asked, "--hardware", "ascend-910b3")
    assert ran.code == 0, ran.err
    written = yaml.safe_load(ran.out)
    limits = [rule["expression"].partition("<= ")[2] for rule in written["constraints"]]
    assert [limit for limit in limits if limit][:4] == ["65536", "65536", "131072", "524288"]
    assert written["parameters"]["usedCoreNum"] == [5, 10, 20]
    assert "left out: baseK=128: larger than K=64" in ran.err


@pytest.mark.long
def test_a_file_is_pruned_by_what_the_workspace_has(run: Run, shipped_path: Path, tmp_path: Path) -> None:
    own = shutil.copytree(shipped_path, tmp_path / "w")
    task = {
        "problem": {
            "op": "toy",
            "phase": "kernel",
            "hardware": "NVIDIA H100 PCIe",
            "objective": "kernel_time",
        },
        "parameters": {"x": [1, 2, 4, 8], "y": [1, 2, 4, 8], "z": [0, 1, 2, 3, 4, 5, 6, 7]},
        "objectives": ["kernel_time"],
    }
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    nothing = run("search", "space", tmp_path / "task.yaml", workspace=own)
    assert nothing.code == 2
    (tmp_path / "known.csv").write_text(_toy("NVIDIA A100-SXM4-80GB"))
    assert run("ingest", tmp_path / "known.csv", workspace=own).code == 0
    ran = run("search", "space", tmp_path / "task.yaml", workspace=own)
    assert ran.code == 0, ran.err
    assert "known: toy on a100-sxm4-80gb" in ran.err
    assert "left out: x=8 with y=8" in ran.err
    named = run("search", "space", tmp_path / "task.yaml", "--known", "workspace", workspace=own)
    assert named.out == ran.out


def test_layer_groups_within_a_budget(run: Run, tmp_path: Path) -> None:
    rows = ("layers.0.mlp.up,0.002,4000000", "layers.0.attention.q_proj,0.004,1000000")
    (tmp_path / "losses.csv").write_text("\n".join(["layer,loss_increase,parameters", *rows]) + "\n")
    asked = ("--model", "qwen3-8b", "--hardware", "ascend-910b3", "--phase", "serving")
    ran = run(
        "search", "space", *asked, "--sensitivity", tmp_path / "losses.csv", "--budget", "0.3%", "--json"
    )
    assert ran.code == 0, ran.err
    made = ran.json["file"]
    assert made["parameters"]["precision_mlp"] == ["same", "int8"]
    assert made["parameters"]["precision_attention"] == ["same"]  # beyond the budget
    assert made["limits"] == ["accuracy_loss<=0.003"]
    assert run("search", "space", *asked, "--budget", "0.3%").code == 2


def test_other_kernels_have_spaces_too(run: Run) -> None:
    asked = ("--kernel", "softmax", "--shape", "M=4096,N=1000", "--hardware", "ascend-910b3", "--json")
    ran = run("search", "space", *asked)
    assert ran.code == 0, ran.err
    assert set(ran.json["file"]["parameters"]) == {"tileRows", "tileColumns", "bufferNum", "blockDim"}
    assert any("512 B" in text for text in ran.json["notes"])
    unknown = run("search", "space", "--kernel", "sofmax", "--shape", "N=8", "--hardware", "ascend-910b3")
    assert (unknown.code, "did you mean softmax" in unknown.err) == (2, True)
    none = run("search", "space", "--kernel", "gemm", "--shape", "M=0,N=4,K=4", "--hardware", "ascend-910b3")
    assert (none.code, "M: 0" in none.err) == (2, True)


def test_what_will_be_measured_gets_a_margin(run: Run) -> None:
    asked = ("--model", "qwen3-14b", "--hardware", "ascend-910b3", "--count", "8", "--set", "seq_len=4096")
    found = {}
    for margin in (None, "0.1", "off"):
        more = () if margin is None else ("--memory-margin", margin)
        ran = run("search", "space", *asked, *more, "--json")
        assert ran.code == 0, ran.err
        found[margin] = ran.json
    modelled, measured, off = found.values()
    assert "modelled_memory" not in modelled["file"]
    assert "cost_model" not in measured["file"]
    assert measured["file"]["modelled_memory"]["margin"] == 0.1
    assert off["file"]["modelled_memory"]["margin"] is False
    sources = [{item["source"] for item in given["left_out"]} for given in (modelled, measured, off)]
    assert ["modelled memory" in told for told in sources] == [True, True, False]
    assert run("search", "space", *asked, "--memory-margin", "lots").code == 2


def test_what_is_missing_is_said(run: Run, tmp_path: Path) -> None:
    assert run("search", "space").code == 2
    assert run("search", "space", "--model", "bert-large").code == 2
    idle = run("search", "space", "--kernel", "softmax", "--hardware", "ascend-910b3", "--count", "8")
    assert (idle.code, "--count says nothing of --kernel" in idle.err) == (2, True)
    too_large = ("--model", "deepseek-v3", "--hardware", "ascend-910b3", "--set", "seq_len=4096")
    ran = run("search", "space", *too_large)
    assert ran.code == 4
    assert "nothing fits" in ran.fault
