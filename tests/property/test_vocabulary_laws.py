"""Law: every spelling of a setting gives the same fact in every reader.

The spellings are those of the programs' own parsers and documents, written down here and not taken from
``data/settings/meanings.yaml``.
"""

from collections.abc import Mapping

import pytest

from ingest.formats.recipes.recipe_commands import command_parts
from ingest.questions.launches.launch import read_launch
from kg.nouns.entities import Kind, Problem, WorkloadKind
from kg.nouns.values import Value
from kg.terms.circumstances import circumstances
from kg.terms.conditions import Condition, Truth
from kg.terms.dialects import degrees_of, statement
from kg.terms.meanings import kind_of
from kg.terms.purposes import Purpose, purpose
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.question_facts import question_facts
from recommender.cost_model.settings.dialects import translate
from recommender.ranking.feasibility import rules
from tests.samples.problems import make_problem

LONG = {
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "dp": "data_parallel",
    "ep": "expert_parallel",
    "cp": "context_parallel",
}
H2 = {
    "tp": ["tensor_parallel_size", "tensor_model_parallel_size", "tensor_parallel", "tp", "--tp", "--tp-size", "tp_size",
           "worldSize"],
    "pp": ["pipeline_parallel_size", "pipeline_model_parallel_size", "pp", "--pp-size", "pp_size"],
    "dp": ["data_parallel_size", "dp", "--dp", "--dp-size"],
    "ep": ["expert_model_parallel_size", "--expert-parallel-size", "ep", "--ep-size", "moe_ep_size"],
    "cp": ["context_parallel_size", "cp"],
}  # fmt: skip
"""The 24 spellings of a review, by the fact that they state."""
OTHERS = {
    "tp": ["parallel_config.model_parallel", "BackendConfig.ModelDeployConfig.ModelConfig.tp", "autotp_size",
           "tensor_parallel.tp_size", "mp_size", "parallelism_config.tp_size"],
    "pp": ["pipeline_parallel", "parallel_config.pipeline_stage", "pipeline_stages",
           "--pipeline-model-parallel-size"],
    "dp": ["data_parallel", "parallel_config.data_parallel", "BackendConfig.ModelDeployConfig.ModelConfig.dp"],
    "ep": ["expert_parallel", "expert_parallel_size", "moe_expert_parallel_size", "parallel_config.expert_parallel",
           "BackendConfig.ModelDeployConfig.ModelConfig.moe_ep", "--expert-model-parallel-size"],
    "cp": ["context_parallel", "--context-parallel-size", "parallel_config.context_parallel", "--cp_size",
           "--prefill-context-parallel-size", "sequence_parallel_size"],
}  # fmt: skip
SPELLINGS = [(fact, name) for table in (H2, OTHERS) for fact, names in table.items() for name in names]
SIZE = 4


def question(
    current: Mapping[str, Value], kind: WorkloadKind = WorkloadKind.TRAINING, count: int | None = None
) -> Problem:
    return make_problem("run", "npu", kind=kind, model="m", count=count, metric="throughput", current=current)


def in_facts(settings: Mapping[str, Value]) -> dict[str, object]:
    return dict(question_facts(question(settings), HardwareTree(GraphStore()), None))


@pytest.mark.parametrize(("fact", "name"), SPELLINGS)
def test_a_degree_is_the_same_fact_in_every_reader(fact: str, name: str) -> None:
    told: dict[str, Value] = {name: SIZE}
    facts = in_facts(told)
    assert facts.get(fact) == SIZE, "current settings"
    assert Condition(f"{fact} >= {SIZE}").judge(facts).truth is Truth.HOLDS, "conditions"  # type: ignore[arg-type]
    assert circumstances(told, {}, {}, Kind.MEASURED).get(fact) == SIZE, "circumstances of an outcome"
    assert translate(told, "training").settings.get(LONG[fact]) == SIZE, "cost model"
    assert purpose(name) is Purpose.LAYOUT, "purpose"
    assert kind_of(name) in rules.SPLITTING, "feasibility"
    broken, kept = (list(rules.layout(question(told, count=count), told)) for count in (SIZE - 1, SIZE))
    assert [bool(broken), bool(kept)] == [True, False], "feasibility"


