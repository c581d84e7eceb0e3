"""The formats that can be read, each with how to recognise it; and written, where that makes sense.

A reader is one module with ``sniff(head)`` and ``read(content, records)``. It yields cases and faults, never
raises for what a file contains, and passes every row through ``records``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from ingest.door.search_space import SearchSpaceFile
from ingest.formats.cases import case_jsonl, cases_csv, cases_parquet, mapped_csv
from ingest.formats.kernels import (
    aiter_csv,
    autotvm,
    block_gemm,
    fused_moe,
    gptune,
    kernel_tuner_cache,
    kernel_tuner_t1,
    kernel_tuner_t4,
    ktt,
    ktt_csv,
    lightllm,
    mamba_state,
    triton_tables,
)
from ingest.formats.models import (
    aiconfigurator,
    aiconfigurator_notes,
    argonne_csv,
    flagperf,
    llmperf,
    mindformers,
    mlperf_log,
    nemo_configs,
    serving_recipes,
    training_tables,
)
from ingest.formats.recipes import ascend_ci, recipe_jsonl, recipe_scripts
from ingest.formats.trackers import (
    mlflow_csv,
    optuna_dataframe,
    optuna_journal,
    optuna_sqlite,
    ray_tune,
    wandb_csv,
)
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head

Item: TypeAlias = Case | Recipe | Fault | SearchSpaceFile
"""What a reader yields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    Attributes:
        name: Id, as ``--format`` takes it.
        title: What it is, for a list of what was looked for.
        sniff: Whether a file with this head is one.
        read: Its cases and faults.
        write: Cases as lines of text; None where the format cannot carry them.
        first: Read before others, because it completes what they say.
        version: Of the reader; another one reads anew what was read before.
        beside: Names of files in the same folder that are part of what it says, ``*`` standing for its own
            name; None where any file may be, so that it is read every time.
    """

    name: str
    title: str
    sniff: Callable[[Head], bool]
    read: Callable[[Content, Records], Iterator[Item]]
    write: Callable[[Iterable[Case]], Iterator[str]] | None = None
    first: bool = False
    version: int = 1
    beside: tuple[str, ...] | None = ()


class Reader(Protocol):
    """A module that reads a format."""

    def sniff(self, head: Head, /) -> bool:
        """Whether a file with this head is one."""

    def read(self, content: Content, records: Records, /) -> Iterator[Case | Recipe | Fault]:
        """Its cases or recipes, and faults."""


_READ_EVERY_TIME = {"mapped-csv", "ray-tune", "mllog", "mindformers"}
"""Formats whose files are read together with others, wherever those are."""

_BESIDE = {"optuna": ("*-wal",)}
"""Side files of those that are only read."""

_READERS: tuple[tuple[str, str, Reader], ...] = (
    ("mapped-csv", "CSV table with a mapping beside it (TABLE.mapping.yaml)", mapped_csv),
    ("optuna", "Optuna studies (SQLite)", optuna_sqlite),
    ("optuna-journal", "Optuna journal (op_code a line)", optuna_journal),
    ("optuna-dataframe", "Optuna trials as CSV (number, state, params_..)", optuna_dataframe),
    ("ray-tune", "Ray Tune trial (result.json or error.txt, with params.json)", ray_tune),
    ("mlflow", "MLflow runs as CSV (run_id, params.., metrics..)", mlflow_csv),
    ("wandb", "W&B runs as CSV (Name, State, Runtime, Created)", wandb_csv),
    ("argonne", "Argonne LLM-Inference-Bench table (CSV)", argonne_csv),
    ("llmperf", "LLMPerf summary (JSON)", llmperf),
    ("mllog", "MLPerf log (:::MLLOG lines)", mlperf_log),
    ("recipes", "recipe JSONL (docs/recipes.md)", recipe_jsonl),
    ("ascend-ci", "CI configuration of vllm-ascend (YAML that starts servers)", ascend_ci),
    ("launch-script", "shell script that launches vLLM, SGLang or Megatron", recipe_scripts),
    ("nemo-configs", "NeMo recommended configurations (CSV)", nemo_configs),
    ("mindformers", "MindFormers model card (Markdown that links YAML)", mindformers),
    ("serving-recipes", "SGLang serving recipes for Ascend (Markdown with commands)", serving_recipes),
    ("flagperf", "FlagPerf result (Markdown)", flagperf),
    (
        "training-tables",
        "training tables of llm-foundry or Megatron-Bridge (Markdown)",
        training_tables,
    ),
)
"""Formats that are only read."""

FORMATS: tuple[Format, ...] = (
    Format(
        name="cases",
        title="case JSONL (docs/case-format.md)",
        sniff=case_jsonl.sniff,
        read=case_jsonl.read,
        write=case_jsonl.write,
    ),
    Format(
        name="cases-csv",
        title="cases as CSV (task.op, config.., outcome..)",
        sniff=cases_csv.sniff,
        read=cases_csv.read,
    ),
    Format(
        name="cases-parquet",
        title="cases as Parquet (task.op, config.., outcome..)",
        sniff=cases_parquet.sniff,
        read=cases_parquet.read,
    ),
    Format(
        name="fused-moe",
        title="vLLM or SGLang fused-MoE table (E=..,N=..,device_name=...json)",
        sniff=fused_moe.sniff,
        read=fused_moe.read,
        write=triton_tables.write,
    ),
    Format(
        name="kernel-tuner-cache",
        title="Kernel Tuner cache (tune_params_keys and cache)",
        sniff=kernel_tuner_cache.sniff,
        read=kernel_tuner_cache.read,
    ),
    Format(
        name="kernel-tuner-t4",
        title="T4 results (results with configuration and invalidity)",
        sniff=kernel_tuner_t4.sniff,
        read=kernel_tuner_t4.read,
    ),
    Format(
        name="kernel-tuner-t1",
        title="T1 search space (ConfigurationSpace with TuningParameters)",
        sniff=kernel_tuner_t1.sniff,
        read=kernel_tuner_t1.read,
        first=True,
    ),
    Format(
        name="block-gemm",
        title="vLLM or SGLang block-scaled GEMM table (N=..,K=..,device_name=...json)",
        sniff=block_gemm.sniff,
        read=block_gemm.read,
        write=triton_tables.write,
    ),
    Format(
        name="mamba-state",
        title="vLLM selective_state_update table (headdim=..,dstate=...json)",
        sniff=mamba_state.sniff,
        read=mamba_state.read,
        write=triton_tables.write,
    ),
    Format(
        name="lightllm",
        title="LightLLM autotuned kernel ({..}_DEVICE.json)",
        sniff=lightllm.sniff,
        read=lightllm.read,
    ),
    Format(
        name="ktt",
        title="Kernel Tuning Toolkit results (Metadata and Results)",
        sniff=ktt.sniff,
        read=ktt.read,
    ),
    Format(
        name="ktt-csv",
        title="Kernel Tuning Toolkit results as CSV",
        sniff=ktt_csv.sniff,
        read=ktt_csv.read,
    ),
    Format(
        name="autotvm",
        title="AutoTVM or TopHub log (input, config, result)",
        sniff=autotvm.sniff,
        read=autotvm.read,
    ),
    Format(
        name="aiter",
        title="aiter tuned kernels (CSV with cu_num and us)",
        sniff=aiter_csv.sniff,
        read=aiter_csv.read,
    ),
    Format(
        name="aiconfigurator",
        title="aiconfigurator table (.._perf.parquet)",
        sniff=aiconfigurator.sniff,
        read=aiconfigurator.read,
        beside=("reuse.yaml", "collection_meta.yaml"),
    ),
    Format(
        name="aiconfigurator-notes",
        title="notes of aiconfigurator (reuse.yaml, collection_meta.yaml)",
        sniff=aiconfigurator_notes.sniff,
        read=aiconfigurator_notes.read,
    ),
    Format(
        name="gptune",
        title="GPTune history database (tuning_problem_name and func_eval)",
        sniff=gptune.sniff,
        read=gptune.read,
    ),
    *(
        Format(
            name=name,
            title=title,
            sniff=reader.sniff,
            read=reader.read,
            beside=None if name in _READ_EVERY_TIME else _BESIDE.get(name, ()),
        )
        for name, title, reader in _READERS
    ),
)
"""All formats; the first that recognises a file reads it."""

MAPPED = next(known for known in FORMATS if known.name == "mapped-csv")
"""Reads any CSV table, given a mapping."""

_COMPANIONS = (ray_tune.companion, mapped_csv.companion, mlperf_log.companion, mindformers.companion)
"""Each says why a file is not read by itself, if it belongs to another."""


def recognise(head: Head) -> Format | None:
    """The format of a file, or None."""
    return next((known for known in FORMATS if known.sniff(head)), None)


def companion(head: Head) -> str:
    """Why a file is not read by itself; empty if it belongs to no other."""
    return next((why for reason in _COMPANIONS if (why := reason(head))), "")
