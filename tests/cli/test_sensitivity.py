"""``tunegraph sensitivity`` as people run it."""

from pathlib import Path

import yaml

from tests.cli.conftest import Run

TABLE = """layer,loss_increase,parameters
layers.0.self_attn.q_proj,0.004,100
layers.0.mlp.up_proj,0.001,400
lm_head,0.02,100
layers.0.input_layernorm,0.9,10
"""


def test_three_profiles_and_a_budget(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "losses.csv"
    file.write_text(TABLE)
    ran = run("sensitivity", file, "--budget", "0.5%", "--json")
    assert ran.code == 0, ran.err
    profiles = {item["name"]: item for item in ran.json["profiles"]}
    assert profiles["ultra-high"]["low"] == []
    assert profiles["balanced"]["low"] == ["mlp", "attention"]
    assert profiles["eco"]["low"] == ["mlp", "attention", "head"]
    assert profiles["eco"]["within_budget"] is False


def test_the_ranking_is_searched_on_the_cost_model(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "losses.csv"
    file.write_text(TABLE)
    written = run("sensitivity", file, "--budget", "0.5%", "--space")
    assert written.code == 0, written.err
    task = {
        "name": "by-layers",
        "problem": {"model": "qwen3-8b", "phase": "serving", "hardware": "ascend-910b3", "count": 1},
        "cost_model": {"phase": "serving", "fixed": {"batch": 4, "input_len": 512, "output_len": 64}},
        "objectives": ["throughput"],
        "stop": {"evaluations": 10},
        **yaml.safe_load(written.out),
    }
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(task))
    ran = run("search", "run", tmp_path / "task.yaml", "--cold", "--no-ingest", "--json", folder=tmp_path)
    assert ran.code == 0, ran.err
    best = ran.json["best"]["configuration"]
    assert best == {"precision_mlp": "int8", "precision_attention": "int8", "precision_head": "same"}


def test_what_is_wrong_is_said(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("layer,sqnr\na,x\nb,y\n")
    ran = run("sensitivity", file)
    assert ran.code == 2
    assert "2 faults" in ran.fault or "line 2" in ran.err
    assert run("sensitivity", tmp_path / "none.csv").code == 1
    good = tmp_path / "good.csv"
    good.write_text("layer,sqnr\na.mlp,30\n")
    assert run("sensitivity", good, "--budget", "0.5%").code == 2
    assert run("sensitivity", good, "--low", "int3").code == 2
