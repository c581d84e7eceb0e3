"""Releases of programs as people write them: tags of images, versions with a ``v`` or a build behind them."""

import re

_NUMBER = r"\d+(?:\.\d+)+(?:\.?(?:rc|RC|post|a|b|T)\d+)*"
_PACKAGES = ("vllm", "vllm-ascend", "sglang", "lmdeploy")
_PROGRAMS = (
    ("vllm-ascend", re.compile(rf"(?:^|/)vllm-ascend[\w-]*:v?(?P<release>{_NUMBER})")),
    ("sglang", re.compile(rf"(?:^|/)sglang(?!-runtime)[\w-]*:v?(?P<release>{_NUMBER})")),
    ("tensorrt-llm", re.compile(rf"(?:^|/)tensorrt-llm(?:/[\w-]+)?:v?(?P<release>{_NUMBER})")),
    ("mindie", re.compile(rf"(?:^|/)mindie[\w-]*:v?(?P<release>{_NUMBER})", re.IGNORECASE)),
    ("vllm", re.compile(rf"(?:^|/)vllm(?!-runtime)[\w-]*:v?(?P<release>{_NUMBER})(?!\S*_vllm_)")),
    ("vllm", re.compile(rf"(?:^|/)vllm[\w-]*:\S*_vllm_v?(?P<release>{_NUMBER})")),
    ("tgi", re.compile(rf"(?:^|/)text-generation-inference:v?(?P<release>{_NUMBER})")),
    ("tei", re.compile(rf"(?:^|/)text-embeddings-inference:(?:[\w.]+-)?v?(?P<release>{_NUMBER})")),
    ("lmdeploy", re.compile(rf"(?:^|/)lmdeploy[\w-]*:v?(?P<release>{_NUMBER})")),
    ("llama.cpp", re.compile(r"(?:^|/)llama\.cpp:(?:[\w.]+-)+(?P<release>b\d+)")),
    *((name, re.compile(rf"^{name}==(?P<release>{_NUMBER})")) for name in _PACKAGES),
)
"""Program by the name of its image or package. Tags of ``vllm-runtime`` are of Dynamo, ROCm's image of
vLLM has the release of vLLM behind its own (https://hub.docker.com/r/rocm/vllm/tags), and images of TEI and
llama.cpp have the kind of device before it
(https://huggingface.co/docs/text-embeddings-inference/supported_models#supported-hardware,
https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md)."""
_VERSION = re.compile(rf"v?({_NUMBER})(?:\+\S*)?$")


def release_of_image(text: str) -> tuple[str, str] | None:
    """Program and release that the tag of an image names; None where it names none.

    ``quay.io/ascend/vllm-ascend:v0.13.0rc1-a3`` is vllm-ascend 0.13.0rc1.
    """
    found = ((name, pattern.search(text)) for name, pattern in _PROGRAMS)
    return next(((name, match["release"]) for name, match in found if match is not None), None)


def plain_release(text: str) -> str:
    """A version without ``v`` and without the build behind it; what is no version stays as it is."""
    match = _VERSION.match(text.strip())
    return match[1] if match is not None else text
