"""A small sound file of every format that is read."""

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from kg.errors import UnknownEntityError
from kg.triples.names import ResolvedModel
from tests.samples.optuna_database import SCHEMA
from tests.samples.outputs import VLLM_SERVE


def compact(value: object) -> bytes:
    return json.dumps(value).encode()


def parquet(rows: list[dict[str, object]]) -> bytes:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    tables.write_table(pyarrow.Table.from_pylist(rows), stream)
    return stream.getvalue()


def study() -> bytes:
    """A study with one trial, in the tables that Optuna has."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(SCHEMA)
        made.executescript(STUDY)
        return made.serialize()


WINNERS = {"1": {"BLOCK_SIZE_M": 16, "num_warps": 4}, "triton_version": "3.4.0", "64": {"BLOCK_SIZE_M": 32}}
CACHE = b"""{"device_name": "", "kernel_name": "k", "problem_size": [8],
"tune_params_keys": ["a", "b"], "tune_params": {"a": [1, 2], "b": [3]}, "cache": {
"1,3": {"a": 1, "b": 3, "time": 2.5, "times": [2.0, 3.0], "nvml_energy": 1.0},
"2,3": {"a": 2, "b": 3, "time": "InvalidConfig"}}
}"""
T4 = {
    "metadata": {"timeunit": "miliseconds"},
    "results": [
        {
            "configuration": {"a": number, "b": 3},
            "times": {"runtimes": [1.0, 2.0]},
            "invalidity": "correct",
            "measurements": [{"name": "time", "value": 1.5, "unit": ""}],
        }
        for number in (1, 2)
    ],
}
T1 = {
    "General": {"BenchmarkName": "k"},
    "ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, 2]"}]},
    "KernelSpecification": {"ProblemSize": [8], "Arguments": [{"Type": "float", "MemoryType": "Vector"}]},
}
KTT = {
    "Metadata": {"Device": "NVIDIA H20", "TimeUnit": "Microseconds", "KttVersion": "2.1.0"},
    "Results": [
        {
            "Configuration": [{"Name": "a", "Value": size, "ValueType": "UnsignedInt"}],
            "KernelName": "add",
            "Status": "Ok",
            "TotalDuration": 96.25,
            "ComputationResults": [{"ProfilingData": {"Counters": []}}],
        }
        for size in (1, 2)
    ],
}
TVM = {
    "input": ["cuda -model=v100", "conv2d_nchw.cuda", [["TENSOR", [1, 8], "float32"], [1, 1]], {}],
    "config": {"index": 7, "code_hash": None, "entity": [["tile_f", "sp", [6, 1]], ["unroll", "ot", 512]]},
    "result": [[5.7e-05, 5.8e-05], 0, 14.1, 1535423916.7],
    "version": 0.2,
}
GPTUNE = {
    "tuning_problem_name": "MFEM",
    "func_eval": [
        {
            "task_parameter": {"mesh": "tet", "omega": "32"},
            "tuning_parameter": {"order": 2, "eta": 0.25},
            "machine_configuration": {"machine_name": "cori", "intel": {"nodes": 1}},
            "software_configuration": {"gcc": {"version_split": [8, 3, 0]}},
            "evaluation_result": {"r": 86.5, "error": result},
            "evaluation_detail": {"r": {"evaluations": [86.0, 87.0]}},
        }
        for result in ("0.5", None)
    ],
}
ROW: dict[str, object] = {
    "framework": "VLLM",
    "device": "NVIDIA H20",
    "gemm_dtype": "fp8",
    "m": 1,
    "n": 2,
    "latency": 0.5,
}
CASE = {
    "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 8}, "dtype": "fp16"},
    "hardware": {"name": "A100", "count": 1},
    "config": {"a": 1},
    "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.5, "status": "ok"},
    "source": {"repo": "a/b"},
}
CSV = b"""gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio
gfx942,304,16,1280,8192,78,0,111.9,bf16_x,3.0,3000.4,0.0
gfx942,304,32,1280,8192,29,0,inf,bf16_x,86.9,2794.7,0.0
"""
KTT_CSV = b"""Kernel name,Computation duration (us),Global size,block,dram__reads.sum,Registers count
add,77.4,1048576,32,262299,12
add,38.3,1048576,128,262231,12
"""
FLAT: dict[str, object] = {
    "task.kind": "kernel",
    "task.op": "gemm",
    "task.shape.M": 8,
    "hardware.name": "A100",
    "config.a": 1,
    "outcome.metric": "kernel_time",
    "outcome.unit": "ms",
    "outcome.value": 1.5,
    "outcome.status": "ok",
    "source.repo": "a/b",
}
FLAT_CSV = ",".join(FLAT) + "\n" + ",".join(str(value) for value in FLAT.values()) + "\n"
MAPPED = b"Device,tile,Latency (ms)\nA100,16,3.5\nA100,32,2.5\n"
MAPPING = b"""format: tunegraph-mapping
version: 1
task: {kind: operator, op: gemm}
hardware: {name: {column: Device}}
config: {tile: {column: tile}}
metrics: [{column: Latency (ms), metric: latency, unit: ms}]
"""
CHOICES = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": [8, "wide", None]}})
STUDY = """
INSERT INTO studies VALUES (1, 'gemm_a100');
INSERT INTO study_directions VALUES ('MINIMIZE', 1, 0);
INSERT INTO study_user_attributes VALUES (1, 'hardware', '"A100"');
INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE');
INSERT INTO trial_values VALUES (1, 0, 2.5, 'FINITE');
INSERT INTO trial_params VALUES (1, 1, 'tile', 1.0, 'CHOICES');
""".replace("CHOICES", CHOICES)
JOURNAL: list[dict[str, object]] = [
    {"op_code": 0, "worker_id": "w", "study_name": "gemm_a100", "directions": [1]},
    {
        "op_code": 4,
        "worker_id": "w",
        "study_id": 0,
        "state": 1,
        "value": 42.5,
        "values": None,
        "distributions": {"tile": CHOICES},
        "params": {"tile": 1},
        "user_attrs": {},
    },
]
DATAFRAME = b""",number,value,params_tile,user_attrs_status,state
0,0,,8,restricted,PRUNED
1,1,1.5,16,ok,COMPLETE
"""
RAY = {"trial_id": "a", "training_iteration": 1, "latency_ms": 2.0, "done": True, "config": {"tile": 8}}
MLFLOW = b"""run_id,experiment_id,status,metrics.throughput/tokens_per_sec_per_gpu,params.model,params.n_gpus,tags.gpu
a,1,FINISHED,1035.0,mpt-70b,8,h100_80gb
b,1,FAILED,,mpt-30b,8,h100_80gb
"""
WANDB = b"""Name,State,Tags,Created,Runtime,model,n_gpus,throughput/device/tokens_per_sec
"dawn-0","finished","h100_80gb","2023-08-01T00:00:00.000Z","600","mpt-70b","256","1035.0"
"""
OWN_RUNS = (
    b"model,hardware,count,engine,version,metric,unit,value,tensor_parallel,batch,input_len,output_len\n"
    b"qwen3-32b,ascend-910b1,8,vllm-ascend,0.11,tpot,ms,45,8,16,2048,512\n"
    b"qwen3-32b,ascend-910b1,8,vllm-ascend,0.11,tpot,ms,39,4,16,2048,512\n"
)
ARGONNE = (
    b"Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput,avg_power\n\n"
    b"Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,1024,1,13.9,146.5,222122.2\n"
)
EVENTS: list[dict[str, object]] = [
    {"key": "submission_benchmark", "value": "bert", "time_ms": 1},
    {"key": "global_batch_size", "value": 256, "time_ms": 2},
    {"key": "run_start", "value": None, "time_ms": 1000},
    {"key": "run_stop", "time_ms": 61_000, "metadata": {"status": "success"}},
]
MLLOG = "0: noise\n" + "".join(f"3: :::MLLOG {json.dumps(event)}\n" for event in EVENTS)
SYSTEM = {"accelerator_model_name": "A100", "number_of_nodes": "1", "accelerators_per_node": "8"}
NEMO = b"""task,model,size,system,dtype,num_gpus,seq_len,tp_size,pp_size,mbs,gbs
lora,llama3,70b,b200,fp8,8.0,4096,1,4,1,32
"""
CARD = """模型由 Atlas 800T A2 硬件环境下测得

