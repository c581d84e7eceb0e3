"""Launch scripts as recipes: what is set, what is a place, and what is missing."""

from pathlib import Path

from kg.nouns.recipe import Authority, Role
from tests.samples.readings import recipes_of
from tests.unit.ingest.conftest import PlainNames

ADDRESS = "https://github.com/o/r/blob/" + "b" * 40 + "/serve.sh"
SERVE = """#!/bin/bash
export HCCL_BUFFSIZE=512
vllm serve Qwen/Qwen3-8B \\
  --host 0.0.0.0 --port 8000 \\
  --tensor-parallel-size 4 --data-parallel-size 2 \\
  --max-model-len 4096 --enable-expert-parallel
"""


def test_a_server_is_a_recipe(tmp_path: Path, names: PlainNames) -> None:
    (recipe,), report = recipes_of(
        names, tmp_path / "serve.sh", SERVE, hardware="Ascend 910C", source=ADDRESS
    )
    assert report.bad == 0
    assert (recipe.role, recipe.framework, recipe.hardware) == (Role.SERVE, "vllm-ascend", "ascend-910c")
    assert (recipe.devices, recipe.layout["tp"], recipe.layout["dp"]) == (8, 4, 2)
    assert (recipe.reported_model, recipe.authority) == ("Qwen/Qwen3-8B", Authority.THIRD_PARTY)
    assert recipe.source.commit == "b" * 40
    pairs = {item.key: item.value for item in recipe.settings}
    assert pairs["HCCL_BUFFSIZE"] == "512"
    assert pairs["--max-model-len"] == "4096"
    assert pairs["--enable-expert-parallel"] == "true"
    assert not {"--host", "--port"} & set(pairs)


def test_without_an_address_it_is_refused(tmp_path: Path, names: PlainNames) -> None:
    recipes, report = recipes_of(names, tmp_path / "serve.sh", SERVE, source="")
    assert recipes == []
    (fault,) = report.faults
    assert fault.place.startswith("line ")
    assert "source: missing" in fault.reason


def test_a_size_that_is_not_set_is_told(tmp_path: Path, names: PlainNames) -> None:
    text = "#!/bin/bash\nvllm serve Qwen/Qwen3-8B --tensor-parallel-size $TP\n"
    recipes, report = recipes_of(names, tmp_path / "serve.sh", text, source=ADDRESS)
    assert recipes == []
    assert "the value of --tensor-parallel-size is not set here" in report.faults[0].reason


def test_sizes_that_do_not_multiply_name_their_line(tmp_path: Path, names: PlainNames) -> None:
    text = """#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
  --tensor-model-parallel-size 3 --pipeline-model-parallel-size 2 \\
  --num-layers 4 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 --global-batch-size 8 \\
  --seq-length 128
"""
    recipes, report = recipes_of(names, tmp_path / "train.sh", text, source=ADDRESS)
    assert recipes == []
    (fault,) = report.faults
    assert fault.place == "line 2"
    assert "not 8" in fault.reason or "8 devices" in fault.reason
