"""Defaults of engines where they decide the time of a step."""

import csv
from collections.abc import Mapping, Sequence
from functools import cache

import data
from kg.nouns.release import release_key
from kg.terms.meanings import OF_VLLM
from recommender.cost_model.facts.physics import number_or_word, rows_of
from recommender.cost_model.settings.plans import PHASES, canonical_name


@cache
def _engines() -> Mapping[str, Mapping[str, Sequence[tuple[str, float | str]]]]:
    """Settings of serving by engine: each default with the release from which it holds, the oldest first."""
    found: dict[str, dict[str, list[tuple[str, float | str]]]] = {}
    for row in rows_of("engines"):
        releases = found.setdefault(row["engine"], {}).setdefault(row["setting"], [])
        releases.append((row["since"], number_or_word(row["value"])))
    return found


@cache
def trainers() -> Mapping[str, Mapping[str, float | str]]:
    """Settings of training by program that are not ours: of those that share out what replicas hold."""
    rows = csv.DictReader(data.text("runtime/trainers.csv").splitlines())
    said = {row["program"]: [word.split("=") for word in row["settings"].split()] for row in rows}
    return {
        program: {name: number_or_word(value) for name, value in words} for program, words in said.items()
    }


_BY_THE_HOST = frozenset({"optimizer", "parameters"})
"""Offloads of DeepSpeed and FSDP with which the host updates the weights."""


def host_note(engine: str, settings: Mapping[str, object]) -> str:
    """A note where the host updates the weights, which no price includes; empty where the devices do."""
    if settings.get("offload") not in _BY_THE_HOST or engine not in trainers():
        return ""
    return "the host updates the weights: its time is in no price"


def age_note(engine: str, version: str) -> str:
    """A note where a release is older than what is known of its engine; empty where it is not."""
    oldest = _oldest(engine)
    if not version or _is_since(version, oldest):
        return ""
    return f"{engine} {version} is older than the releases whose steps are modelled, from {oldest} on"


def _oldest(engine: str) -> str:
    """The oldest release of an engine whose steps are modelled; 0 where the table does not say."""
    return next((since for since, _ in _of_engine(engine).get("oldest", ())), "0")


_DIVIDING = ("tensor_parallel", "pipeline_parallel", "expert_parallel")


def replicated_by(engine: str, told: Mapping[str, object]) -> Mapping[str, float | str] | None:
    """The defaults of a trainer that replicates a model; None of others, and where it is told to divide it.

    Those that divide products over devices run Megatron's blocks for it (``megatron sft`` of ms-swift), but
    for one that shares out what replicas hold in any case (torchtitan).
    """
    own = trainers().get(engine)
    is_divided = any(told.get(name, 1) != 1 for name in _DIVIDING)
    return None if own is None or (is_divided and "zero_stage" not in own) else own


MOST_CAPTURED = 512


def engine_defaults(
    phase: str, engine: str, version: str, settings: Sequence[Mapping[str, object]] = ()
) -> Mapping[str, float | str]:
    """Settings of a phase with the defaults of an engine's release; of the newest where it is not stated."""
    if phase == "training":
        told = {canonical_name(name): value for one in settings for name, value in one.items()}
        return {**PHASES[phase], **(replicated_by(engine, told) or {})}
    own = {name: _default(engine, version, name) for name in _of_engine(engine)}
    held = {name: value for name, value in own.items() if value is not None and name in PHASES[phase]}
    return {**PHASES[phase], **held}


def releases_of(engine: str) -> tuple[str, ...]:
    """Releases of an engine from which a default holds, the oldest that is modelled first."""
    found = {since for rows in _of_engine(engine).values() for since, _ in rows if since}
    return tuple(sorted({*found, _oldest(engine)}, key=release_key)) if found else ()


def _default(engine: str, version: str, name: str) -> float | str | None:
    """The default of a setting in a release of an engine; None where the table has none."""
    releases = _of_engine(engine).get(name, ())
    return next((value for since, value in reversed(releases) if _is_since(version, since)), None)


def _of_engine(engine: str) -> Mapping[str, Sequence[tuple[str, float | str]]]:
    """The defaults of an engine; a plugin of vLLM without rows of its own has those of vLLM."""
    known = _engines()
    return known.get(engine, known["vllm"] if engine in OF_VLLM else {})


def largest_captured(engine: str, version: str, sequences: int, drafted: int = 0) -> int:
    """Rows of the largest decode step that is captured; 0 where all are, or nobody knows.

    Sizes are 1, 2, 4, the multiples of 8 up to 256 and of 16 beyond
    (``VllmConfig._set_cudagraph_sizes`` of vLLM): an engine of twelve sequences captures eight.

    Args:
        engine: Engine, such as ``"vllm-ascend"``.
        version: Its release; the newest if empty.
        sequences: The most sequences that it runs at once.
        drafted: Tokens drafted for each.
    """
    if not _default(engine, version, "captured_from_sequences"):
        return 0
    most = min(sequences * (1 + drafted), MOST_CAPTURED)
    step = 16 if most >= 2 * 128 else 8
    return most // step * step if most >= step else 1 << (most.bit_length() - 1)


def _is_since(version: str, since: str) -> bool:
    """True if a release is not older than another; an unstated version counts as the newest."""
    try:
        return not since or release_key(version) >= release_key(since)
    except ValueError:  # none is stated
        return True
