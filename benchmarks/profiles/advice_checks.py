"""Advice that a profile contradicts: of another vendor, of a program that does not run, of what is set already.

The rules here look at the files' own words and at the remedies shown; they do not ask the gate that chose them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.profiles import gpu_traces
from benchmarks.profiles.fault_scores import mean
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, HardwareProfile, Strategy
from recommender.answers.diagnose import is_training
from recommender.answers.remedies import ProfiledRun, Remedy, hardware_names, remedies_for
from recommender.diagnosis.diagnosis import Diagnosis, Finding
from recommender.store.shipped_knowledge import knowledge

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


def score(folder: Path, where: Path, diagnose: Callable[[Profile], Diagnosis]) -> dict[str, Any]:
    """How many remedies were shown over all sample folders and made GPU traces, and which are contradicted.

    Of the GPU traces also how often the first cause is what was made, and how many causes got a remedy.
    """
    shown: list[str] = []
    wrong: list[str] = []
    for home in sorted(item for item in folder.iterdir() if item.is_dir()):
        profile = read_profile(home)
        for finding in diagnose(profile).findings:
            _check(home.name, finding, profile, "huawei", shown, wrong)
    first, without, missed = [], [], {}
    for vendor in ("nvidia", "amd"):
        for name, (layer, nodes) in gpu_traces.MECHANISMS.items():
            profile = read_profile(gpu_traces.GpuTrace(vendor).write(where / f"gpu_{vendor}", layer))
            findings = diagnose(profile).findings
            first.append(bool(findings) and findings[0].cause.node in nodes)
            if not first[-1]:
                missed[f"{vendor}: {name}"] = [item.cause.node for item in findings]
            without += [not _check(f"{vendor}: {name}", f, profile, vendor, shown, wrong) for f in findings]
        made = gpu_traces.GpuTrace(vendor)
        profile = read_profile(
            made.write(where / f"gpu_{vendor}", gpu_traces.tuned, **gpu_traces.TUNED_ENVIRONMENT)
        )
        for finding in diagnose(profile).findings:
            _check(f"{vendor}: tuned", finding, profile, vendor, shown, wrong, in_force=gpu_traces.IN_FORCE)
    return {
        "advice_contradicted": len(wrong) if shown else None,
        "advice_contradicted_n": len(shown),
        "advice_contradicted_rows": wrong,
        "gpu_first_strict_alone": mean(first),
        "gpu_first_strict_alone_n": len(first),
        "gpu_missed": missed,
        "gpu_causes_without_remedy": sum(without),
        "gpu_causes_without_remedy_n": len(without),
    }


def _check(
    name: str,
    finding: Finding,
    profile: Profile,
    vendor: str,
    shown: list[str],
    wrong: list[str],
    in_force: frozenset[str] = frozenset(),
) -> int:
    """Note the remedies against a cause and those that are none; return how many there are."""
    training = is_training(profile)
    names = hardware_names(profile, "", STRATEGIES, path_of)
    run = ProfiledRun.of(profile, names, FRAMEWORKS, broader=BROADER, is_training=training)
    remedies = remedies_for(finding, STRATEGIES, (), run)
    for remedy in remedies:
        row = f"{name}: {remedy.strategy.id} against {finding.cause.node}"
        shown.append(row)
        reasons = list(contradictions(remedy, profile, vendor, is_training=training))
        if remedy.strategy.id in in_force:
            reasons.append("in force already")
        wrong += [f"{row}: {reason}" for reason in reasons[:1]]
    return len(remedies)


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
