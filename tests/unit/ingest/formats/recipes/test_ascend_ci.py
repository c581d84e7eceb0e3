"""Configurations of vllm-ascend's CI: one server, and servers on several nodes."""

from pathlib import Path

from kg.nouns.recipe import Authority, Role
from tests.samples.readings import recipes_of
from tests.unit.ingest.conftest import PlainNames

ADDRESS = "https://github.com/vllm-project/vllm-ascend/blob/" + "c" * 40 + "/x.yaml"
ONE_NODE = """test_name: "a server"
test_cases:
  - name: "qwen3-8b"
    model: "vllm-ascend/Qwen3-8B-W8A8"
    envs:
      HCCL_BUFFSIZE: "1024"
    server_cmd:
      - "--quantization"
      - "ascend"
      - "--tensor-parallel-size"
      - "4"
      - "--port"
      - "8000"
    benchmarks:
      perf:
        case_type: performance
        num_prompts: 400
        max_out_len: 1500
        batch_size: 100
        baseline: 2000
"""


def test_a_case_on_one_node_is_a_recipe(tmp_path: Path, names: PlainNames) -> None:
    (recipe,), report = recipes_of(
        names, tmp_path / "x.yaml", ONE_NODE, source=ADDRESS, hardware="Ascend 910C"
    )
    assert report.bad == 0
    assert (recipe.role, recipe.devices, recipe.authority) == (Role.SERVE, 4, Authority.VENDOR_CI)
    assert (recipe.model, recipe.precision) == ("qwen3-8b", "w8a8")
    assert recipe.hardware == "ascend-910c"
    pairs = {item.key: item.value for item in recipe.settings}
    assert pairs == {"HCCL_BUFFSIZE": "1024", "--quantization": "ascend", "--tensor-parallel-size": "4"}
    assert (recipe.context["requests"], recipe.context["output_len"], recipe.context["concurrency"]) == (
        400,
        1500,
        100,
    )


def test_a_size_that_is_no_number_is_a_fault_with_its_line(tmp_path: Path, names: PlainNames) -> None:
    recipes, report = recipes_of(
        names, tmp_path / "x.yaml", ONE_NODE.replace('"4"', '"four"'), source=ADDRESS, hardware="Ascend 910C"
    )
    assert recipes == []
    (fault,) = report.faults
    assert fault.place.startswith("line ")
    assert "four" in fault.reason


def test_a_file_that_starts_nothing_says_so(tmp_path: Path, names: PlainNames) -> None:
    text = "test_cases:\n  - name: nothing\n    server_cmd: []\n"
    recipes, report = recipes_of(names, tmp_path / "x.yaml", text, source=ADDRESS, hardware="Ascend 910C")
    assert recipes == []
    assert report.faults[0].reason == "starts no server"
