"""Tuning results that Triton's autotuner and PyTorch's compiler keep.

``KERNEL.autotune.json``, written where ``TRITON_CACHE_AUTOTUNING=1`` or a kernel asks for it, has the key of
one problem and each configuration with its time in milliseconds, or with the median and the quantiles .2 and
.8 of it; an infinite time is a configuration that does not run. ``HASH.best_config`` has the winner of a
generated kernel without its time. Neither names the device.

Source:
    Triton 3.6.0, ``python/triton/runtime/autotuner.py`` (check_disk_cache), ``testing.py`` (do_bench).
    PyTorch 2.10.0, ``torch/_inductor/runtime/autotune_cache.py``.
"""

import math
from collections.abc import Iterator

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.documents import load_json
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import NO_HARDWARE, case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case

_ENDING = ".autotune.json"
_NO_SETTINGS = frozenset({"pre_hook", "ir_override", "configs_hash", "found_by_coordesc", "time_taken_ms",
                          "triton_cache_hash"})  # fmt: skip
_QUANTILES = 2 * 0.8416
"""Standard deviations of a normal distribution between its quantiles .2 and .8."""


def sniff(head: Head) -> bool:
    """True if it lists timed configurations, or is the best one of a generated kernel."""
    return '"configs_timings"' in head.text or ('"configs_hash"' in head.text and '"num_warps"' in head.text)


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each configuration."""
    try:
        document = load_json(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    hardware = records.context.hardware
    if not isinstance(document, dict) or not hardware:
        yield Fault(
            place="",
            reason=NO_HARDWARE if isinstance(document, dict) else "expected an object",
        )
        return
    base: dict[str, object] = {
        "hardware": {"name": hardware},
        "source": {"title": "Triton's autotuner", "path": content.reference},
    }
    name = content.path.name
    if "configs_timings" not in document:
        task: dict[str, object] = {"kind": "kernel", "op": "inductor_kernel", "kernel": name.split(".")[0]}
        winner = {"metric": "kernel_time", "unit": "ms", "value": None, "status": "winner_untimed"}
        record = base | {"task": task, "config": _settings(document), "outcome": winner}
        yield case_or_fault(records, "", record)
        return
    task = {"kind": "kernel", "op": name.removesuffix(_ENDING).split(".")[0], **_problem(document.get("key"))}
    rows = document["configs_timings"]
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        place = f"configs_timings[{number}]"
        if (
            not isinstance(row, list)
            or len(row) != len(("configuration", "times"))
            or not isinstance(row[0], dict)
        ):
            yield Fault(place=place, reason="expected a configuration and its times")
            continue
        kwargs = row[0].get("kwargs")
        own = kwargs if isinstance(kwargs, dict) else {}
        launch = {key: value for key, value in row[0].items() if key != "kwargs"}
        record = base | {"task": task, "config": {**own, **_settings(launch)}, "outcome": _outcome(row[1])}
        yield case_or_fault(records, place, record)


def _settings(raw: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in raw.items() if name not in _NO_SETTINGS and value is not None}


def _problem(key: object) -> dict[str, object]:
    """Sizes and number formats of the key, whose parts have no names."""
    parts = key if isinstance(key, list) else []
    sizes = [part for part in parts if isinstance(part, int | float)]
    formats = list(dict.fromkeys(str(part).rpartition(".")[2] for part in parts if isinstance(part, str)))
    found: dict[str, object] = {"shape": {"key": sizes}} if sizes else {}
    if len(formats) == 1:
        return found | {"dtype": formats[0]}
    return found | ({"formats": [str(part) for part in parts if isinstance(part, str)]} if formats else {})


def _outcome(times: object) -> dict[str, object]:
    outcome: dict[str, object] = {"metric": "kernel_time", "unit": "ms", "value": None}
    told = times if isinstance(times, list) else [times]
    numbers = [float(time) for time in told if isinstance(time, int | float) and not isinstance(time, bool)]
    if not numbers or len(numbers) != len(told):
        return outcome | {"status": "not_reported"}
    if not math.isfinite(numbers[0]):
        return outcome | {"status": "failed", "reason": "it does not run"}
    found = outcome | {"value": numbers[0], "status": "ok"}
    if len(numbers) == len(("median", "low", "high")) and all(map(math.isfinite, numbers)):
        found["std"] = abs(numbers[2] - numbers[1]) / _QUANTILES
    return found


FORMAT = Format(
    name="triton-autotune",
    title="Triton's autotuner (KERNEL.autotune.json) and Inductor's best_config",
    sniff=sniff,
    read=read,
)
