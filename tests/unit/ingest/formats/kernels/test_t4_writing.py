"""Kernel Tuner's own schemas take what is written as T4."""

import json
from typing import Any

import pytest

from ingest.formats.kernels.t4_writing import t4_of_choices
from kg.nouns.entities import Case

pytest.importorskip("kernel_tuner", reason="Kernel Tuner is an optional extra")


def check_t4(text: str) -> list[dict[str, Any]]:
    """The results of a T4 document that Kernel Tuner's own schemas accept."""
    import jsonschema
    from kernel_tuner.file_utils import output_file_schema

    document = json.loads(text)
    version, results_schema = output_file_schema("results")
    _, metadata_schema = output_file_schema("metadata")
    assert document["schema_version"] == version
    jsonschema.validate(document, results_schema)
    jsonschema.validate(document, metadata_schema)
    results: list[dict[str, Any]] = document["results"]
    return results


def test_recommended_configurations_pass_the_schema_of_t4(kernel_cases: list[Case]) -> None:
    text = t4_of_choices([case.configuration for case in kernel_cases[:3]])
    results = check_t4(text)
    assert [result["configuration"] for result in results] == [
        case.configuration.to_json() for case in kernel_cases[:3]
    ]
    assert {result["correctness"] for result in results} == {0}