SCRIPTS = {
    "vllm": ("vllm serve m {flags}", {
        "tp": ["--tensor-parallel-size", "-tp"], "pp": ["--pipeline-parallel-size", "-pp"],
        "dp": ["--data-parallel-size", "-dp"], "cp": ["--prefill-context-parallel-size", "-pcp"]}),
    "sglang": ("python -m sglang.launch_server --model-path m {flags}", {
        "tp": ["--tp-size", "--tp", "--tensor-parallel-size"], "pp": ["--pp-size", "--pp", "--pipeline-parallel-size"],
        "dp": ["--dp-size", "--dp", "--data-parallel-size"], "ep": ["--ep-size", "--ep", "--expert-parallel-size"]}),
    "megatron-lm": ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 {flags}", {
        "tp": ["--tensor-model-parallel-size"], "pp": ["--pipeline-model-parallel-size"],
        "cp": ["--context-parallel-size"], "ep": ["--expert-model-parallel-size"]}),
}  # fmt: skip
FLAGS = [
    (program, fact, flag)
    for program, (_, table) in SCRIPTS.items()
    for fact, flags in table.items()
    for flag in flags
]


@pytest.mark.parametrize(("program", "fact", "flag"), FLAGS)
def test_a_flag_of_a_script_is_the_same_fact_in_a_question_and_in_a_recipe(
    program: str, fact: str, flag: str
) -> None:
    read = read_launch(SCRIPTS[program][0].format(flags=f"{flag} {SIZE}"), "launch.sh").question
    current = read["current"]
    assert isinstance(current, dict)
    assert degrees_of(current).get(fact) == SIZE, "script"
    assert degrees_of(current, program).get(fact) == SIZE, "script, with its program"
    if program != "megatron-lm":
        assert read["count"] == (1 if fact == "ep" else SIZE)
    recipe = command_parts(program, [flag, str(SIZE)], {})
    assert recipe.layout[fact] == SIZE, "recipe"
    assert recipe.faults == ()
    assert command_parts(program, [flag, "x"], {}).faults, "recipe, misspelt size"


