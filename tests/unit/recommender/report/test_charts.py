"""Charts: marks at their places."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from recommender.report.charts import (
    BAR_WIDTH,
    LEFT,
    TOP,
    WIDTH,
    Axis,
    bar,
    crosses,
    frame,
    interval,
    points,
    stacked,
    steps,
)
from recommender.report.markup import Markup
from recommender.report.scales import Scale
from recommender.report.sections import green
from recommender.report.sections.estimate import draw_roofline
from recommender.report.sections.pareto import front_chart
from recommender.report.sections.search import course_chart
from recommender.report.words import Words
from tests.unit.recommender.report import contents


@pytest.mark.parametrize(
    "figure",
    [
        course_chart(contents.search()["course"], Words()),
        front_chart(contents.front(), Words()),
        draw_roofline(contents.estimate()["roofline"], contents.estimate()["estimates"], Words("zh")),
    ],
    ids=["course", "front", "roofline"],
)
def test_a_drawing_says_what_it_shows(figure: Markup) -> None:
    svg = ElementTree.fromstring(figure[figure.index("<svg") : figure.rindex("</svg>") + 6])  # noqa: S314  made here
    assert svg.tag == "svg"
    assert svg.get("aria-label")
    assert len(list(svg.iter("path"))) >= 3


def test_there_is_a_mark_for_each_evaluation_and_each_failure() -> None:
    chart = course_chart(contents.search()["course"], Words())
    dots = re.search(r'<path d="([^"]+)" class="p s1">', chart)
    assert dots is not None
    assert dots[1].count("h0") == 3
    assert len(re.findall('class="l s8"', chart)) == 1


def test_labels_that_would_touch_or_be_cut_are_left_out() -> None:
    x = Axis(
        scale=Scale(0, 100, LEFT, WIDTH),
        ticks=list(range(0, 101, 2)),
        label=lambda value: f"{value:g} seconds",
    )
    made = frame(x, Axis(scale=Scale(0, 1, 200, 20)))
    places = [float(place) for place in re.findall(r'x="([\d.]+)"[^>]*class="m">', made)]
    assert 5 < len(places) < 15
    assert min(b - a for a, b in pairwise(places)) > 50
    assert max(places) < WIDTH - 25


def test_marks_are_where_they_belong() -> None:
    assert points([(1, 2), (3.5, 4)], "s1") == '<path d="M1 2h0M3.5 4h0" class="p s1"></path>'
    assert points([], "s1") == ""
    assert crosses([], "s1") == ""
    assert steps([(0, 10), (5, 2)], "s2", end=9) == '<path d="M0 10H5V2H9" class="l s2"></path>'
    assert 'x="0" y="1" width="100"' in bar(1, 2)
    assert 'x="100" y="1"' in bar(1, 2, start=1)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)"', stacked([(1, "a"), (3, "b")], 4))]
    assert widths == pytest.approx([BAR_WIDTH / 4, 3 * BAR_WIDTH / 4], abs=1)
    drawn = interval(Scale(0.5, 2, 0, BAR_WIDTH, is_log=True), 0.5, 1, 2, 1)
    assert "M100 0v" in drawn
    assert "M0 7H200" in drawn


def test_the_roof_rises_straight_to_its_ridge_on_axes_of_ratios() -> None:
    """Ten times the operations are as far apart at any height."""
    roofline, records = contents.estimate()["roofline"], contents.estimate()["estimates"]
    drawn = []
    for factor in (1, 10):
        at = {**roofline, "memory_bandwidth": roofline["memory_bandwidth"] * factor}
        path = re.search(r'<path d="M([^"H]+)" class="l s1">', draw_roofline(at, records, Words()))
        assert path is not None
        drawn.append([tuple(map(float, place.split())) for place in path[1].split("L")])
        (x, y), (ridge_x, ridge_y), (end_x, end_y) = drawn[-1]
        assert x < ridge_x < end_x
        assert y > ridge_y == end_y
        ridge = at["peak_flops"] / at["memory_bandwidth"]
        assert (y - ridge_y) / (y - TOP - 6) == pytest.approx(math.log(ridge) / math.log(2 * ridge), abs=0.01)
    assert drawn[1][1][0] < drawn[0][1][0]  # a faster memory bends it earlier


@pytest.mark.parametrize(
    ("left_out", "bars"), [((), 2), (("planned",), 1), (("asked",), 1), (("asked", "planned"), 0)]
)
def test_a_time_asked_and_a_time_planned_lie_where_they_are(left_out: tuple[str, ...], bars: int) -> None:
    content = {name: part for name, part in contents.green().items() if name not in left_out}
    chart = green.draw(content, Words())
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', chart)
    assert len(found) == bars
    assert all(LEFT <= float(x) <= float(x) + float(width) <= WIDTH for x, _, width in found)
    if bars == 2:
        (x, y, width), (later_x, lower_y, same) = (tuple(map(float, item)) for item in found)
        assert later_x - x == pytest.approx(2.5 * width, abs=1)  # ten hours later, of four each
        assert same == pytest.approx(width, abs=0.2)
        assert lower_y > y
