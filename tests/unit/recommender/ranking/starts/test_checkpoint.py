"""The model in the command of a start: the one that was named, where its files are the ones that are priced."""

import pytest

from recommender.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("name", "precision", "served"),
    [
        ("Qwen/Qwen3-32B", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", "w4a16", "MODEL"),
        ("Qwen/Qwen3-32B-AWQ", None, "Qwen/Qwen3-32B-AWQ"),
        ("Qwen/Qwen3-32B", "w4a16", "MODEL"),
    ],
)
def test_the_command_serves_the_named_checkpoint(
    shipped: Workspace, name: str, precision: str | None, served: str
) -> None:
    question = {"model": name, "phase": "serving", "hardware": "h100-sxm", "software": {"vllm": "0.20.0"}}
    if precision:
        question["precision"] = precision
    answer = shipped.recommend(question)
    assert answer.plan is not None
    command = next(line for line in answer.plan.start.paste_lines if line.startswith("vllm"))
    assert command.split()[2] == served
