"""A statement of what a run emitted: measured, modelled and assumed apart, never one sum."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ingest.formats.meters.overlaps import uncounted_shares
from ingest.formats.meters.registry import read_meter
from ingest.formats.meters.table import Knowledge, MeteredEnergy
from kg.nouns.codec import NOT_IN_JSON, OR_NULL, JsonNoun, in_json
from kg.terms.units import J_PER_KWH
from recommender.green.history import SLOT_S
from recommender.green.indices import MeteredRun
from recommender.green.series import IntensitySeries

MATURITY = (
    ("energy is metered", "measured"),
    ("grid intensity comes from a series of the place and hour", "series"),
    ("parts that are only modelled or assumed are named", "apart"),
    ("the site's overhead (PUE) is stated", "pue"),
    ("embodied carbon of the hardware is counted", "embodied"),
)
"""A checklist, no level: the sources' maturity levels name no test that could be failed."""
_MARKUP = re.compile(r"[\\`*\[\]<&~|]|\b_|_\b|^[#>+=-]|(?<=\d)[.)](?=\s)")
"""Of Markdown, and of its tables (CommonMark 0.31.2, sections 2.4, 4 to 6; GitHub's, 4.10 and 6.5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementLine(JsonNoun):
    """Energy and carbon of one part.

    Attributes:
        part: Of the machine.
        kind: How the energy is known.
        energy_kwh: Of it.
        carbon_g: Gram CO2; None where no intensity is known.
        g_per_kwh: Mean intensity over its time.
        basis: Where the intensity is from.
        share: Of it that no other line of this kind has; only that enters a sum.
        doubt: Why the intensity may be of other hours, or not the grid's own; empty where it is sure.
        duration_s: How long it was metered.
    """

    part: str
    kind: Knowledge
    energy_kwh: float = field(metadata=in_json(digits=6))
    carbon_g: float | None = field(metadata=in_json(digits=3))
    g_per_kwh: float | None = field(metadata=in_json(digits=2))
    basis: str = field(metadata=in_json("intensity_from"))
    doubt: str = field(default="", metadata=OR_NULL)
    share: float = field(default=1.0, metadata=in_json("share_in_totals", digits=4))
    duration_s: float = field(default=0.0, metadata=NOT_IN_JSON)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonStatement:
    """A statement.

    Attributes:
        title: What it is about.
        made_at: Time of its making.
        lines: By part.
        pue: Energy of the site over that of its machines; None where not given, then it is not counted.
        notes: Assumptions of readers and gaps of logs.
        indices: Of the run's work, by name, in words; empty where no work was given.
    """

    title: str
    made_at: datetime
    lines: tuple[StatementLine, ...]
    pue: float | None
    notes: tuple[str, ...]
    indices: Mapping[str, str] = field(default_factory=dict)

    def totals(self) -> dict[Knowledge, tuple[float, float | None]]:
        """Energy and carbon by how they are known; kinds are not added up, and no energy counts twice."""
        sums: dict[Knowledge, list[StatementLine]] = defaultdict(list)
        for line in self.lines:
            sums[line.kind].append(line)
        factor = self.pue or 1.0
        return {
            kind: (
                factor * math.fsum(line.share * line.energy_kwh for line in lines),
                None
                if any(line.carbon_g is None for line in lines)
                else factor * math.fsum(line.share * (line.carbon_g or 0.0) for line in lines),
            )
            for kind, lines in sums.items()
        }

    def run(self, work: float) -> MeteredRun:
        """The run with its work: by what was measured, else by the first kind there is.

        Raises:
            InputError: No work, or a log without time or energy.
        """
        totals = self.totals()
        kind = Knowledge.MEASURED if Knowledge.MEASURED in totals else next(iter(totals))
        energy_kwh, carbon_g = totals[kind]
        lasts_s = max(line.duration_s for line in self.lines if line.kind is kind)
        return MeteredRun(work=work, duration_s=lasts_s, energy_j=energy_kwh * J_PER_KWH, carbon_g=carbon_g)

    def checklist(self) -> list[tuple[str, bool]]:
        """The conditions of a sound statement, and if each holds."""
        holds = {
            "measured": bool(self.lines) and all(line.kind is Knowledge.MEASURED for line in self.lines),
            "series": bool(self.lines)
            and all(line.basis.startswith("series") and not line.doubt for line in self.lines),
            "apart": True,
            "pue": self.pue is not None,
            "embodied": False,
        }
        return [(text, holds[key]) for text, key in MATURITY]

    def to_json(self) -> dict[str, object]:
        """The statement for programs."""
        return {
            "title": self.title,
            "made": self.made_at.isoformat(timespec="seconds"),
            "pue": self.pue,
            "parts": [line.to_json() for line in self.lines],
            "totals": {
                str(kind): {
                    "energy_kwh": round(energy, 6), "carbon_g": None if carbon is None else round(carbon, 3)
                }
                for kind, (energy, carbon) in self.totals().items()
            },
            "checklist": [{"point": text, "holds": holds} for text, holds in self.checklist()],
            "indices": dict(self.indices),
            "notes": list(self.notes),
        }  # fmt: skip

    def to_markdown(self) -> str:
        """The statement as Markdown."""
        rows = ["| part | known by | kWh | g/kWh | g CO2 | intensity from |", "|---|---|---|---|---|---|"]
        rows += [f"| {' | '.join(map(_plain, cells))} |" for cells in self._cells()]
        points = [f"* [{'x' if holds else ' '}] {text}" for text, holds in self.checklist()]
        parts = [
            f"# {_plain(self.title)}",
            f"Made {self.made_at:%Y-%m-%d %H:%M} UTC.",
            "\n".join(rows),
            "\n".join(f"* {text}" for text in self._total_texts()),
        ]
        if self.indices:
            parts += ["## Indices", "\n".join(f"* {name}: {value}" for name, value in self.indices.items())]
        parts += ["## Rests on", "\n".join(points)]
        if self.notes:
            parts += ["## Notes", "\n".join(f"* {_plain(text)}" for text in self.notes)]
        return "\n\n".join(parts) + "\n"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                line.part + ("" if line.share == 1 else f" ({line.share:.0%} counted)"),
                str(line.kind),
                f"{line.energy_kwh:.4g}",
                "unknown" if line.g_per_kwh is None else f"{line.g_per_kwh:.0f}",
                "unknown" if line.carbon_g is None else f"{line.carbon_g:.4g}",
                line.basis + (f" ({line.doubt})" if line.doubt else ""),
            )
            for line in self.lines
        ]

    def _total_texts(self) -> list[str]:
        overhead = "" if self.pue is None else f", with a PUE of {self.pue:g}"
        totals = self.totals().items()
        grams = {kind: "carbon unknown" if g is None else f"{g:.4g} g CO2" for kind, (_, g) in totals}
        return [f"{kind}: {kwh:.4g} kWh, {grams[kind]}{overhead}" for kind, (kwh, _) in totals]


def _plain(text: str) -> str:
    """A text in one line of Markdown that shows as it is."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def make_statement(
    files: Sequence[Path],
    *,
    series: IntensitySeries | None,
    now: datetime,
    title: str = "Carbon statement",
    g_per_kwh: float | None = None,
    pue: float | None = None,
    interval_s: float = 1.0,
    start: datetime | None = None,
    zone: str = "",
    hosts: Mapping[Path, str] | None = None,
) -> CarbonStatement:
    """The statement of meters' logs on the grid of a series.

    Args:
        files: Logs of meters.
        series: Of the grid; None where there is none.
        now: The present.
        title: What it is about.
        g_per_kwh: Intensity where the series does not cover a log; None to leave its carbon unknown.
        pue: Overhead of the site.
        interval_s: Seconds between readings of logs without times.
        start: Beginning of logs without times.
        zone: Zone of logs whose times carry none.
        hosts: Machine of a log; devices of one name on one machine are one device.

    Raises:
        InputError: A file is no log of a meter, or there is no such zone.
    """
    lines: list[StatementLine] = []
    energies: list[MeteredEnergy] = []
    notes: list[str] = list(series.notes) if series is not None else []
    for path in files:
        log = read_meter(path, interval_s=interval_s, zone=zone)
        notes += [f"{path.name}: {text}" for text in log.notes]
        notes += [f"{path.name}: {fault}" for fault in log.faults[:5]]
        host = (hosts or {}).get(path, "")
        for metered in log.energies:
            energy = replace(metered, part=f"{metered.part} of {host}") if host else metered
            if energy.samples > 2 and energy.gap_s > 10 * energy.duration_s / (energy.samples - 1):
                notes.append(f"{path.name}: {energy.part} has a gap of {energy.gap_s:.0f} s")
            if energy.start_s is None and start is not None:
                energy = replace(energy, start_s=start.timestamp())
            energies.append(energy)
            lines.append(_line(energy, series, g_per_kwh))
    shares = uncounted_shares(energies)
    lines = [replace(line, share=share) for line, share in zip(lines, shares, strict=True)]
    for part in dict.fromkeys(line.part for line in lines if line.share < 1):
        notes.append(
            f"{part} is metered twice at the same time and counted once; a log of another machine: NAME=FILE"
        )
    if pue is None:
        notes.append("no PUE was given: the site's overhead is not counted")
    return CarbonStatement(
        title=title, made_at=now.astimezone(UTC), lines=tuple(lines), pue=pue, notes=(*dict.fromkeys(notes),)
    )


