"""Servers of language models: ``vllm serve`` (and its older entry points) and ``sglang.launch_server``."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.shell import UNKNOWN, readable
from kg.terms.model_name import read_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.options import LaunchOptions

VLLM_SHORT = MappingProxyType(
    {
        "tp": "tensor_parallel_size",
        "pp": "pipeline_parallel_size",
        "dp": "data_parallel_size",
        "dcp": "decode_context_parallel_size",
        "ep": "enable_expert_parallel",
        "q": "quantization",
        "O": "compilation_level",
        "n": "nnodes",
    }
)
SGLANG_SHORT = MappingProxyType(
    {
        "tp": "tp_size",
        "tensor_parallel_size": "tp_size",
        "dp": "dp_size",
        "data_parallel_size": "dp_size",
        "pp": "pp_size",
        "pipeline_parallel_size": "pp_size",
        "ep": "ep_size",
        "expert_parallel_size": "ep_size",
        "model": "model_path",
    }
)

_NOT_TUNED_NAMES = """
allowed_local_media_path allowed_origins api_key chat_template config data_parallel_address
data_parallel_rank data_parallel_rpc_port data_parallel_start_rank device dist_init_addr
disaggregation_bootstrap_port download_dir dtype enable_auto_tool_choice enable_metrics gpus
headless host kv_transfer_config load_format log_level master_addr master_port model model_path
nnodes no_log_requests node_rank log_requests disable_log_requests disable_log_stats port
reasoning_parser revision seed served_model_name tokenizer tokenizer_path tool_call_parser
trust_remote_code uvicorn_log_level
"""
NOT_TUNED = frozenset(_NOT_TUNED_NAMES.split())
"""Options of addresses, users and logs of a server, which do not affect speed."""

_NO_FORMAT = frozenset({"auto", "half", "float"})


def read_vllm(given: LaunchOptions, environment: Mapping[str, object]) -> LaunchFacts:
    """The facts of ``vllm serve`` or ``python -m vllm.entrypoints...``; devices by its defaults."""
    positional = next((word for word in given.others if not word.startswith("-")), None)
    split = [given.positive(f"{name}_parallel_size") or 1 for name in ("tensor", "pipeline", "data")]
    model = given.text("model") or positional
    return _told("vllm", given, environment, model, split[0] * split[1] * split[2])


def read_sglang(given: LaunchOptions, environment: Mapping[str, object]) -> LaunchFacts:
    """The facts of ``sglang.launch_server``; with attention split by data the replicas share devices."""
    replicas = given.positive("dp_size") or 1
    if given.values.get("enable_dp_attention"):
        replicas = 1
    count = (given.positive("tp_size") or 1) * (given.positive("pp_size") or 1) * replicas
    return _told("sglang", given, environment, given.text("model_path"), count)


def _told(
    engine: str, given: LaunchOptions, environment: Mapping[str, object], model: str | None, count: int
) -> LaunchFacts:
    question: dict[str, object] = {"phase": "serving", "software": {engine: ""}}
    notes = given.unreadable(NOT_TUNED - {"model", "model_path"})
    unknown = {
        name for name in given.unknown if "parallel" in name or name in {"tp_size", "dp_size", "pp_size"}
    }
    if not unknown:
        question["count"] = count
    if model and UNKNOWN in model:
        notes.append(f"could not be read: the model is {readable(model)}")
    elif model:
        question["model"] = model
    dtype, is_quantised = given.text("dtype"), "quantization" in given.values
    if dtype and dtype not in _NO_FORMAT and not (is_quantised or read_name(model or "").weights):
        question["precision"] = dtype  # of quantised weights it is what they are widened to
    settings = {name: value for name, value in given.values.items() if name not in NOT_TUNED}
    question["current"] = {**environment, **settings}
    if "config" in given.values:
        notes.append(f"not read: the settings in {given.values['config']}")
    return LaunchFacts(question=question, notes=tuple(notes))
