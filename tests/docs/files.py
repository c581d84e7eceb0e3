"""The files that the commands of the documentation name, as small as they can be."""

import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from tests.docs.blocks import ROOT, blocks
from tests.samples.outputs import VLLM_SERVE

_TRAIN = """\
import json, sys
batch = int(sys.argv[sys.argv.index("--batch") + 1])
mean = 40 / batch**0.5 + sum(map(int, str(hash(str(batch))))) % 3 * 0.001
print(json.dumps({"timing": {"mean": mean}, "memory": 900 + batch}))
"""
_BENCH = """\
import json, sys
setting = dict(word[2:].split("=") for word in sys.argv[1:] if "=" in word)
mean_ms = 64 / int(setting.get("tile", 1)) + int(setting.get("depth", 1))
print("error: 0.001")
print(json.dumps({"ms": mean_ms, "timing": {"mean_ms": mean_ms}}))
"""
_CHIP = """\
sources:
  data-sheet: {title: Data sheet of my chip, url: "https://example.org/chip"}
hardware:
  - id: my-chip
    level: device
    broader: huawei
    label: {en: My chip}
    facts: {memory_bytes: {value: 68719476736, source: data-sheet, kind: documented, confidence: high}}
"""
_LOSSES = """\
layer,loss_increase,parameters
layers.0.self_attn.q_proj,0.004,100
layers.0.mlp.up_proj,0.001,400
lm_head,0.02,100
"""
_SPACE = """\
problem: {op: gemm, phase: kernel, shape: {M: 512, N: 512, K: 512}, hardware: NVIDIA A100-PCIE-40GB}
parameters: {MWG: [8, 16, 32, 64, 128], NWG: [8, 16, 32, 64, 128], KWG: [8, 16, 32, 64, 128]}
command: [python, bench.py, "{MWG}", "{NWG}", "{KWG}"]
metrics: {kernel_time: {path: ms, unit: ms}}
objectives: [kernel_time]
"""
_LOOP = """\
import json, sys, time
import numpy as np
rows, matrix = int(sys.argv[1]), np.ones((2048, 2048), order=sys.argv[2])
start_s = time.perf_counter()
for row in range(0, 2048, rows):
    matrix[row : row + rows].sum()
print(json.dumps({"ms": 1e3 * (time.perf_counter() - start_s)}))
"""
_LOOP_SEARCH = """\
name: loop
parameters: {rows: [1, 4, 16, 64, 256, 1024], order: [C, F]}
default: {rows: 4, order: F}
command: [python, loop.py, "{rows}", "{order}"]
metrics: {run_time: {path: ms, unit: ms}}
objectives: [run_time]
stop: {evaluations: 8}
"""
_WINNERS = {str(m): {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 1,
                     "num_warps": 4, "num_stages": 3} for m in (1, 64)}  # fmt: skip


