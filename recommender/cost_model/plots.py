"""Plots as SVG text: the split of the time as stacked bars, and the roofline of a device."""

from __future__ import annotations

from html import escape
from math import log10
from typing import TYPE_CHECKING

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recommender.cost_model.facts.device import Device

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 360, 70, 60
COLOURS = ("#31688e", "#35b779", "#fde725", "#90d743", "#443983", "#d55e00", "#999999", "#000000")


def write(path: Path, svg: str) -> None:
    """Write beside and move into place.

    Raises:
        InputError: The folder does not exist or cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(svg, encoding="utf-8")
        part.replace(path)
    except OSError as trouble:
        raise InputError(f"{path}: {trouble.strerror}") from trouble


def split_svg(records: Sequence[Mapping[str, object]]) -> str:
    """Stacked bars, one per configuration: parts of the time in seconds."""
    splits = [record["split_s"] for record in records]
    longest = max((sum(s.values()) for s in splits if isinstance(s, dict)), default=1.0)
    step = (WIDTH - LEFT - 160) / max(len(records), 1)
    body = []
    names: list[str] = []
    for index, split in enumerate(splits):
        top = float(HEIGHT - BOTTOM)
        if not isinstance(split, dict):
            continue
        names = names or list(split)
        for place, seconds in enumerate(split.values()):
            tall = (HEIGHT - BOTTOM - 20) * seconds / longest
            top -= tall
            body.append(
                f'<rect x="{LEFT + index * step + 2:.1f}" y="{top:.1f}" width="{max(step - 4, 1):.1f}" '
                f'height="{tall:.1f}" fill="{COLOURS[place % len(COLOURS)]}"/>'
            )
    for place, name in enumerate(names):
        y = 30 + 18 * place
        colour = COLOURS[place % len(COLOURS)]
        body.append(f'<rect x="{WIDTH - 150}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        body.append(label(WIDTH - 135, y, name.replace("_", " "), anchor="start"))
    body += [label(LEFT - 8, HEIGHT - BOTTOM, "0"), label(LEFT - 8, 24, f"{longest:.3g} s")]
    body.append(label(WIDTH / 2 - 80, HEIGHT - 20, f"{len(records)} configurations", anchor="middle"))
    return page("Split of the estimated time", body)


def roofline_svg(device: Device, records: Sequence[Mapping[str, object]]) -> str:
    """Roofline of a device on log axes, with the share of the peak each configuration reaches."""
    peak = device.get("peak_bf16_flops", "peak_fp16_flops") or device.number("peak_bf16_flops")
    slope = device.memory_bandwidth
    left, right = 0.0, 5.0  # 1 to 100 000 operations a byte
    low, high = log10(slope), log10(peak) + 0.3

    def at(intensity: float, rate: float) -> tuple[float, float]:
        x = LEFT + (intensity - left) / (right - left) * (WIDTH - LEFT - 20)
        y = HEIGHT - BOTTOM - (rate - low) / (high - low) * (HEIGHT - BOTTOM - 20)
        return x, y

    ridge = log10(peak / slope)
    points = [at(left, log10(slope)), at(ridge, log10(peak)), at(right, log10(peak))]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    body = [f'<polyline points="{line}" fill="none" stroke="#31688e" stroke-width="2"/>']
    for record in records:
        use = record.get("cube_use")
        if isinstance(use, float) and use > 0:
            x, y = at(right, log10(use * peak))
            body.append(f'<line x1="{LEFT}" x2="{x:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d55e00"/>')
            body.append(label(x, y - 4, f"{100 * use:.0f} % of the peak"))
    x, y = at(ridge, log10(peak))
    body.append(label(x, y - 6, f"{peak / 1e12:.0f} TFLOP/s from {peak / slope:.0f} operations a byte"))
    body.append(
        label(WIDTH / 2, HEIGHT - 20, "operations per byte, 1 to 100 000, logarithmic", anchor="middle")
    )
    return page(f"Roofline of {device.id}", body)


def front_svg(records: Sequence[Mapping[str, object]], fields: Sequence[str], front: Sequence[int]) -> str:
    """Configurations by two of their results; those that no other beats are joined and filled."""
    places = [[float(str(record[field])) for record in records] for field in fields[:2]]
    body: list[str] = []

    def at(place: int) -> tuple[float, float]:
        shares = [(values[place] - min(values)) / ((max(values) - min(values)) or 1.0) for values in places]
        x = LEFT + shares[0] * (WIDTH - LEFT - 40)
        return x, HEIGHT - BOTTOM - shares[1] * (HEIGHT - BOTTOM - 30)

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, front))
    body.append(f'<polyline points="{line}" fill="none" stroke="#d55e00"/>')
    for place in range(len(records)):
        x, y = at(place)
        colour = "#d55e00" if place in front else "none"
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" stroke="#31688e"/>')
    for field, values, low, high in (
        (fields[0], places[0], (LEFT, HEIGHT - BOTTOM + 16), (WIDTH - 40, HEIGHT - BOTTOM + 16)),
        (fields[1], places[1], (LEFT - 8, HEIGHT - BOTTOM), (LEFT - 8, 34)),
    ):
        body += [label(*low, f"{min(values):.3g}"), label(*high, f"{max(values):.3g}")]
        x, y = (WIDTH / 2, HEIGHT - 20.0) if field == fields[0] else (float(LEFT), 18.0)
        body.append(label(x, y, field.replace("_", " "), anchor="middle"))
    return page(f"Configurations that no other beats in {' and '.join(fields[:2])}", body)


def label(x: float, y: float, text: str, anchor: str = "end") -> str:
    """A text at a place of a plot."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}">{escape(text)}</text>'


def page(title: str, body: Sequence[str]) -> str:
    """A plot as SVG, of its size."""
    inner = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
        f"<title>{escape(title)}</title>\n{inner}\n</svg>\n"
    )
