"""The page of a report in a real browser: clicks, keys, sliders, schemes, narrow screens, paper, no script.

Skipped where playwright or a Chromium is not installed; the check of accessibility also where axe-core is not.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recommender.report.document import ReportDocument, ReportPart
from recommender.report.page import page
from recommender.report.sections.pareto import choice, front_costs
from recommender.report.writing import browser_program, print_pdf
from tests.browser.chromium import Chromium, find_chromium
from tests.unit.recommender.report import contents

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
_RGB = "x => getComputedStyle(document.body)[x].match(/[\\d.]+/g).slice(0, 3).map(Number)"
_CUT = """() => [...document.querySelectorAll("svg[role=img]")].flatMap(svg => {
  const box = svg.viewBox.baseVal;
  return [...svg.querySelectorAll("text")].filter(text => {
    const b = text.getBBox();
    return b.width && (b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1);
  }).map(text => text.textContent);
})"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        pytest.skip(
            "no browser: pip install playwright, and install Chromium or name one in TUNEGRAPH_CHROMIUM"
        )
    with Chromium(program) as browser:
        yield browser


@pytest.fixture(scope="module")
def report_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(contents.document()), encoding="utf-8")
    return path


def test_the_page_asks_for_nothing_and_complains_of_nothing(chromium: Chromium, report_path: Path) -> None:
    opened, requests, errors = chromium.open(report_path)
    opened.wait_for_timeout(200)
    assert requests == [report_path.resolve().as_uri()]
    assert errors == []


def test_a_click_shows_the_rows_of_a_cell(chromium: Chromium, report_path: Path) -> None:
    opened, _, _ = chromium.open(report_path)
    table = opened.locator("table[data-map=rank]")
    table.locator("tbody tr").nth(1).locator("td").nth(1).click()
    panel = opened.locator("#diagnosis .rows")
    assert "Cast · rank 1" in panel.inner_text()
    assert panel.locator("tbody tr").count() == 1
    assert "rank_1.csv:3" in panel.inner_text()
    opened.locator("#diagnosis summary", has_text="Calls, time").click()
    opened.locator("table[data-map=unit] tbody tr").nth(0).locator("td").nth(3).click()
    assert panel.locator("tbody tr").count() == 3


def test_keys_move_between_cells_and_open_them(chromium: Chromium, report_path: Path) -> None:
    opened, _, _ = chromium.open(report_path)
    cells = opened.locator("table[data-map=rank] td")
    assert opened.locator("table[data-map=rank] td[tabindex='0']").count() == 1
    cells.first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowDown"):
        opened.keyboard.press(key)
    assert opened.evaluate("document.activeElement.parentNode.cells[0].textContent") == "Cast"
    assert opened.locator("table[data-map=rank] td[tabindex='0']").count() == 1
    opened.keyboard.press("Enter")
    assert "Cast · rank 0" in opened.locator("#diagnosis .rows").inner_text()


def fronts() -> list[Any]:
    rng = np.random.default_rng(3)
    large = contents.front()
    large["points"] = [[float(a), float(b)] for a, b in rng.lognormal(0, 1, (300, 2))]
    large["front"], large["configurations"] = list(range(300)), {}
    equal = contents.front() | {"points": [[1e-3, 10.0]] * 4}
    single = contents.front() | {"points": [[1e-3, 10.0]], "front": [0], "configurations_count": 1}
    third = {"metric": "energy", "unit": "J", "better": "lower"}
    three = large | {
        "objectives": [*large["objectives"], third],
        "points": [
            [*point, float(c)] for point, c in zip(large["points"], rng.lognormal(0, 1, 300), strict=True)
        ],
    }
    return [contents.front(), large, equal, single, three]


@pytest.mark.parametrize("front", fronts(), ids=["small", "large", "equal", "single", "three"])
def test_the_sliders_choose_what_numpy_chooses(chromium: Chromium, tmp_path: Path, front: Any) -> None:
    path = tmp_path / "front.html"
    path.write_text(
        page(contents.document(search={**contents.search(), "front_points": front})), encoding="utf-8"
    )
    opened, _, errors = chromium.open(path)
    costs = front_costs(front)
    for weights in ((0.5, 0.5, 0.5), (0, 1, 0.25), (1, 0, 0), (0.9, 0.1, 0.3), (0.33, 0.67, 1)):
        chosen = weights[: len(front["objectives"])]
        for at, weight in enumerate(chosen):
            opened.locator(".weights input").nth(at).evaluate(
                "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }",
                str(weight),
            )
        expected = front["front"][choice(costs, chosen)]
        assert opened.locator(".front").get_attribute("data-choice") == str(expected)
        ring, dot = (opened.locator(name).bounding_box() for name in (".ring", ".front svg[role=img]"))
        assert dot["x"] - 10 <= ring["x"] <= dot["x"] + dot["width"]
    assert "These weights choose" in opened.locator(".choice").inner_text()
    assert errors == []