def _line(energy: MeteredEnergy, series: IntensitySeries | None, g_per_kwh: float | None) -> StatementLine:
    begin = energy.start_s
    intensity, basis, doubt = g_per_kwh, "assumed" if g_per_kwh is not None else "unknown", ""
    if series is not None and begin is not None:
        first = (begin - series.start.timestamp()) / SLOT_S
        last = first + energy.duration_s / SLOT_S
        if first >= 0 and last <= len(series.values):
            slots = np.arange(math.floor(first), max(math.floor(first) + 1, math.ceil(last)))
            shared = np.minimum(slots + 1, last) - np.maximum(slots, first)
            weight = shared if shared.sum() > 0 else np.ones(len(slots))
            intensity = float(np.average(series.values[slots], weights=weight))
            basis = f"series of {series.region}" + (f", {series.kind}" if series.kind else "")
            missing = int(series.is_filled[slots].sum())
            doubts = ["its clock is taken as UTC"] if not energy.has_zone else []
            doubts += [f"{missing} of {len(slots)} half hours filled"] if missing else []
            doubt = ", ".join(doubts)
    kwh = energy.energy_j / J_PER_KWH
    return StatementLine(
        part=energy.part,
        kind=energy.kind,
        energy_kwh=kwh,
        carbon_g=None if intensity is None else kwh * intensity,
        g_per_kwh=intensity,
        basis=basis,
        doubt=doubt,
        duration_s=energy.duration_s,
    )
