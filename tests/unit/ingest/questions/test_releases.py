"""Releases from the tags of images and from versions as people write them."""

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.releases import plain_release, release_of_image


@pytest.mark.parametrize(
    ("tag", "program", "release"),
    [
        ("quay.io/ascend/vllm-ascend:v0.13.0rc1", "vllm-ascend", "0.13.0rc1"),
        ("quay.io/ascend/vllm-ascend:v0.11.0-a3-openeuler", "vllm-ascend", "0.11.0"),
        ("vllm/vllm-openai:v0.12.0", "vllm", "0.12.0"),
        ("rocm/vllm:rocm7.0.0_vllm_0.11.1_20251103", "vllm", "0.11.1"),
        ("mindie:2.1.RC1-800I-A2-py311", "mindie", "2.1.RC1"),
        ("ghcr.io/huggingface/text-embeddings-inference:cpu-1.8.3", "tei", "1.8.3"),
    ],
)
def test_the_tag_of_an_image_names_program_and_release(tag: str, program: str, release: str) -> None:
    assert release_of_image(tag) == (program, release)


@pytest.mark.parametrize(
    "text",
    ["vllm/vllm-openai:latest", "ubuntu:22.04", "serve", "--port", "a/vllm", "ai-dynamo/vllm-runtime:0.6.0"],
)
def test_other_words_name_none(text: str) -> None:
    assert release_of_image(text) is None


@pytest.mark.parametrize(
    ("written", "release"),
    [
        ("v0.11.0", "0.11.0"),
        ("0.11.1+rocm700", "0.11.1"),
        ("0.23.0", "0.23.0"),
        ("nightly", "nightly"),
        ("8", "8"),
    ],
)
def test_a_version_loses_what_is_no_release(written: str, release: str) -> None:
    assert plain_release(written) == release


def test_a_launch_in_a_container_has_the_release_of_its_image() -> None:
    script = "docker run --rm quay.io/ascend/vllm-ascend:v0.13.0rc1 vllm serve Qwen/Qwen3-8B -tp 2"
    assert read_launch(script, "run.sh").question["software"] == {"vllm-ascend": "0.13.0rc1"}


def test_a_field_of_an_object_keeps_its_place() -> None:
    script = """vllm serve a/b --additional-config '{"c": {"d": 1}, "e": {"enabled": true}}' --port 1"""
    question = read_launch(script, "run.sh").question
    assert question["places"] == {"d": "additional_config.c.d", "e": "additional_config.e.enabled"}


def test_the_release_that_the_script_installs_is_the_one_that_runs() -> None:
    text = "pip install -q vllm==0.8.5 torch==2.6\nvllm serve a/B"
    assert read_launch(text, "c").question["software"] == {"vllm": "0.8.5"}
    assert read_launch("pip install sglang==0.5.2\nvllm serve a/B", "c").question["software"] == {"vllm": ""}
