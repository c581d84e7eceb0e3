"""Values of vLLM's Helm chart: the command that the chart makes of each model."""

import pytest

from ingest.questions.launches.charts import chart_commands
from ingest.questions.launches.configurations import is_launch
from ingest.questions.launches.launch import LaunchForm, read_launches

VALUES = """
servingEngineSpec:
  modelSpec:
  - name: small
    repository: "vllm/vllm-openai"
    tag: "v0.11.0"
    modelURL: "Qwen/Qwen3-8B"
    requestGPU: 1
    env: [{name: VLLM_USE_V1, value: "1"}]
    vllmConfig: {tensorParallelSize: 2, maxModelLen: 4096, enableChunkedPrefill: false, extraArgs: ["--max-num-seqs", "8"]}
"""


def test_the_values_of_a_chart_are_the_command_that_it_makes_of_them() -> None:
    [launch] = read_launches(VALUES, "values.yaml")
    assert launch.form is LaunchForm.CHART
    assert launch.facts.question["model"] == "Qwen/Qwen3-8B"
    assert launch.facts.question["software"] == {"vllm": "0.11.0"}
    assert launch.command.environment == {"VLLM_USE_V1": "1", "nvidia.com/gpu": "1"}
    flags = launch.command.words[3:]
    assert flags[:2] == ("--no-enable-prefix-caching", "--no-enable-chunked-prefill")
    assert flags[2:] == ("--max-model-len", "4096", "--tensor-parallel-size", "2", "--max-num-seqs", "8")
    assert is_launch(VALUES, "values.yaml")


@pytest.mark.parametrize(
    "text", ["modelSpec: [", "modelSpec: 3", "modelSpec:\n- {name: a}", "a:\n  modelSpec: {}"]
)
def test_other_texts_hold_no_values_of_it(text: str) -> None:
    assert chart_commands(text) == []
