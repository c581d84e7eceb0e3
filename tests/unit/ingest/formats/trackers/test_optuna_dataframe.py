"""Tables of Optuna's trials."""

from pathlib import Path

from ingest.door.records import NameResolver
from tests.samples.readings import ingest


def test_a_table_without_hardware_is_refused(names: NameResolver, shared: Path) -> None:
    _, report = ingest(names, shared / "formats/optuna/trials_dataframe.csv")
    assert (report.good, report.bad) == (0, 1)
    assert "names no hardware" in report.faults[0].reason
