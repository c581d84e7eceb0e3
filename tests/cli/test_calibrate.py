"""``tunegraph calibrate``: constants from one's own measurements."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn comes with the extra learn"
)

SHAPES = ((256, 512), (1024, 1024), (4096, 1024), (2048, 4096), (8192, 2048), (7168, 4096))


def products(folder: Path, shapes: tuple[tuple[int, int], ...] = SHAPES) -> Path:
    path = folder / "matmul_bf16.csv"
    lines = ["m,n,k,measured_us,source,group"]
    for n, k in shapes:
        lines += [
            f"{m},{n},{k},{8 + 2 * m * n * k / 2.5e8 + 2 * n * k / 1.2e6:.2f},my cluster,{n}x{k}"
            for m in (1, 16, 128, 1024)
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_own_measurements_give_constants_with_source_date_and_error(run: Any, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    ran = run("calibrate", products(tmp_path), "--output", target, "--quick", "--json")
    assert ran.code == 0, ran.err
    (one,) = ran.json["operators"]
    assert one["operator"] == "matmul_bf16"
    assert one["groups"] == len(SHAPES)
    assert 0 < one["left_out_mape_percent"] < 60
    held = json.loads((target / "constants.json").read_text(encoding="utf-8"))
    entry = held["operators"]["matmul_bf16"]
    assert entry["source"] == ["my cluster"]
    assert len(entry["date"]) == len("2026-01-01")
    assert entry["left_out_mape_percent"] == one["left_out_mape_percent"]
    used = run(
        "estimate", "--model", "llama-2-7b", "--hardware", "ascend-910b1", "--set", "seq_len=2048",
        "--constants", target, "--json",
    )  # fmt: skip
    assert used.code == 0, used.err
    plain = run(
        "estimate", "--model", "llama-2-7b", "--hardware", "ascend-910b1", "--set", "seq_len=2048", "--json"
    )
    assert used.json["estimates"][0]["time_s"] != plain.json["estimates"][0]["time_s"]


def test_the_table_says_how_far_off_the_fit_is(run: Any, tmp_path: Path) -> None:
    ran = run("calibrate", products(tmp_path, SHAPES[:3]), "--output", tmp_path / "mine", "--quick")
    assert ran.code == 0
    assert "left-out" in ran.out
    assert "matmul_bf16" in ran.out


def test_a_table_with_faults_is_refused_and_nothing_is_written(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "matmul_bf16.csv"
    path.write_text("m,n,k,measured_us\n1,256,0,5\n-1,256,256,5\n1,256,256,nan\n", encoding="utf-8")
    ran = run("calibrate", path, "--output", tmp_path / "mine")
    assert ran.code == 2
    assert all(f"line {line}" in ran.err for line in (2, 3, 4))
    assert not (tmp_path / "mine").exists()


def test_other_files_are_refused(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "weather.csv"
    path.write_text("day,rain\nmonday,3\n", encoding="utf-8")
    assert run("calibrate", path, "--output", tmp_path / "mine").code == 2
    assert run("calibrate", tmp_path / "nothing.csv", "--output", tmp_path / "mine").code == 2
    missing = run("estimate", "--model", "llama-2-7b", "--hardware", "ascend-910b1", "--constants", tmp_path)
    assert missing.code == 2
    assert "constants.json" in missing.err


@pytest.mark.parametrize("arguments", [(), ("a.csv", "--steps", "b.csv")])
def test_either_operators_or_steps(run: Any, arguments: tuple[str, ...]) -> None:
    ran = run("calibrate", *arguments)
    assert ran.code == 2
    assert "--steps" in ran.err


def test_runs_of_ones_own_narrow_answers_about_their_model_and_move_those_about_others(
    run: Any, shipped_path: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(shipped_path, tmp_path / "w")
    rows = [
        {
            "task": {
                "kind": "serving", "op": "serve", "model": "qwen3-32b",
                "shape": {"input_len": 1024, "output_len": 256, "concurrency": load},
            },
            "hardware": {"name": "910B3", "count": 4},
            "software": {"vllm": ""},
            "config": {"tensor_parallel_size": 4},
            "outcome": {"metric": "tpot", "unit": "ms", "value": value},
            "source": {"title": "made by hand"},
        }
        for load, value in ((8, 60.0), (32, 70.0), (64, 85.0))
    ]  # fmt: skip
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def estimate(model: str, count: int) -> Any:
        return run(
            *("estimate", "--model", model, "--phase", "serving", "--hardware", "910B3", "--count", count),
            *("--software", "vllm-ascend=0.11.0", "--set", f"tp={count}", "--set", "batch=32", "--json"),
            workspace=own,
        ).json["estimates"][0]  # fmt: skip

    none = run("calibrate", "--own", workspace=own)
    assert none.code == 3
    assert "tunegraph ingest" in none.err
    other = estimate("llama-3.3-70b", 8)
    assert run("ingest", path, workspace=own).code == 0
    assert estimate("llama-3.3-70b", 8) == other  # nothing moves unasked
    ran = run("calibrate", "--own", "--json", workspace=own)
    assert ran.code == 0, ran.err
    assert len(ran.json["steps"]) == 3
    same, others = ran.json["intervals"]
    assert same["system"] == "qwen3-32b on ascend-910b3"
    assert same["now"] < same["before"]
    assert others["system"] == "other models on ascend-910b3"
    moved = estimate("llama-3.3-70b", 8)
    assert moved["time_s"] > other["time_s"]  # theirs took longer than modelled
    assert (
        moved["time_interval_90_s"][1] / moved["time_interval_90_s"][0]
        <= 1.001 * other["time_interval_90_s"][1] / other["time_interval_90_s"][0]
    )
    plain = estimate("qwen3-32b", 4)
    assert (
        plain["time_interval_90_s"][1] / plain["time_interval_90_s"][0]
        < 0.9 * other["time_interval_90_s"][1] / other["time_interval_90_s"][0]
    )