def contrast(one: list[float], other: list[float]) -> float:
    def luminance(colour: list[float]) -> float:
        linear = [
            p / 12.92 if (p := part / 255) <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for part in colour
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = max(luminance(one), luminance(other)), min(luminance(one), luminance(other))
    return (high + 0.05) / (low + 0.05)


def test_the_dark_scheme_is_dark_and_read(chromium: Chromium, report_path: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        opened, _, _ = chromium.open(report_path, color_scheme=scheme)
        ground, ink = (opened.evaluate(_RGB, name) for name in ("backgroundColor", "color"))
        grounds.append(sum(ground))
        assert contrast(ground, ink) > 12
    assert grounds[0] > 700
    assert grounds[1] < 100


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_reaches_beyond_the_screen_or_its_drawing(
    chromium: Chromium, tmp_path: Path, width: int, language: str
) -> None:
    long_name = contents.answer(title=contents.LONG)
    long_heat = {
        **contents.diagnosis(name=contents.LONG),
        "heat": contents.heat(ranks=50, name=contents.LONG),
    }
    names = contents.document(answer=long_name, diagnosis=long_heat)
    for at, document in enumerate((contents.document(), names)):
        path = tmp_path / f"{at}.html"
        path.write_text(page(document, language=language), encoding="utf-8")
        opened, _, _ = chromium.open(path, viewport={"width": width, "height": 800})
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.evaluate(_CUT) == []


def test_without_scripts_charts_tables_and_rows_are_there(chromium: Chromium, report_path: Path) -> None:
    opened, _, _ = chromium.open(report_path, java_script_enabled=False)
    charts = opened.locator("svg[role=img]")
    assert charts.count() == 6
    assert all(charts.nth(at).bounding_box()["height"] > 80 for at in range(6))
    assert opened.locator("table[data-map=rank] td").count() == 6
    assert not opened.locator(".weights").first.is_visible()
    opened.locator("summary", has_text="The longest rows").click()
    opened.locator("summary", has_text="MatMul").first.click()
    assert opened.locator("text=rank_2.csv:4").first.is_visible()


def test_hostile_names_run_nothing(chromium: Chromium, tmp_path: Path) -> None:
    content = contents.document(
        answer=contents.answer(title=contents.HOSTILE), diagnosis=contents.diagnosis(name=contents.HOSTILE)
    )
    path = tmp_path / "hostile.html"
    path.write_text(page(content), encoding="utf-8")
    opened, requests, errors = chromium.open(path)
    opened.on("dialog", lambda item: errors.append(item.message))
    opened.locator("table[data-map=rank] td").first.click()
    opened.wait_for_timeout(200)
    assert len(requests) == 1
    assert errors == []
    assert "onerror" in opened.locator("#diagnosis .rows").inner_text()


def test_paper_has_every_section_and_no_cut_chart(tmp_path: Path) -> None:
    if browser_program() is None:
        pytest.skip("no browser that prints: install Chromium")
    pypdf = pytest.importorskip("pypdf", reason="pip install pypdf")
    path = tmp_path / "report.pdf"
    path.write_bytes(print_pdf(page(contents.document())))
    read = pypdf.PdfReader(path)
    assert 4 <= len(read.pages) <= 14
    width, height = (float(side) for side in read.pages[0].mediabox[2:])
    assert (width, height) == pytest.approx((595, 842), abs=2)  # A4
    text = "\n".join(item.extract_text() for item in read.pages)
    for words in (
        "The answer",
        "Diagnosis",
        "Search",
        "A/B test",
        "Carbon",
        "Where each number is from",
        "weight of",
    ):
        assert words in text
    assert "Choose a cell" not in text


def test_axe_finds_nothing_serious(chromium: Chromium, report_path: Path) -> None:
    script = Path(os.environ.get("TUNEGRAPH_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
    if not script.is_file():
        pytest.skip("no axe-core: npm install axe-core, or name its axe.min.js in TUNEGRAPH_AXE")
    found = chromium.axe(report_path, script)
    assert found["passes"] > 20
    assert {impact: count for impact, count in found.items() if impact in {"serious", "critical"}} == {}


def test_a_large_front_is_followed(chromium: Chromium, tmp_path: Path) -> None:
    along = np.sort(np.random.default_rng(0).random(10_000)) + 0.1
    front = contents.front() | {
        "objectives": [{**item, "better": "lower"} for item in contents.front()["objectives"]],
        "points": [[float(a), float(1 / a)] for a in along], "front": list(range(len(along))), "configurations": {},
    }  # fmt: skip
    path = tmp_path / "front.html"
    part = ReportPart(kind="search", source="s", content={"search": "s", "front_points": front})
    path.write_text(page(ReportDocument(title="t", made="", program="", parts=(part,))), encoding="utf-8")
    assert math.isfinite(took := chromium.slider_ms(path))
    assert took < 10  # 2 ms is to be reached on a quiet machine
