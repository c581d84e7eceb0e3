"""Recipes out of a made-up clone: what is read, what is left out, and another commit."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.door.records import Records
from tools import read_recipes
from tools.read_recipes import Checkout, main, recipes

PAGE = """
# Qwen3-32B on H200
```bash
export VLLM_USE_TRTLLM_ATTENTION=1
vllm serve Qwen/Qwen3-32B -tp 2 --max-num-seqs 64 --max-model-len 4096 --host 0.0.0.0 -cc.cudagraph_mode=FULL
```
## Others
```bash
vllm serve "$MODEL" --max-num-seqs 8
vllm serve Qwen/Qwen3-8B --trust-remote-code
```
"""
VARIANTS = """
meta: {hardware: {h200: verified, mi300x: unsupported}}
model: {model_id: Qwen/Qwen3-32B, min_vllm_version: 0.10.0, base_args: [], base_env: {}}
variants: {default: {precision: bf16, vram_minimum_gb: 80}}
compatible_strategies: [single_node_tp]
hardware_overrides: {hopper: {extra_args: [--max-num-seqs, "512"], extra_env: {VLLM_USE_DEEP_GEMM: "1"}}}
"""
PROFILES = "hardware_profiles: {h200: {brand: NVIDIA, generation: hopper, gpu_count: 8, vram_gb: 1128}}"
TABLE: dict[str, Any] = {
    "licence": "Apache-2.0",
    "places": [
        {"paths": ["docs/**/*.md"], "form": "launches", "authority": "engine-guide"},
        {"paths": ["models/*.yaml"], "form": "vllm_recipes", "authority": "engine-guide"},
    ],
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with a page, a file of variants, and one that is no such file."""
    files = {
        "docs/a/page.md": PAGE,
        "models/one.yaml": VARIANTS,
        "models/other.yaml": "model: {}",
        "taxonomy.yaml": PROFILES,
    }
    for name, text in files.items():
        path = tmp_path / "owner+name" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    folder = tmp_path / "owner+name"
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def found(clone: Path) -> tuple[list[dict[str, Any]], Counter[str]]:
    left: Counter[str] = Counter()
    checkout = Checkout(clone)
    return list(
        recipes(checkout, checkout.repository(), TABLE, Records(ShippedKnowledge.load().names), left)
    ), left


def test_a_launch_of_a_page_is_a_recipe_with_its_heading_and_address(clone: Path) -> None:
    page = found(clone)[0][0]
    keys = {one["key"]: one["value"] for one in page["settings"]}
    assert (page["model"], page["hardware"], page["devices"], page["layout"]) == (
        "Qwen/Qwen3-32B",
        "h200",
        2,
        {"tp": 2},
    )
    assert keys == {
        "VLLM_USE_TRTLLM_ATTENTION": "1",
        "--tensor-parallel-size": "2",
        "--max-num-seqs": "64",
        "compilation_config.cudagraph_mode": "FULL",
    }
    assert page["source"].startswith("https://github.com/owner/name/blob/")
    assert page["source"].endswith("page.md#L4")


def test_a_variant_is_one_recipe_for_each_verified_machine_without_sizes_of_the_page(clone: Path) -> None:
    variant = found(clone)[0][1]
    assert (variant["hardware"], variant["layout"], variant["precision"]) == ("h200", {}, "bf16")
    assert {one["key"] for one in variant["settings"]} == {"--max-num-seqs", "VLLM_USE_DEEP_GEMM"}


def test_what_names_no_model_sets_only_sizes_or_has_another_form_is_counted(clone: Path) -> None:
    read, left = found(clone)
    reasons = " ".join(left)
    assert len(read) == 2
    assert "the model is not told" in reasons
    assert "sets nothing but sizes" in reasons
    assert "models/other.yaml: not of the form vllm_recipes" in reasons


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"commit": "0" * 40}, "is read at 000000000000"),
        ({"forbids": "no copies"}, "left out: no copies"),
        (None, "is not in"),
    ],
)
def test_another_commit_a_forbidding_licence_and_an_unknown_repository(
    clone: Path,
    row: dict[str, Any] | None,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = clone.parent / "table.yaml"
    table.write_text(json.dumps({"repositories": {"owner/name": TABLE | row} if row else {}, "chips": []}))
    monkeypatch.setattr(read_recipes, "TABLE", table)
    monkeypatch.setattr("sys.argv", ["read_recipes", str(clone), "--out", str(clone.parent / "out")])
    if row is not None and "forbids" in row:
        main()
        assert said in capsys.readouterr().err
        assert (clone.parent / "out").read_text() == ""
    else:
        with pytest.raises(SystemExit, match=said):
            main()
