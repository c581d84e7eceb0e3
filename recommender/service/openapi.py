"""The description of the service for other programs: OpenAPI schemas and examples of questions."""

from __future__ import annotations

from typing import Any

from recommender.answers.schema import SCHEMA_VERSION
from recommender.service.access import MOST_UPLOAD_BYTES
from recommender.service.problem_details import MEDIA_TYPE
from recommender.service.reply import MOST_ANSWERS

_TEXT: dict[str, Any] = {"type": "string"}
_TABLE: dict[str, Any] = {"type": "object", "additionalProperties": True}

QUESTION: dict[str, Any] = {
    "model": {**_TEXT, "description": "Model, such as bert-large."},
    "sizes": {**_TABLE, "description": "Sizes of a model that nobody published, such as layers and hidden."},
    "op": {**_TEXT, "description": "Operator or kernel, such as gemm."},
    "phase": {**_TEXT, "description": "training, serving, prefill, decode, operator, kernel or hpc."},
    "shape": {**_TABLE, "description": "Sizes of the work, such as M, N, K or input_len."},
    "precision": {**_TEXT, "description": "Number format, such as bfloat16."},
    "traits": {**_TABLE, "description": "What else sets the workload apart, such as concurrency."},
    "hardware": {**_TEXT, "description": "Device or server, such as ascend-910b3."},
    "count": {"type": "integer", "minimum": 1, "description": "Number of devices."},
    "objective": {**_TEXT, "description": "Metric that decides, such as throughput or latency."},
    "limits": {"type": "array", "items": {}, "description": "Such as 'peak_memory<=32GB'."},
    "bottlenecks": {**_TABLE, "description": "Observed bottlenecks with their share of the step, or null."},
    "current": {**_TABLE, "description": "Settings in use now."},
    "software": {**_TABLE, "description": "Versions in use, such as cann: 8.0."},
    "k": {"type": "integer", "minimum": 1, "maximum": MOST_ANSWERS, "description": "How many at most."},
}
"""Keys of a question (docs/asking.md)."""

SERVING = {
    "model": "qwen3-32b",
    "phase": "serving",
    "hardware": "ascend-910b3",
    "count": 4,
    "software": {"vllm-ascend": "0.23.0"},
    "shape": {"input_len": 3500, "output_len": 1500},
    "traits": {"concurrency": 128},
    "k": 3,
}
KERNEL = {"op": "gemm", "shape": {"M": 4096, "N": 4096, "K": 4096}, "hardware": "NVIDIA H100 PCIe"}
TRAINING = {"model": "bert-large", "phase": "training", "hardware": "ascend-910b3", "count": 8}

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "hint": _TEXT,
        "code": {"type": "integer", "description": "The exit code of the command line."},
    },
}
PROBLEM: dict[str, Any] = {
    "description": "Problem details (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": _PROBLEM}},
}
RESPONSES: dict[int | str, dict[str, Any]] = dict.fromkeys(
    (400, 401, 408, 413, 415, 421, 422, 500, 503), PROBLEM
)


def question(*examples: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """The part of an operation that describes its body: a question, with what else it takes."""
    schema = {
        "type": "object",
        "properties": {**QUESTION, **others},
        "required": ["hardware"],
        "additionalProperties": False,
    }
    named = {str(item.get("model") or item.get("op")): {"value": item} for item in examples}
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "examples": named}},
        }
    }


def upload(what: str) -> dict[str, Any]:
    """The part of an operation that describes its body: a file."""
    about = f"{what}; {MOST_UPLOAD_BYTES >> 20} MiB at most."
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "requestBody": {
            "required": True,
            "description": about,
            "content": {"application/octet-stream": binary},
        }
    }


def outcome() -> dict[str, Any]:
    """The part of an operation that describes its body: the measurements of an A/B test."""
    properties = {
        "recommendation": {**_TEXT, "description": "Id of the recommendation that was tried."},
        "question": {**_TABLE, "description": "What it was tried on, where no recommendation was."},
        "strategy": {**_TEXT, "description": "Id of the strategy that was tried on it."},
        "metric": {**_TEXT, "description": "Metric that decides, such as throughput."},
        "unit": {**_TEXT, "description": "Its unit, such as ms."},
        "better": {"enum": ["lower", "higher"], "description": "Where the metric's name does not tell."},
        "control": {**_TABLE, "description": "What the control sets."},
        "treatment": {**_TABLE, "description": "What the treatment sets."},
        "samples": {
            "description": "A list of values an arm, or rows with arm, value and pair, as ab record reads.",
            "anyOf": [_TABLE, {"type": "array", "items": _TABLE}],
        },
        "in_order": {"type": "boolean", "description": "The values are in the order taken."},
    }
    schema = {"type": "object", "properties": properties, "required": ["metric", "samples"]}
    content = {"schema": {**schema, "additionalProperties": False}}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def answer(*keys: str) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation whose answer has these keys."""
    schema = {
        "type": "object",
        "required": ["schema_version", *keys],
        "properties": {"schema_version": {"const": SCHEMA_VERSION}},
    }
    about = "What the command prints with --json; the header Tunegraph-Exit-Code has its exit code."
    return {
        **RESPONSES,
        200: {"description": about, "content": {"application/json": {"schema": schema}}},
    }
