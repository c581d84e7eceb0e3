from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kg.errors import InputError
from recommender.cost_model.estimate import as_records, estimate
from recommender.cost_model.plots import roofline_svg, split_svg, write

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def records() -> list[dict[str, object]]:
    settings: list[dict[str, object]] = [{"tp": 2, "seq_len": 4096, "gbs": 32}, {"seq_len": 4096, "gbs": 32}]
    machine = machine_of("ascend-910b1", 8, "atlas-800t-a2")
    return as_records(
        estimate(model=model("llama-2-7b"), machine=machine, phase="training", settings=settings), settings
    )


def test_plots_are_svg_with_a_bar_per_configuration(tmp_path: Path) -> None:
    split = ElementTree.fromstring(split_svg(records()))  # noqa: S314  made two lines above
    bars = [
        rect for rect in split.iter("{http://www.w3.org/2000/svg}rect") if float(rect.get("height", 0)) > 10
    ]
    assert len({rect.get("x") for rect in bars}) >= 2
    roof = roofline_svg(machine_of("ascend-910b1", 1).device, records())
    assert "354 TFLOP/s" in roof
    write(tmp_path / "a.svg", roof)
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == roof
    assert list(tmp_path.iterdir()) == [tmp_path / "a.svg"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        write(tmp_path / "nowhere" / "a.svg", "<svg/>")
