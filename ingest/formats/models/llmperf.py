"""Summaries of LLMPerf: latencies and throughput of a service that somebody else runs.

The file names model, service and lengths, and neither hardware nor configuration. The gaps are reported;
only with the hardware given by the ingest's option does it become cases, whose configuration is the service
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.files.content import ContentError
from ingest.files.documents import load_json
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case

_RESULTS = (
    ("tpot", "s", "results_inter_token_latency_s"),
    ("ttft", "s", "results_ttft_s"),
    ("e2e_latency", "s", "results_end_to_end_latency_s"),
)
_THROUGHPUT = "results_mean_output_throughput_token_per_s"


def sniff(head: Head) -> bool:
    """True if it has LLMPerf's fields."""
    return '"results_ttft_s' in head.text and '"num_concurrent_requests"' in head.text


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """Its four means as cases, if the hardware is given; else a fault that names the gap."""
    try:
        summary = load_json(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    if not isinstance(summary, dict):
        yield Fault(place="", reason="expected an object")
        return
    hardware = records.context.hardware
    if not hardware:
        yield Fault(
            place="",
            reason="names neither hardware nor configuration, so it is no tuning case; the hardware can be "
            "told with the option hardware",
        )
        return
    service = summary.get("framework")
    records.guess(
        f"no configuration in the file; only the service {str(service)[:40]!r} is kept, and the hardware is "
        f"{hardware!r} because the option says so"
    )
    record = {
        "task": {
            "kind": "serving",
            "op": "llm_serve",
            "model": summary.get("model"),
            "shape": {
                "input_len": summary.get("mean_input_tokens"),
                "output_len": summary.get("mean_output_tokens"),
                "max_concurrency": summary.get("num_concurrent_requests"),
            },
        },
        "hardware": {"name": hardware},
        "config": {"framework": service} if service else {},
        "source": {"title": "LLMPerf summary", "path": content.reference, "url": ""},
    }
    count = summary.get("results_num_completed_requests")
    repeats = {"n": count} if isinstance(count, int) and not isinstance(count, bool) and count > 0 else {}
    outcomes = [
        {
            "metric": metric,
            "unit": symbol,
            "value": summary.get(f"{field}_mean"),
            "std": summary.get(f"{field}_stddev"),
            **repeats,
        }
        for metric, symbol, field in _RESULTS
    ]
    outcomes.append({"metric": "throughput", "unit": "tokens/s", "value": summary.get(_THROUGHPUT)})
    for outcome in outcomes:
        outcome["status"] = "not_reported" if outcome["value"] is None else "ok"
        yield case_or_fault(records, str(outcome["metric"]), record | {"outcome": outcome})


FORMAT = Format(
    name="llmperf",
    title="LLMPerf summary (JSON)",
    sniff=sniff,
    read=read,
)
