"""The formats of case files that can be read, in the order in which they are tried."""

import re
from collections.abc import Iterable

from ingest.files.sniffing import Head
from ingest.formats.cases import (
    case_jsonl,
    cases_csv,
    mapped_csv,
)
from ingest.formats.format import Format
from ingest.formats.intensity.registry import recognise_intensity
from ingest.formats.kernels import (
    aiter_csv,
    autotvm,
    block_gemm,
    cann_operators,
    fused_moe,
    gptune,
    kernel_tuner_cache,
    kernel_tuner_t1,
    kernel_tuner_t4,
    ktt,
    ktt_csv,
    lightllm,
    mamba_state,
    triton_autotune,
)
from ingest.formats.models import (
    aiconfigurator,
    aiconfigurator_notes,
    argonne_csv,
    flagperf,
    mindformers,
    mlperf_log,
    nemo_configs,
    runs_csv,
    serving_recipes,
    training_tables,
)
from ingest.formats.outputs import kernel_profiles, kernel_tables, results
from ingest.formats.outputs.tool import tools
from ingest.formats.recipes import ascend_ci, recipe_jsonl, recipe_scripts
from ingest.formats.trackers import (
    mlflow_csv,
    optuna_dataframe,
    optuna_journal,
    optuna_sqlite,
    ray_tune,
    wandb_csv,
)

_WORD = re.compile(r"\w{3,}")

FORMATS: tuple[Format, ...] = tuple(
    reader.FORMAT
    for reader in (
        case_jsonl,
        cases_csv,
        fused_moe,
        kernel_tuner_cache,
        kernel_tuner_t4,
        kernel_tuner_t1,
        block_gemm,
        mamba_state,
        lightllm,
        ktt,
        ktt_csv,
        autotvm,
        aiter_csv,
        triton_autotune,
        cann_operators,
        kernel_tables,
        kernel_profiles,
        aiconfigurator,
        aiconfigurator_notes,
        gptune,
        results,
        mapped_csv,
        optuna_sqlite,
        optuna_journal,
        optuna_dataframe,
        ray_tune,
        mlflow_csv,
        wandb_csv,
        runs_csv,
        argonne_csv,
        mlperf_log,
        recipe_jsonl,
        ascend_ci,
        recipe_scripts,
        nemo_configs,
        mindformers,
        serving_recipes,
        flagperf,
        training_tables,
    )
)
"""All formats; the first that recognises a file reads it."""


def recognise(head: Head) -> Format | None:
    """The format of a file, or None."""
    return next((known for known in FORMATS if known.sniff(head)), None)


def nearest_titles(head: Head, most: int = 3) -> list[str]:
    """The titles of formats of which a file has the most signs or words, for a file that none reads."""
    text = f"{head.name}\n{head.text}".lower()

    def share(words: Iterable[str]) -> float:
        wanted = {word.lower() for word in words}
        return sum(word in text for word in wanted) / max(1, len(wanted))

    shares = {tool.title: max(map(share, tool.signs)) for tool in tools()}
    shares |= {
        known.title: share(_WORD.findall(known.title)) for known in FORMATS if known is not results.FORMAT
    }
    return sorted(shares, key=lambda title: -shares[title])[:most]


def companion_reason(head: Head) -> str:
    """The reason why a file that belongs to another is not read by itself; empty if it belongs to none."""
    if recognise_intensity(head) is not None:
        return "carbon intensity of a grid: tunegraph green import reads it"
    reasons = (known.companion(head) for known in FORMATS if known.companion is not None)
    return next(filter(None, reasons), "")