VALUES: list[tuple[str, str, Value, str, object]] = [
    ("vllm", "--max-model-len", "8192", "max_len", 8192),
    ("sglang", "--context-length", 8192, "max_len", 8192),
    ("mindie", "BackendConfig.ModelDeployConfig.maxSeqLen", 8192, "max_len", 8192),
    ("tensorrt-llm", "--max_seq_len", 8192, "max_len", 8192),
    ("lmdeploy", "--session-len", 8192, "max_len", 8192),
    ("llama.cpp", "-c", 8192, "max_len", 8192),
    ("mindie", "maxInputTokenLen", 2048, "longest_prompt", 2048),
    ("mindie", "maxIterTimes", 512, "output_len", 512),
    ("megatron-lm", "--seq-length", 4096, "seq_len", 4096),
    ("mindformers", "model.model_config.seq_length", 4096, "seq_len", 4096),
    ("transformers", "--max_seq_length", 4096, "seq_len", 4096),
    ("vllm", "--max-num-seqs", 64, "batch", 64),
    ("sglang", "--max-running-requests", 64, "batch", 64),
    ("mindie", "maxBatchSize", 64, "batch", 64),
    ("tensorrt-llm", "--max_batch_size", 64, "batch", 64),
    ("lmdeploy", "--max-batch-size", 64, "batch", 64),
    ("llama.cpp", "--parallel", 64, "batch", 64),
    ("megatron-lm", "--micro-batch-size", 2, "micro_batch", 2),
    ("deepspeed", "train_micro_batch_size_per_gpu", 2, "micro_batch", 2),
    ("transformers", "--per_device_train_batch_size", 2, "micro_batch", 2),
    ("mindformers", "runner_config.batch_size", 2, "micro_batch", 2),
    ("megatron-lm", "--global-batch-size", 256, "global_batch", 256),
    ("deepspeed", "train_batch_size", 256, "global_batch", 256),
    ("vllm", "--dtype", "bfloat16", "precision", "bf16"),
    ("sglang", "--dtype", "half", "precision", "fp16"),
    ("megatron-lm", "--bf16", True, "precision", "bf16"),
    ("transformers", "--fp16", "true", "precision", "fp16"),
    ("deepspeed", "bf16.enabled", True, "precision", "bf16"),
    ("mindformers", "compute_dtype", "bfloat16", "precision", "bf16"),
    ("vllm-ascend", "--quantization", "ascend", "precision", "int8"),
    ("sglang", "--quantization", "modelslim", "precision", "int8"),
    ("vllm", "--kv-cache-dtype", "fp8", "precision_cache", "fp8"),
    ("sglang", "--kv-cache-dtype", "fp8_e5m2", "precision_cache", "fp8"),
    ("lmdeploy", "--quant-policy", 8, "precision_cache", "int8"),
    ("llama.cpp", "-ctk", "q8_0", "precision_cache", "int8"),
    ("vllm", "--enforce-eager", True, "graph", 0),
    ("sglang", "--disable-cuda-graph", True, "graph", 0),
    ("lmdeploy", "--eager-mode", True, "graph", 0),
    ("vllm", "compilation_config.cudagraph_mode", "FULL", "graph", 1),
    ("vllm", "--compilation-config", '{"cudagraph_mode": "FULL"}', "graph", 1),
    ("mindspore", "mode", "PYNATIVE_MODE", "graph", 0),
    ("deepspeed", "enable_cuda_graph", True, "graph", 1),
    ("vllm", "--enable-prefix-caching", True, "prefix_cache", 1),
    ("sglang", "--disable-radix-cache", True, "prefix_cache", 0),
    ("lmdeploy", "--enable-prefix-caching", True, "prefix_cache", 1),
    ("tensorrt-llm", "kv_cache_config.enable_block_reuse", False, "prefix_cache", 0),
    ("vllm", "--max-num-batched-tokens", 8192, "chunk", 8192),
    ("sglang", "--chunked-prefill-size", -1, "chunk", 0),
    ("mindie", "maxPrefillTokens", 8192, "chunk", 8192),
    ("llama.cpp", "--batch-size", 2048, "chunk", 2048),
    ("vllm", "--enable-chunked-prefill", True, "chunked_prefill", 1),
    ("sglang", "--speculative-num-draft-tokens", 4, "speculative_tokens", 3),
    ("vllm", "--speculative-config", '{"num_speculative_tokens": 3}', "speculative_tokens", 3),
    ("megatron-lm", "--expert-tensor-parallel-size", 2, "etp", 2),
    ("tensorrt-llm", "moe_tp_size", 2, "etp", 2),
    ("megatron-lm", "--num-virtual-stages-per-pipeline-rank", 2, "virtual_stages", 2),
]
ONLY_OF_THEIR_PROGRAM = {"-c", "-ctk", "--batch-size"}


@pytest.mark.parametrize(("program", "name", "value", "fact", "says"), VALUES)
def test_a_value_is_the_same_fact_with_and_without_its_program(
    program: str, name: str, value: Value, fact: str, says: object
) -> None:
    assert statement({name: value}, program).facts.get(fact) == says
    if name in ONLY_OF_THEIR_PROGRAM:
        return
    assert statement({name: value}).facts.get(fact) == says
    plain = name.lstrip("-").replace("-", "_")
    assert statement({plain: str(value)}).facts.get(fact) == says, "as a text without dashes"
    for phase in ("serving", "training"):
        settings = translate({name: value}, phase).settings
        assert settings.get(fact, says) == says, "cost model"
    facts = in_facts({name: value})
    if fact == "precision":
        assert str(facts["precision"]) == {"bf16": "bfloat16", "fp16": "float16"}.get(str(says), says)
    if fact == "graph":
        serving = question_facts(
            question({name: value}, WorkloadKind.SERVING), HardwareTree(GraphStore()), None
        )
        assert serving["full_graph"] == (says == 1)
