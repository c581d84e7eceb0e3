"""The launch of a run whose result a file holds: what the file does not state comes from its script."""

from collections.abc import Mapping

from ingest.door.records import Records
from ingest.formats.trackers.experiments import NO_HARDWARE


def launched(record: Mapping[str, object], records: Records) -> dict[str, object] | str:
    """A record with what the option and the told launch add; text says why it cannot be one.

    What the file states comes first, then the option, then the launch; but of programs that of the launch,
    whose settings are kept.

    Args:
        record: Of the file: task, config, perhaps hardware and software.
        records: Knows models; takes guesses.
    """
    launch = records.context.launch
    task = dict(_table(record, "task"))
    stated, told = task.get("model"), launch.get("model")
    if stated and told and not _same_model(str(stated), str(told), records):
        return f"the result is of {stated}, the launch told with it of {told}"
    if not stated and told:
        task["model"] = str(told).rstrip("/").rsplit("/", maxsplit=1)[-1]
    if not task.get("model"):
        records.guess(
            "the file names no model, so its rows answer no question about one; "
            "--model NAME or --from-command SCRIPT tells it"
        )
    if not task.get("dtype") and launch.get("precision"):
        task["dtype"] = launch["precision"]
    software, served = dict(_table(record, "software")), dict(_table(launch, "software"))
    if served and not software.keys() & served.keys():
        if software:  # a benchmark names what it speaks to, a trainer the library beneath it
            records.guess(
                f"the file says {', '.join(software)}, the launch {', '.join(served)}, which is kept"
            )
        software = served
    software = {name: release or str(served.get(name, "")) for name, release in software.items()}
    hardware = dict(_table(record, "hardware"))
    named = hardware.get("name") or records.context.hardware or launch.get("hardware")
    if not named:
        return NO_HARDWARE
    count = hardware.get("count") or launch.get("count")
    if count is None:
        records.guess(
            "rows of an unknown number of devices, as the file does not say how many ran; "
            "--from-command SCRIPT tells it"
        )
    given = records.context.hardware
    if (
        hardware.get("name")
        and given
        and records.hardware(given)[0] != records.hardware(str(hardware["name"]))[0]
    ):
        records.guess(
            f"the file names hardware {hardware['name']!r}, --hardware says {given!r}; the file is believed"
        )
    found = dict(record) | {
        "task": task,
        "hardware": hardware | {"name": named} | ({} if count is None else {"count": count}),
        "config": {**_table(launch, "current"), **_table(record, "config")},
    }
    return found | ({"software": software} if software else {})


def _same_model(one: str, other: str, records: Records) -> bool:
    """True if two names mean one model, by the knowledge or by their last part."""
    first, second = (name.rstrip("/").rsplit("/", maxsplit=1)[-1] for name in (one, other))
    if first.lower() == second.lower():
        return True
    known = records.model(first), records.model(second)
    return known[0] is not None and known[0] == known[1]


def _table(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    item = raw.get(name)
    return item if isinstance(item, dict) else {}