def write_files(folder: Path) -> None:
    """Put all files into a folder, each under the name that the pages use."""
    shipped = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "data" / "examples").iterdir()}
    pretrain = shipped["pretrain_llama2.sh"]
    texts = {
        **shipped,
        "pretrain_qwen3_8b.sh": pretrain.replace("layers 32", "layers 36").replace("11008", "12288"),
        "train.py": _TRAIN,
        "times.csv": "arm,latency\n" + "".join(f"a,{40 + at % 3}\nb,{36 + at % 4}\n" for at in range(20)),
        "my-chip.yaml": _CHIP,
        "losses.csv": _LOSSES,
        "statistics.json": json.dumps(
            {"layers": {"layers.0.mlp": {"grad_norm": 0.5}, "lm_head": {"grad_norm": 2}}}
        ),
        "search.yaml": "name: by-layers\n",
        "gemm.yaml": _SPACE,
        "gemm_A100.json": _kernel_tuner("gemm", "NVIDIA A100-PCIE-40GB", ("MWG", "NWG", "KWG")),
        "gemm_A4000.json": _kernel_tuner("gemm", "NVIDIA RTX A4000", ("MWG", "NWG", "KWG")),
        "bench.py": _BENCH,
        "benchmark_hub/cachefiles/convolution_milo/RTX_3090.json": _kernel_tuner(
            "convolution_milo", "NVIDIA GeForce RTX 3090", ("block_size_x", "tile_size_x", "use_shmem")
        ),
        "benchmark_hub/cachefiles/gemm/A100.json": _kernel_tuner(
            "gemm", "NVIDIA A100-PCIE-40GB", ("MWG", "NWG", "KWG")
        ),
        "vllm/vllm/model_executor/layers/fused_moe/configs/"
        "E=128,N=768,device_name=NVIDIA_H200,dtype=fp8_w8a8.json": json.dumps(_WINNERS),
        "vllm/vllm/model_executor/layers/fused_moe/configs/"
        "E=8,N=3584,device_name=NVIDIA_H200,dtype=fp8_w8a8.json": json.dumps(_WINNERS),
        "train.yaml": _block("search.md", "name: my-kernel"),
        "my-search.yaml": _block("search.md", "name: my-kernel"),
        "loop.py": _LOOP,
        "loop.yaml": _LOOP_SEARCH,
        "result.json": json.dumps(VLLM_SERVE),
        "de.csv": _grid(),
        "power.csv": _power(),
        "bin/npu-smi": "#!/bin/sh\ncat npu-smi.txt\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "bin" / "npu-smi").chmod(0o755)
    (folder / "data").symlink_to(ROOT / "data")
    _safetensors(folder / "model.safetensors")


def _grid() -> str:
    """Eight weeks of carbon intensity up to now, on the clock of Berlin."""
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    rng = np.random.default_rng(0)
    rows = []
    wind = 0.0
    for slot in range(-8 * 7 * 48, 0):
        wind = 0.99 * wind + rng.normal(0, 8)
        at = (now + timedelta(minutes=30 * slot)).astimezone(berlin)
        value = max(50.0, 300 + 60 * np.sin((at.hour + at.minute / 60) * np.pi / 12) + wind)
        rows.append(f"{at:%Y-%m-%d %H:%M:%S},{value:.1f}")
    return "Time,Carbon Intensity\n" + "\n".join(rows) + "\n"


def _power() -> str:
    """An hour of nvidia-smi, yesterday."""
    begin = datetime.now(UTC) - timedelta(days=1)
    rows = [
        f"{begin + timedelta(seconds=at):%Y/%m/%d %H:%M:%S}.000, 0, {300 + at % 7} W"
        for at in range(0, 3600, 10)
    ]
    return "timestamp, index, power.draw [W]\n" + "\n".join(rows) + "\n"


def _block(page: str, head: str) -> str:
    """The block of a page that begins so."""
    return next(block.text for block in blocks(ROOT / "docs" / page) if block.text.startswith(head))


def _kernel_tuner(kernel: str, device: str, parameters: tuple[str, ...]) -> str:
    """A cache file of Kernel Tuner: every configuration of a small space, larger values faster."""
    values = (8, 16, 32, 64, 128) if parameters[0] == "MWG" else (1, 2, 4, 8, 16)
    rows: dict[str, dict[str, object]] = {}
    for one in values:
        for two in values:
            for three in values:
                setting = dict(zip(parameters, (one, two, three), strict=True))
                rows[f"{one},{two},{three}"] = {**setting, "time": 8 / one + 4 / two + 1 / three}
    head = {
        "device_name": device,
        "kernel_name": kernel,
        "problem_size": [512, 512],
        "tune_params_keys": list(parameters),
        "tune_params": {name: list(values) for name in parameters},
    }
    body = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return f'{json.dumps(head, indent=0)[:-2]},\n"cache": {{\n{body}}}\n}}'


def _safetensors(path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    about = {"layers.0.mlp.up_proj.weight": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}
    head = json.dumps(about).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + matrix.tobytes())
