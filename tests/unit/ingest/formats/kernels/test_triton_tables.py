import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver, Records
from ingest.formats.kernels.triton_tables import file_name, table_text, tables, triton_configs
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.readings import Reader

CONFIG = {"kpack": 2, "num_warps": 4, "BLOCK_SIZE_M": 16}
NAMES = [
    "E=8,N=3584,device_name=NVIDIA_A100-PCIE-40GB,dtype=fp8_w8a8,block_shape=[128,128].json",
    "E=8,N=3584,device_name=NVIDIA_A100-PCIE-40GB_down.json",
    "N=1536,K=7168,device_name=NVIDIA_A100,dtype=int8_w8a8,block_shape=[128,128].json",
    "headdim=64,dstate=128,device_name=Intel(R)_Arc(TM)_Pro_B70_Graphics,cache_dtype=float32.json",
]


def measured(names: NameResolver, value: float | None, **more: object) -> Case:
    status = "winner_untimed" if value is None else "ok"
    record = {
        "task": {"kind": "kernel", "op": "fused_moe", "shape": {"M": 4, "N": 64, "E": 8}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK_SIZE_M": 16},
        "outcome": {"metric": "latency", "unit": "us", "value": value, "status": status},
        "source": {"title": "test"},
    }
    return Records(names).case(record | more)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_survives_reading_and_writing(tmp_path: Path, read_file: Reader, name: str) -> None:
    content = {"triton_version": "3.4.0", "1": CONFIG, "64": CONFIG | {"num_warps": 8}}
    path = tmp_path / name
    path.write_text(json.dumps(content))
    cases, _ = read_file(path)
    (table,) = tables(cases)
    if name.startswith("N="):  # of products, vLLM's loader takes every key for a number of rows
        del content["triton_version"]
    assert (table.name, json.loads(table.text)) == (name, content)
    assert list(json.loads(table.text)["1"]) == ["BLOCK_SIZE_M", "num_warps", "kpack"]


def test_sglang_has_the_version_in_the_folder(tmp_path: Path, read_file: Reader) -> None:
    name = "E=257,N=256,device_name=NVIDIA_A100,dtype=fp8_w8a8,block_shape=[128, 128]_down.json"
    path = tmp_path / "triton_3_5_1" / name
    path.parent.mkdir()
    path.write_text(json.dumps({"1": CONFIG}))
    cases, _ = read_file(path)
    (table,) = tables(cases, sglang=True)
    assert (table.name, json.loads(table.text)) == (f"triton_3_5_1/{name}", {"1": CONFIG})


def test_the_best_measured_configuration_stands_before_a_winner(names: NameResolver) -> None:
    fast, slow = {"config": {"a": 1}}, {"config": {"a": 2}}
    failed = {"outcome": {"metric": "latency", "unit": "us", "value": None, "status": "failed"}}
    cases = [measured(names, None), measured(names, 9.0, **slow), measured(names, 3.0, **fast)]
    (table,) = tables([*cases, measured(names, None, **failed)])
    assert json.loads(table.text) == {"4": {"a": 1}}
    (table,) = tables(cases[:1])
    assert json.loads(table.text) == {"4": {"BLOCK_SIZE_M": 16}}


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({"op": "conv2d", "shape": {"M": 1}}, "no tuning table"),
        ({"op": "fused_moe", "shape": {"M": 1, "N": 2}}, "lacks E"),
        ({"op": "fused_moe", "shape": {"M": 1, "N": 2, "E": 3, "K": 4}}, "also has K"),
        ({"op": "fused_moe", "shape": {"M": 1.5, "N": 2, "E": 3}}, "lacks M"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(
    names: NameResolver, task: dict[str, object], reason: str
) -> None:
    case = measured(names, 1.0, task={"kind": "kernel"} | task)
    with pytest.raises(InputError, match=reason):
        tables([case])


def test_a_file_name_leads_nowhere_else(names: NameResolver) -> None:
    case = measured(names, 1.0, hardware={"name": "../../etc/a b"})
    assert file_name(case.problem) == "E=8,N=64,device_name=.._.._etc_a_b.json"


def test_ranked_configurations_become_triton_configs() -> None:
    ranked = [Settings({"num_warps": 4, "BLOCK": 64, "num_stages": 3}), Settings({"BLOCK": 32})]
    text = triton_configs(ranked)
    assert text == (
        "[\n"
        "    triton.Config({'BLOCK': 64}, num_warps=4, num_stages=3),\n"
        "    triton.Config({'BLOCK': 32}),\n"
        "]\n"
    )
    compile(text, "configs", "eval")
    with pytest.raises(InputError, match="num_warps"):
        triton_configs([Settings({"num_warps": "4)"})])


def test_a_word_of_digits_stays_a_word() -> None:
    assert json.loads(table_text({1: Settings({"grf_mode": 256})})) == {"1": {"grf_mode": "256"}}
    assert "'grf_mode': '256'" in triton_configs([Settings({"grf_mode": 256})])


def test_samples_come_back_as_they_were(shared: Path, read_file: Reader) -> None:
    count = 0
    for folder in ("vllm_block_fp8_gemm", "vllm_mamba_ssu", "vllm_fused_moe"):
        for path in sorted((shared / "formats" / folder).iterdir()):
            cases, _ = read_file(path)
            (table,) = tables(cases)
            assert json.loads(table.text) == json.loads(path.read_text())
            known_otherwise = "dtype=float8" in path.name or "dtype=bf16" in path.name
            assert known_otherwise or table.name == path.name
            count += 1
    assert count == 30


@pytest.mark.parametrize(
    ("device", "experts", "products"),
    [
        ("NVIDIA H200", "NVIDIA_H200", "NVIDIA_H200"),
        ("NVIDIA H200 NVL", "NVIDIA_H200", "NVIDIA_H200_NVL"),
        ("AMD Radeon RX 7900 XT / XTX", "AMD_Radeon_RX_7900_XT_XTX", "AMD_Radeon_RX_7900_XT_XTX"),
    ],
)
def test_a_device_has_the_name_that_vllm_looks_for(
    names: NameResolver, device: str, experts: str, products: str
) -> None:
    gemm = {"kind": "kernel", "op": "w8a8_block_fp8_gemm", "shape": {"M": 4, "N": 64, "K": 8}}
    moe = measured(names, 1.0, hardware={"name": device}).problem
    assert file_name(moe) == f"E=8,N=64,device_name={experts}.json"
    assert file_name(moe, sglang=True) == f"E=8,N=64,device_name={products}.json"
    product = measured(names, 1.0, hardware={"name": device}, task=gemm).problem
    assert file_name(product) == f"N=64,K=8,device_name={products}.json"


def test_a_table_keeps_the_rules_of_vllms_loader(names: NameResolver) -> None:
    """``get_config_file_name`` and ``get_moe_configs`` of vllm/model_executor/layers/fused_moe/fused_moe.py.

    Names have no blanks; every key but ``triton_version``, which vLLM has taken out since its tuner writes it, is
    a batch size; every configuration is keyword arguments of the kernel; the nearest size is taken.
    """
    task = {"kind": "kernel", "op": "fused_moe", "dtype": "fp8_w8a8", "traits": {"block_shape": [128, 128]}}
    cases = [
        measured(
            names, None, task=task | {"shape": {"M": size, "N": 256, "E": 8}}, hardware={"name": "NVIDIA H20"}
        )
        for size in (64, 1)
    ]
    (table,) = tables(cases)
    assert table.name == "E=8,N=256,device_name=NVIDIA_H20,dtype=fp8_w8a8,block_shape=[128,128].json"
    content = json.loads(table.text)
    content.pop("triton_version", None)
    sizes = {int(key): value for key, value in content.items()}
    assert sizes[min(sizes, key=lambda size: abs(size - 50))] == {"BLOCK_SIZE_M": 16}
    assert all(
        name.isidentifier() and isinstance(value, int)
        for row in sizes.values()
        for name, value in row.items()
    )
