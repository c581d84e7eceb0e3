"""Runs of rows, completed by the shipped recipes of their documents."""

import pytest

from benchmarks.cost_models.row_recipes import recipe_of, recipe_run
from benchmarks.worlds.shipped import NotExpressibleError

NIGHTLY = "github:vllm-project/vllm-ascend@182b75ea84:tests/e2e/nightly"
SINGLE = f"{NIGHTLY}/single_node/models/configs"


def test_engines_that_decode_have_the_layout_of_their_own_recipe() -> None:
    source = f"{NIGHTLY}/multi_node/internal_dp/config/Qwen3-235B-disagg-pd.yaml#GSM8K-in3500-bs2800"
    found = recipe_run(source, eager=False, apart=True)
    assert found is not None
    assert (found.devices, found.stated["tp"], found.stated["dp"]) == (32, 4, 4)
    assert found.settings["prefill_engines"] == 2
    assert found.settings["prefill_tensor_parallel"] == 8
    assert (found.settings["data_parallel"], found.settings["expert_parallel"]) == (6, 16)


def test_a_recipe_states_the_switches_that_a_row_leaves_out() -> None:
    row = {
        "config": '{"graph": "FULL_DECODE_ONLY"}',
        "source": f"{SINGLE}/GLM-5.1-W8A8-PrefillMC2.yaml#GSM8K-in3500-bs400",
    }
    found = recipe_of(row)
    assert found is not None
    assert (found.settings["async_scheduling"], found.settings["draft_graph"]) == (1, 0)
    assert recipe_of({**row, "config": "TP2 PP1"}) is None
    assert recipe_of({**row, "source": "arXiv:2506.12708 Table 2"}) is None


def test_a_manner_that_its_document_does_not_time_is_refused() -> None:
    source = f"{SINGLE}/DeepSeek-R1-0528-W8A8.yaml#GSM8K-in3500-bs400"
    captured = recipe_run(source, eager=False, apart=False)
    assert captured is not None
    assert captured.stated == {"tp": 8, "dp": 2, "pp": 1, "max_num_seqs": 16, "max_batched": 4096, "spec": 1}
    with pytest.raises(NotExpressibleError, match="no benchmark"):
        recipe_run(source, eager=True, apart=False)
