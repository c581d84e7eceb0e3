"""Commands in the values of vLLM's Helm chart (production-stack): one for each model that it serves.

Source: vllm-project/production-stack, helm/templates/deployment-vllm-multi.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ingest.questions.launches.script import ShellCommand

_LOOKS = re.compile(r"^[ ]*modelSpec[ ]*:", re.MULTILINE)
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_SIZES = ("maxModelLen", "dtype", "tensorParallelSize", "maxNumSeqs", "gpuMemoryUtilization", "maxLoras")
_GIVEN = "nvidia.com/gpu"
"""Devices that the chart asks for where ``requestGPUType`` names no others."""


def chart_commands(text: str) -> list[ShellCommand]:
    """The command that the chart makes of each model in its values; none where a text is something else."""
    from ingest.files.content import ContentError
    from ingest.files.safe_yaml import load_yaml  # a question without files needs no parser

    if _LOOKS.search(text) is None:
        return []
    try:
        content = load_yaml(text.encode())
    except ContentError:
        return []
    engines = content.get("servingEngineSpec", content) if isinstance(content, dict) else {}
    models = engines.get("modelSpec") if isinstance(engines, dict) else None
    held = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    return [_command(one) for one in held if one.get("modelURL")]


def _command(model: Mapping[str, object]) -> ShellCommand:
    config = model.get("vllmConfig")
    named = config if isinstance(config, dict) else {}
    extra = named.get("extraArgs")
    listed = [str(word) for word in extra] if isinstance(extra, list) else []
    pairs = model.get("env")
    rows = [one for one in pairs if isinstance(one, dict)] if isinstance(pairs, list) else []
    environment = {str(one["name"]): str(one["value"]) for one in rows if {"name", "value"} <= one.keys()}
    if (count := model.get("requestGPU")) is not None:
        environment[str(model.get("requestGPUType") or _GIVEN)] = str(count)
    return ShellCommand(
        words=("vllm", "serve", str(model["modelURL"]), *_flags(model, named), *listed),
        environment=environment,
        image=f"{model.get('repository', '')}:{model.get('tag', '')}",
    )


def _flags(model: Mapping[str, object], config: Mapping[str, object]) -> Iterator[str]:
    if model.get("enableLoRA"):
        yield "--enable-lora"
    if config:  # without the word, the chart switches the cache of prefixes off
        yield f"--{'' if config.get('enablePrefixCaching') else 'no-'}enable-prefix-caching"
    if "enableChunkedPrefill" in config:
        yield f"--{'' if config['enableChunkedPrefill'] else 'no-'}enable-chunked-prefill"
    for name in _SIZES:
        if name in config:
            yield f"--{_CAPITAL.sub(lambda found: f'-{found[0].lower()}', name)}"
            yield str(config[name])