| Config | Task | SeqLength | Performance | Phase |
|---|---|---|---|---|
| [model](run.yaml) | text_generation | 4096 | 100 tokens/s/p | finetune |
"""
RUN = b"runner_config: {batch_size: 1}\nparallel_config: {data_parallel: 2}\n"
RECIPE = b"""### DeepSeek-R1 3_5K-1_5K 50ms on A3 32 Cards Disaggregation Mode

Model: Deepseek R1

Hardware: Atlas 800I A3 32Card

#### Model Deployment

```bash Command
export HCCL_BUFFSIZE=200
python -m sglang.launch_server --model-path x --tp-size 16 --disaggregation-mode prefill
python -m sglang.launch_server --model-path x --tp-size 32 --disaggregation-mode decode
```
"""
FLAGPERF = """#### 运行情况

| 指标名称 | 指标值 | 特殊说明 |
| --- | --- | --- |
| 模型 | bert | |
| 硬件设备简称 | R300 | |

| 配置 | precision | fix_hp | e2e_time | p_whole | p_train | p_core | mem |
| --- | --- | --- | --- | --- | --- | --- | --- |
| R300单机8卡（1x8） | fp32 | bs=24,lr=0.00035 | 19581 | 116.7 | 118.3 | 119.7 | 18.7/32.0 |
"""
COLUMNS = (
    *("Model", "SeqLen (T)", "# GPUs", "GPU", "MFU", "HFU", "MicroBatchSize", "GradAccum", "GlobalBatchSize"),
    *("Throughput (T/s/GPU)", "Precision", "MP Mode", "Sharding Strategy", "Activation Checkpointing"),
    *("Activation CPUOffload", "NumParams"),
)
CELLS = "70b 2048 256 h100_80gb 42.4 56.5 8 1 2048 1035 amp_bf16 DEFAULT FULL_SHARD True False 64862437376"
FOUNDRY = "".join(
    f"| {' | '.join(cells)} |\n" for cells in (COLUMNS, ["---"] * len(COLUMNS), CELLS.split(" "))
)


def recipe_records() -> bytes:
    record = {
        "role": "serve",
        "model": "Qwen3-8B-W8A8",
        "hardware": "A100",
        "devices": 4,
        "framework": "vllm-ascend",
        "layout": {"tp": 2, "dp": 2},
        "context": {"input_len": 2048},
        "settings": [{"where": "flag", "key": "--tensor-parallel-size", "value": "2"}],
        "source": "https://example.org/guide",
        "authority": "vendor-tutorial",
    }
    return (compact(record) + b"\n") * 2


ASCEND_CI = b"""test_name: "a serve"
model: "vllm-ascend/Qwen3-8B-W8A8"
test_cases:
  - name: "qwen3-8b-a3"
    model: "vllm-ascend/Qwen3-8B-W8A8"
    envs:
      OMP_PROC_BIND: "false"
    server_cmd:
      - "--quantization"
      - "ascend"
      - "--tensor-parallel-size"
      - "2"
