"""``tunegraph workspace renew``: what ships now comes, what is one's own stays, and the second time nothing is done."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.long
def test_an_old_workspace_is_renewed_once(run: Any, toy_path: Path) -> None:
    own = run("kb", "stats", "--json", workspace=toy_path).json["cases"]["rows"]
    ran = run("workspace", "renew", workspace=toy_path)
    assert ran.code == 0
    assert f"yours: {own} rows, " in ran.out
    assert run("kb", "stats", "--json", workspace=toy_path).json["cases"]["rows"] > own
    again = run("workspace", "renew", "--json", workspace=toy_path).json
    assert (again["is_new"], again["own"]["rows"]) == (False, 0)
    assert run("workspace", "renew", workspace=toy_path).out == (
        "the workspace has the knowledge that ships with this program\n"
    )


@pytest.mark.long
def test_a_workspace_made_without_a_text_model_gets_the_one_that_is_installed(
    run: Any, toy_path: Path
) -> None:
    before = run("kb", "stats", "--json", workspace=toy_path).json["cases"]["rows"]
    assert json.loads((toy_path / "workspace.json").read_text(encoding="utf-8"))["encoder"] is None
    for _ in range(2):  # the second time it is as it was
        assert run("workspace", "renew", "--text-model", workspace=toy_path).code == 0
        assert json.loads((toy_path / "workspace.json").read_text(encoding="utf-8"))["encoder"]
    assert run("kb", "stats", "--json", workspace=toy_path).json["cases"]["rows"] > before
