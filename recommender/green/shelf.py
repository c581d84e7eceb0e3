"""The stored series of a workspace, a file a region, with what was learned from them."""

import io
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ingest.files.times import zone_of
from ingest.formats.intensity.registry import read_intensity
from ingest.formats.intensity.table import IntensityTable
from kg.archives import arrays
from kg.atomic_files import write_bytes
from kg.errors import InputError, WorkspaceError
from recommender.green.coefficients import Coefficients, NeighbourRegion, shipped
from recommender.green.forecast import learn
from recommender.green.history import LEAST_HISTORY, SLOT_S, IntensityHistory
from recommender.green.published import PublishedForecast, published_from
from recommender.green.series import IntensitySeries, placed, series_from

MOST_NEIGHBOURS = 3
"""Other regions of the workspace that a region's coefficients learn from at most; each costs time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRegion:
    """A region of the workspace.

    Attributes:
        series: What came; without values where there were only forecasts.
        zone: Of the region's clock, as it was given.
        published: Forecasts of a service; None if none was imported.
        coefficients: Learned from the series; None where it is too short.
    """

    series: IntensitySeries
    zone: str = "UTC"
    published: PublishedForecast | None = None
    coefficients: Coefficients | None = None


class GreenShelf:
    """The regions of a workspace.

    Args:
        folder: Where they lie; made at the first import.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def regions(self) -> list[str]:
        """Names of the regions, in order."""
        return sorted(path.stem for path in self.folder.glob("*.npz")) if self.folder.is_dir() else []

    def choose(self, region: str) -> str:
        """The region that is meant: the named one, or the only one; empty if there is none at all.

        Raises:
            InputError: There are several and none is named, or the named one is not there while others are.
        """
        there = self.regions()
        if region and (region in there or not there):
            return region
        if region:
            raise InputError(f"no series of region {region!r}", hint=f"imported: {', '.join(there)}")
        if len(there) > 1:
            raise InputError(
                "several regions have been imported", hint=f"--region, one of: {', '.join(there)}"
            )
        return there[0] if there else ""

    def load(self, region: str) -> StoredRegion | None:
        """A region; None if it has not been imported.

        Raises:
            WorkspaceError: Its file is damaged.
        """
        path = self._path(region)
        try:
            held = arrays(path)
            about = json.loads(bytes(held["about"]))
            zone = zone_of(about["zone"])
            series = IntensitySeries(
                region=region,
                start=datetime.fromtimestamp(about["start_s"], zone),
                values=held["values"],
                is_filled=held["is_filled"],
                kind=about["kind"],
                scope=about["scope"],
                notes=tuple(about["notes"]),
            )
            if series.values.ndim != 1 or series.values.shape != series.is_filled.shape:
                raise ValueError("its values have no shape of a series")
            published = (
                PublishedForecast(held["issued"], held["times"], held["forecast"], about["step_s"])
                if "issued" in held
                else None
            )
            learned = Coefficients(held["learned"], shipped()[0].weight) if "learned" in held else None
        except FileNotFoundError:
            return None
        except _DAMAGE as fault:
            what = str(fault) or type(fault).__name__
            raise WorkspaceError(f"{path} is damaged: {what}", hint="import the series again") from None
        return StoredRegion(series=series, zone=about["zone"], published=published, coefficients=learned)

    def add(
        self, files: Sequence[Path], *, region: str = "", zone: str = "", label: str = "start", kind: str = ""
    ) -> tuple[StoredRegion, list[str]]:
        """Take files of one region in, beside what is stored of it, and learn from them.

        Returns:
            The region, and faults of rows that were left out.

        Raises:
            InputError: A file or the mixture of files is wrong; nothing is changed.
            WorkspaceError: It cannot be written.
        """
        if label not in {"start", "end"}:
            raise InputError(
                f"--label {label!r}", hint="start or end: which end of a slot its time stands for"
            )
        tables = [placed(read_intensity(path), zone=zone, label=label) for path in files]
        named = {table.region for table in tables if table.region}
        name = region or (named.pop() if len(named) == 1 else "")
        if not name:
            raise InputError("the files do not name one region", hint="--region DE")
        if not name.replace("-", "").replace("_", "").isalnum():
            raise InputError(
                f"{name!r} is no name of a region", hint="letters, digits, - and _, such as US-CAL-CISO"
            )
        faults: list[str] = []
        stored = self._set_aside_if_damaged(name, faults)
        series = series_from(
            tables if stored is None else [_as_table(stored.series), *tables],
            region=name,
            zone=zone or (stored.zone if stored is not None else ""),
            kind=kind,
        )
        published = published_from(tables) or (stored.published if stored is not None else None)
        found = StoredRegion(
            series=series,
            zone=zone or (stored.zone if stored is not None else "UTC"),
            published=published,
            coefficients=self._learn(series),
        )
        self._write(name, found)
        faults += [
            f"{path}: {fault}" for path, table in zip(files, tables, strict=True) for fault in table.faults
        ]
        return found, faults

    @property
    def outcomes(self) -> Path:
        """The log of waits on these regions."""
        return self.folder / "outcomes.jsonl"

    def neighbours(self, series: IntensitySeries) -> list[NeighbourRegion]:
        """Other regions of the same kind of intensity, to learn from."""
        found = []
        for name in self.regions():
            try:
                other = self.load(name) if name != series.region else None
            except WorkspaceError:  # a damaged neighbour teaches nothing, and stops nobody
                continue
            if (
                other is not None
                and other.series.kind == series.kind
                and len(other.series.values) > LEAST_HISTORY
            ):
                history = IntensityHistory(other.series.values, other.series.local_start)
                found.append(NeighbourRegion(history, other.series.slot_of(series.start)))
        return found[:MOST_NEIGHBOURS]

    def _set_aside_if_damaged(self, name: str, faults: list[str]) -> StoredRegion | None:
        """Load the stored series of a region; a damaged file is set aside for the import, and reported."""
        try:
            return self.load(name)
        except WorkspaceError as fault:
            path = self._path(name)
            aside = path.with_name(f"{path.name}.damaged")
            try:
                path.replace(aside)
            except OSError:
                raise fault from None
            faults.append(f"{fault}: set aside as {aside.name}, these files alone are the series now")
            return None

    def _learn(self, series: IntensitySeries) -> Coefficients | None:
        if len(series.values) <= 2 * LEAST_HISTORY:
            return None
        history = IntensityHistory(series.values, series.local_start)
        return learn(history, len(series.values), self.neighbours(series))

    def _path(self, region: str) -> Path:
        return self.folder / f"{region}.npz"

    def _write(self, name: str, found: StoredRegion) -> None:
        series = found.series
        about = {
            "start_s": series.start.timestamp(), "zone": found.zone, "kind": series.kind,
            "scope": series.scope, "notes": series.notes,
            "step_s": found.published.step_s if found.published else SLOT_S,
        }  # fmt: skip
        arrays: dict[str, np.ndarray[Any, Any]] = {
            "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
            "values": series.values,
            "is_filled": series.is_filled,
        }
        if found.published is not None:
            arrays |= {
                "issued": found.published.issued_s,
                "times": found.published.times_s,
                "forecast": found.published.g_per_kwh,
            }
        if found.coefficients is not None:
            arrays["learned"] = found.coefficients.values
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **arrays)
        path = self._path(name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_bytes(path, packed.getvalue())
        except OSError as fault:
            raise WorkspaceError(f"{path} cannot be written: {fault.strerror}") from None


_DAMAGE = (
    OSError, ValueError, LookupError, TypeError, OverflowError, struct.error,
)  # fmt: skip
"""Errors that a damaged file raises, on reading or in the fields of its header."""


def _as_table(series: IntensitySeries) -> IntensityTable:
    """The slots of a stored series that came from files."""
    slots = np.flatnonzero(~series.is_filled)
    return IntensityTable(
        region=series.region,
        kind=series.kind,
        scope=series.scope,
        step_s=SLOT_S,
        times_s=(series.start.timestamp() + SLOT_S * slots).tolist(),
        values=series.values[slots].tolist(),
    )