"""
TENSILE = (
    b"GFlops, SizeI, SizeJ, SizeK, SizeL, TotalFlops, Cijk_a\nGFlops, 1024, 512, 2, 256, 268435456, 52.5\n"
)
TILING = {"info_dict": {"m": 8, "n": 8, "k": 8}, "knowledge": {"baseM": 128}, "op": "MatMulV3", "version": 0}
SCRIPT = b"""#!/bin/bash
export HCCL_BUFFSIZE=512
vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4 --max-model-len 4096
"""

SAMPLES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "cases": ("rows.jsonl", lambda: (compact(CASE) + b"\n") * 3),
    "fused-moe": ("E=8,N=4,device_name=A100,block_shape=[1,2].json", lambda: compact(WINNERS)),
    "block-gemm": ("N=4,K=8,device_name=A100,dtype=fp8_w8a8.json", lambda: compact(WINNERS)),
    "mamba-state": ("headdim=4,dstate=8,device_name=A100,cache_dtype=float16.json", lambda: compact(WINNERS)),
    "lightllm": ("{B=16,K=[1,2]}_NVIDIA_H20.json", lambda: compact({"1": {"8": {"a": 1}, "16": {"a": 2}}})),
    "kernel-tuner-cache": ("k_A100.json", lambda: CACHE),
    "kernel-tuner-t4": ("k_A100_T4.json", lambda: compact(T4)),
    "kernel-tuner-t1": ("space.json", lambda: compact(T1)),
    "ktt": ("ktt.json", lambda: compact(KTT)),
    "ktt-csv": ("ktt.csv", lambda: KTT_CSV),
    "autotvm": ("cuda_v0.10.log", lambda: b"# comment\n" + (compact(TVM) + b"\n") * 3),
    "aiter": ("bf16_tuned_gemm.csv", lambda: CSV),
    "aiconfigurator": ("gemm_perf.parquet", lambda: parquet([ROW, ROW | {"m": 2}])),
    "aiconfigurator-notes": ("reuse.yaml", lambda: b"reuse:\n- table: gemm\n  from_version: 1.3.0\n"),
    "gptune": ("MFEM.json", lambda: compact(GPTUNE)),
    "cases-csv": ("cases.csv", FLAT_CSV.encode),
    "mapped-csv": ("t.csv", lambda: MAPPED),
    "optuna": ("studies.sqlite3", study),
    "optuna-journal": ("journal.log", lambda: b"".join(compact(line) + b"\n" for line in JOURNAL)),
    "optuna-dataframe": ("gemm_a100.csv", lambda: DATAFRAME),
    "ray-tune": ("result.json", lambda: compact(RAY) + b"\n"),
    "mlflow": ("runs.csv", lambda: MLFLOW),
    "wandb": ("export.csv", lambda: WANDB),
    "runs-csv": ("own_runs.csv", lambda: OWN_RUNS),
    "argonne": ("power.csv", lambda: ARGONNE),
    "triton-autotune": (
        "add.autotune.json",
        lambda: compact({"key": [8, "torch.float16"], "configs_timings": [[{"kwargs": {"B": 64}}, [0.5]]]}),
    ),
    "cann-operators": (
        "MatMul.csv",
        lambda: (
            b'Input Shapes,Input Data Types,Output Shapes,Average Duration(us)\n"1,8;4,8",DT_BF16,"1,4",5.2\n'
        ),
    ),
    "kernel-tables": ("tensile.csv", lambda: TENSILE),
    "kernel-profiles": ("Ascend910B1_24_AiCore_MatMulV3_runtime_kb.json", lambda: compact(TILING) + b"\n"),
    "results": ("result.json", lambda: compact(VLLM_SERVE)),
    "mllog": ("result_0.txt", MLLOG.encode),
    "recipes": ("recipes.jsonl", recipe_records),
    "ascend-ci": ("Qwen3-8B-A3.yaml", lambda: ASCEND_CI),
    "launch-script": ("serve.sh", lambda: SCRIPT),
    "nemo-configs": ("model_configs_b200.csv", lambda: NEMO),
    "mindformers": ("README.md", CARD.encode),
    "serving-recipes": ("recipes.mdx", lambda: RECIPE),
    "flagperf": ("training_kunlunxin_bert-pytorch.md", FLAGPERF.encode),
    "training-tables": ("README.md", FOUNDRY.encode),
}
"""Name and content of a small sound file of every format."""

BESIDE: dict[str, dict[str, bytes]] = {
    "mapped-csv": {"t.mapping.yaml": MAPPING},
    "mllog": {"system.json": compact(SYSTEM)},
    "mindformers": {"run.yaml": RUN},
    "ray-tune": {"params.json": b'{"tile": 8}'},
    "aiconfigurator": {"reuse.yaml": b"reuse:\n- table: moe_perf\n  from_version: 1.3.0\n"},
}
"""Files that belong to a sample, by their names."""


class EveryName:
    """Every name is its own id."""

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        return text, True

    def model(self, text: str) -> ResolvedModel:
        raise UnknownEntityError(text)
