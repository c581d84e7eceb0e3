"""Advice that a profile contradicts: of another vendor, of a program that does not run, of what is set already.

The rules here look at the files' own words and at the remedies shown; they do not ask the gate that chose them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ingest.profiles.folders import read_profile
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, HardwareProfile, Strategy
from recommender.answers.diagnose import is_training
from recommender.answers.remedies import ProfiledRun, hardware_names, remedies_for
from recommender.store.shipped_knowledge import knowledge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ingest.profiles.facts.run import Profile
    from recommender.answers.remedies import Remedy
    from recommender.diagnosis.diagnosis import Diagnosis

NOUNS = list(knowledge())
STRATEGIES = [noun for noun in NOUNS if isinstance(noun, Strategy)]
FRAMEWORKS = [noun for noun in NOUNS if isinstance(noun, Framework)]
BROADER = {noun.id: noun.broader for noun in NOUNS if isinstance(noun, Bottleneck) and noun.broader}
ABOVE = {noun.id: noun.broader for noun in NOUNS if isinstance(noun, HardwareProfile)}
SERVERS = ("vllm", "vllm-ascend", "sglang", "mindie", "tensorrt-llm", "llama.cpp")


def path_of(name: str) -> tuple[str, ...]:
    """A node of the hardware tree and those above it."""
    found = [name]
    while above := ABOVE.get(found[-1]):
        found.append(above)
    return tuple(found)


def gpu_trace(where: Path, vendor: str) -> Path:
    """A trace of a GPU whose host is late, reads scalars and allocates, with unfused 32-bit work."""
    api = {"nvidia": "cuda", "amd": "hip"}[vendor]
    events: list[dict[str, Any]] = []
    at = 0.0
    for number in range(400):
        name = ("ampere_sgemm_128x64_tn", "vectorized_elementwise_kernel", "softmax_warp_forward")[number % 3]
        kernel = {"ph": "X", "cat": "kernel", "name": name, "ts": at, "dur": 60.0, "pid": 0, "tid": 7}
        events.append({**kernel, "args": {"stream": 7, "device": 0, "grid": [64, 1, 1]}})
        launch = {"ph": "X", "cat": f"{api}_runtime", "ts": at, "dur": 9.0, "pid": 1, "tid": 1}
        events.append({**launch, "name": f"{api}LaunchKernel"})
        if number % 4 == 0:
            events.append({**launch, "name": f"{api}StreamSynchronize", "dur": 90.0})
        if number % 8 == 0:
            events.append({**launch, "name": f"{api}Malloc", "dur": 70.0})
        at += 60.0 + (120.0 if number % 4 == 0 else 5.0)
    step = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "ProfilerStep#3",
        "ts": 0,
        "dur": at,
        "pid": 1,
        "tid": 1,
    }
    folder = where / f"gpu_{vendor}"
    folder.mkdir(exist_ok=True)
    (folder / "rank0.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*events, step]}))
    return folder


def score(folder: Path, where: Path, diagnose: Callable[[Profile], Diagnosis]) -> dict[str, Any]:
    """How many remedies were shown over all sample folders and two GPU traces, and which are contradicted."""
    homes = sorted(item for item in folder.iterdir() if item.is_dir())
    shown, wrong = 0, []
    for home in [*homes, *(gpu_trace(where, vendor) for vendor in ("nvidia", "amd"))]:
        profile = read_profile(home)
        vendor = home.name.removeprefix("gpu_") if home.name.startswith("gpu_") else "huawei"
        training = is_training(profile)
        names = hardware_names(profile, "", STRATEGIES, path_of)
        run = ProfiledRun.of(profile, names, FRAMEWORKS, broader=BROADER, is_training=training)
        for finding in diagnose(profile).findings:
            for remedy in remedies_for(finding, STRATEGIES, (), run):
                shown += 1
                reasons = list(contradictions(remedy, profile, vendor, is_training=training))
                wrong += [
                    f"{home.name}: {remedy.strategy.id} against {finding.cause.node}: {r}"
                    for r in reasons[:1]
                ]
    return {
        "advice_contradicted": len(wrong) if shown else None,
        "advice_contradicted_n": shown,
        "advice_contradicted_rows": wrong,
    }


def contradictions(remedy: Remedy, profile: Profile, vendor: str, *, is_training: bool) -> Iterator[str]:
    """The reasons for which a remedy is none here."""
    strategy = remedy.strategy
    vendors = {path_of(name)[-1] for name in strategy.hardware}
    if vendors and vendor not in vendors:
        yield f"for {', '.join(sorted(vendors))}, and this is {vendor}"
    software = {item.software for item in strategy.sets if item.software}
    if is_training and software & set(SERVERS):
        yield f"a server's setting ({', '.join(sorted(software))}) for a training"
    has_megatron = any("pipeline_model_parallel_size" in rank.parallel for rank in profile.ranks)
    if not has_megatron and software & {"megatron-lm", "mindspeed", "mindspeed-llm"}:
        yield "a flag of Megatron, which does not run"
    for rank in profile.ranks:
        noted = {**rank.environment, **{name: str(value) for name, value in rank.parallel.items()}}
        if strategy.sets and all(
            str(noted.get(item.parameter, "")).lower() == str(item.value).lower() for item in strategy.sets
        ):
            yield "set already"
