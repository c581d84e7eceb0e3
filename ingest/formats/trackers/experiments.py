"""Common parts of experiment trackers: hardware and workload of a run, from its settings and names.

Trackers have parameters and values; hardware, model and operator are wherever the user put them. A
statement comes before the ingest's option ``hardware``, that before a device named by a study, folder or
file; what is not a statement is listed as a guess.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.door.records import RecordError, Records
from ingest.files.content import ContentError
from kg.errors import Fault
from kg.nouns.entities import Case

NO_HARDWARE = "names no hardware; tell it with --hardware"

_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")

_HARDWARE = (
    *(
        "hardware",
        "gpu",
        "npu",
        "device",
        "accelerator",
        "device_name",
        "gpu_name",
        "gpu_type",
        "hardware_name",
    ),
    *("accelerator_type", "chip", "gpu_model", "npu_name"),
)
_COUNT = (
    *("n_gpus", "num_gpus", "n_npus", "num_npus", "n_devices", "num_devices", "device_count", "gpu_count"),
    *("gpus", "world_size", "device_num"),
)
_OPERATOR = ("op", "operator", "kernel", "kernel_name", "benchmark")
_MODEL = ("model", "model_name")
_SHAPE = {
    **dict.fromkeys(("seq_len", "max_seq_len", "sequence_length", "seq_length", "seqlen"), "seq_len"),
    **dict.fromkeys(("global_train_batch_size", "global_batch_size", "global_batch", "gbs"), "global_batch"),
    **dict.fromkeys(("n_params", "num_params"), "params"),
    **{name: name for name in ("problem_size", "input_len", "output_len", "hidden_size", "num_layers")},
    **{name: name for name in ("vocab_size", "M", "N", "K")},
}
_CONFIG = {
    "micro_batch_size": "micro_batch",
    "device_train_microbatch_size": "micro_batch",
    "gradient_accumulation_steps": "grad_accum",
    "fsdp_config.sharding_strategy": "sharding",
    "fsdp_config.activation_checkpointing": "act_ckpt",
}
"""One name for a parameter that trackers' users call by several."""
_TRAITS = ("dataset", "phase")
_TRAINS = (
    *(
        "micro_batch",
        "grad_accum",
        "global_batch",
        "learning_rate",
        "lr",
        "optimizer",
        "sharding",
        "act_ckpt",
    ),
    *("weight_decay", "warmup_steps", "zero_stage"),
)
_SEPARATORS = re.compile(r"[\W_]+")
_LONGEST = 6
"""Words of the longest device name that is looked for in a longer name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The task, hardware and configuration of a run.

    Attributes:
        task: The ``task`` of its record.
        hardware: The ``hardware`` of its record.
        config: The rest of its settings.
    """

    task: dict[str, object]
    hardware: dict[str, object]
    config: dict[str, object]


def subject_of(
    facts: Mapping[str, object], records: Records, *, name: str, hints: Iterable[str], what: str
) -> Subject:
    """The task, hardware and configuration of a run, from its settings and names.

    Args:
        facts: Its parameters, tags and attributes.
        records: Knows hardware by name; takes guesses.
        name: Name of the study, experiment or folder; names the operator if nothing else does.
        hints: Names in which a device may be mentioned, likeliest first.
        what: How to call the place in messages.

    Raises:
        ContentError: Nothing says on which hardware it ran.
    """
    task, stated, shape, config = _sorted(facts)
    hardware, rest = _hardware(stated.get("name"), records, hints=[name, *hints], what=what)
    trains = sorted(name for name in {*config, *shape} if name in _TRAINS)
    if "kind" not in task:
        if trains:
            task["kind"] = "training"
            records.guess(f"{what}: taken as training, as it sets {', '.join(trains)}")
        else:
            task["kind"] = "operator"
            records.guess(f"{what}: does not say what kind of work it is; taken as an operator")
    if "op" not in task:
        task["op"] = "train" if task["kind"] == "training" else rest or name or "unnamed"
        if task["kind"] != "training":
            records.guess(f"{what}: operator {task['op']!r} is taken from the name")
    count = stated.get("count")
    return Subject(
        task=task | ({"shape": shape} if shape else {}),
        hardware={"name": hardware} | ({} if count is None else {"count": count}),
        config=config,
    )


def _sorted(
    facts: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, object], dict[str, object], dict[str, object]]:
    """Facts by what they are about: task, hardware, shape, and all else the configuration."""
    task: dict[str, object] = {}
    stated: dict[str, object] = {}
    shape: dict[str, object] = {}
    config: dict[str, object] = {}
    for key, value in facts.items():
        if value is None or value == "":
            continue
        if key in _HARDWARE:
            stated.setdefault("name", value)
        elif key in _COUNT:
            stated.setdefault("count", _count(value))
        elif key in _MODEL:
            task.setdefault("model", str(value))
        elif key in _OPERATOR:
            task.setdefault("op", str(value))
            if key.startswith("kernel"):
                task.setdefault("kind", "kernel")
        elif key == "kind" or key in _TRAITS:
            task[key] = value
        elif key in _SHAPE:
            shape.setdefault(_SHAPE[key], value)
        else:
            config.setdefault(_CONFIG.get(key, key), value)
    return task, stated, shape, config


def _hardware(stated: object, records: Records, *, hints: list[str], what: str) -> tuple[str, str]:
    """Name of the hardware, and the first hint without it."""
    given = records.context.hardware
    found = [(hint, *device_in(hint, records)) for hint in hints]
    rest = next((rest for _, device, rest in found if device), hints[0] if hints else "")
    if isinstance(stated, str) and stated.strip():
        if given and records.hardware(given)[0] != records.hardware(stated)[0]:
            records.guess(
                f"{what}: names hardware {stated!r}, --hardware says {given!r}; the file is believed"
            )
        return stated, rest
    if given:
        hint, device = next(((hint, device) for hint, device, _ in found if device), ("", ""))
        if device and records.hardware(device)[0] != records.hardware(given)[0]:
            records.guess(
                f"{what}: the name {hint!r} mentions {device!r}; the option's {given!r} is believed"
            )
        return given, rest
    for hint, device, _ in found:
        if device:
            records.guess(f"{what}: hardware {device!r} is taken from the name {hint!r}")
            return device, rest
    raise ContentError(f"{what}: {NO_HARDWARE}")


def device_in(text: str, records: Records) -> tuple[str, str]:
    """The longest part of a name that is known hardware, and the name without it; both may be empty."""
    words = [word for word in _SEPARATORS.split(text) if word]
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            part = words[start : start + length]
            candidate = " ".join(part)
            if any(letter.isdigit() for letter in candidate) and records.is_device(candidate):
                return candidate, "_".join(words[:start] + words[start + length :])
    return "", text


def _count(value: object) -> object:
    """A number of devices, also from text such as ``"8"`` or ``"8.0"``."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def case_or_fault(records: Records, place: str, record: Mapping[str, object]) -> Case | Fault:
    """The case of a record, or its faults."""
    try:
        return records.case(record)
    except RecordError as fault:
        return Fault(place=place, reason=str(fault))


def parse_number(text: str, name: str) -> float:
    """A number in a cell.

    Raises:
        ContentError: It is none.
    """
    try:
        return float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError as fault:
        raise ContentError(f"{name}: {text[:40]!r} is no number") from fault
