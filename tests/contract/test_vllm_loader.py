"""vLLM's own loaders read the tables that are written for it.

vLLM itself is too large to install for this. Its loaders stand in three files, which are read at a release: that of
an installed vLLM, or of the folder that ``TUNEGRAPH_VLLM`` names (an unpacked wheel, a checkout). Only the functions
that find and read tables run, and what they ask of the platform is answered with a device of the test's choice.
They passed with 0.33.0. Without vLLM ``test_triton_tables`` holds tables to the rules that these functions follow.
"""

import ast
import importlib.util
import json
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.exporting import write_folder
from ingest.reading import read
from kg.nouns.entities import Case
from tests.unit.ingest.conftest import PlainNames

LAYERS = "model_executor/layers"
LOADERS = {
    "E": (f"{LAYERS}/fused_moe/fused_moe.py", "get_moe_configs", "get_config_file_name"),
    "N": (f"{LAYERS}/quantization/utils/fp8_utils.py", "get_w8a8_block_fp8_configs"),
    "headdim": (
        f"{LAYERS}/mamba/ops/mamba_ssm.py", "get_ssm_configs", "get_ssm_config_file_name",
        "get_ssm_device_name", "_canonical_cache_dtype", "_CONFIGS_DIR",
    ),
}  # fmt: skip
"""By the first word of a table's name: file of the loader, the loader, and what it needs of that file."""
ASKED = re.compile(r"(E=|headdim=|N=.*dtype=fp8_w8a8)(?!.*(backend=|dtype=float8|dtype=bf16))")
"""Names of tables that these loaders ask for; nothing reads the others, or something else does."""
STEP = 8
"""One table of so many is read again; all of 0.33.0's passed once, in half a minute."""


@pytest.fixture(scope="module")
def release() -> Path:
    """The folder of vLLM's package."""
    if place := os.environ.get("TUNEGRAPH_VLLM"):
        return Path(place) / "vllm"
    found = importlib.util.find_spec("vllm")
    if found is None or found.origin is None:
        pytest.skip("no release of vLLM: set TUNEGRAPH_VLLM to a folder that holds its package")
    return Path(found.origin).parent


def functions(path: Path, *names: str, **given: object) -> dict[str, Any]:
    """The functions and constants of a file that have these names, made without the rest of it."""
    kept: list[ast.stmt] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list = []  # caches: the next test has another folder
            node.body = [line for line in node.body if not isinstance(line, ast.ImportFrom)]
            kept.append(node)
        elif isinstance(node, ast.Assign) and {ast.unparse(target) for target in node.targets} & set(names):
            kept.append(node)
    made: dict[str, Any] = {"json": json, "os": os, "re": re, "Any": Any, **given}
    header = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module([*header, *kept], []), path, "exec"), made)  # noqa: S102  vLLM's, as it is
    assert set(names) <= set(made), f"{path} has no {set(names) - set(made)}"
    return made


@pytest.fixture
def load(release: Path, tmp_path: Path) -> Callable[[str, str], dict[int, Any] | None]:
    """What vLLM finds below ``configs`` in ``tmp_path`` on a device, for the problem that a file name states."""
    (tmp_path / "configs").mkdir()
    logger = logging.getLogger("vllm")
    for level in ("info", "warning"):
        setattr(logger, f"{level}_once", lambda *_, **__: None)

    def found(name: str, device: str) -> dict[int, Any] | None:
        platform = SimpleNamespace(get_device_name=lambda _: device)
        naming = functions(
            release / "utils/platform_utils.py", "get_device_name_as_file_name", current_platform=platform
        )
        facts = dict(re.findall(r"(\w+)=(\[[^]]*\]|[^,]+?)(?=,|\.json)", name))
        block = [int(size) for size in re.findall(r"\d+", facts.get("block_shape", ""))] or [0, 0]
        path, *needed = LOADERS[name.partition("=")[0]]
        made = functions(
            release / path,
            *needed,
            logger=logger,
            envs=SimpleNamespace(
                VLLM_BATCH_INVARIANT=False, VLLM_TUNED_CONFIG_FOLDER=str(tmp_path / "configs")
            ),
            get_device_name_as_file_name=naming["get_device_name_as_file_name"],
            __file__=str(tmp_path / "loader.py"),
        )
        sizes = [int(facts[size]) for size in ("E", "headdim", "dstate", "N", "K") if size in facts]
        rest: dict[str, list[Any]] = {
            "E": [facts.get("dtype"), *block],
            "N": [*block],
            "headdim": [facts.get("cache_dtype")],
        }
        table: dict[int, Any] | None = made[needed[0]](*sizes, *rest[name.partition("=")[0]])
        return table

    return found


@pytest.mark.parametrize("device", ["NVIDIA H20", "NVIDIA H200 NVL", "AMD Radeon RX 7900 XT / XTX"])
@pytest.mark.parametrize(
    "name",
    [
        "E=8,N=64,device_name={},dtype=fp8_w8a8,block_shape=[128,128].json",
        "E=8,N=64,device_name={}.json",
        "N=64,K=128,device_name={},dtype=fp8_w8a8,block_shape=[128,128].json",
        "headdim=64,dstate=128,device_name={},cache_dtype=float16.json",
    ],
)
def test_a_table_that_was_written_is_found_on_its_device(
    tmp_path: Path,
    load: Callable[[str, str], dict[int, Any] | None],
    name: str,
    device: str,
) -> None:
    table = {"1": {"BLOCK_SIZE_M": 16, "num_warps": 4}, "64": {"BLOCK_SIZE_M": 64, "num_warps": 8}}
    path = tmp_path / "source" / name.format(re.sub(r"[\s/]+", "_", device))
    path.parent.mkdir()
    path.write_text(json.dumps({"triton_version": "3.4.0", **table}))
    exported(path, tmp_path / "configs")
    assert load(name, device) == {int(size): row for size, row in table.items()}


def test_vllms_own_tables_load_as_before_when_they_come_back(
    release: Path,
    tmp_path: Path,
    load: Callable[[str, str], dict[int, Any] | None],
) -> None:
    count = 0
    for file, *_ in LOADERS.values():
        folder = (release / file).parent / "configs"
        paths = sorted(path for path in folder.rglob("*.json") if ASKED.match(path.name))
        assert paths, f"no tables below {folder}: vLLM has moved them"
        for path in paths[::STEP]:
            device = re.findall(r"device_name=([^,]+?)(?:,|\.json)", path.name)[0]
            written = exported(path, tmp_path / "configs")
            expected = json.loads(path.read_text())
            expected.pop("triton_version", None)
            again = load(path.name, device.replace("_", " "))
            assert again == {int(size): row for size, row in expected.items()}, path.name
            assert written == path.name
            count += 1
    assert count > 40


def exported(path: Path, folder: Path) -> str:
    """Read a table, write it for vLLM into a folder; returns its name there."""
    cases = [case for case in read([path], PlainNames()) if isinstance(case, Case)]
    _, [table] = write_folder("vllm", cases)
    (folder / table.name).write_text(table.text)
    return table.name
