"""The description of the service for other programs: OpenAPI schemas and examples of questions."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml

import data
from recommender.answers.schema import SCHEMA_VERSION
from recommender.service.access import MOST_UPLOAD_BYTES
from recommender.service.problem_details import MEDIA_TYPE

_SCHEMAS: dict[str, Any] = yaml.safe_load(data.text("service/schemas.yaml"))
EXAMPLES: dict[str, dict[str, Any]] = _SCHEMAS["examples"]
"""Questions by what they are about."""
PROBLEM: dict[str, Any] = {
    "description": "Problem details (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": _SCHEMAS["problem"]}},
}
RESPONSES: dict[int | str, dict[str, Any]] = dict.fromkeys(
    (400, 401, 408, 413, 415, 421, 422, 500, 503), PROBLEM
)

LAUNCH: dict[str, dict[str, Any]] = _SCHEMAS["launch"]
"""Schema of a question about a launch script."""


def question(
    *examples: str, required: str = "hardware", others: Mapping[str, dict[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """The part of an operation that describes its body: a question, with what else it takes."""
    schema = {
        "type": "object",
        "properties": {**_SCHEMAS["question"], **others},
        "required": [required],
        "additionalProperties": False,
    }
    named = {name: {"value": EXAMPLES[name]} for name in examples}
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
    content = {"schema": _SCHEMAS["outcome"]}
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
