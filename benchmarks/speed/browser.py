"""A Chromium of this machine, driven by playwright, for pages of the product."""

from __future__ import annotations

import os
import statistics
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from recommender.report.pdf import browser_program

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
_DRAWN = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  const n = performance.getEntriesByType("navigation")[0];
  const p = performance.getEntriesByName("first-contentful-paint")[0];
  done([n.loadEventEnd - n.responseEnd, p ? p.startTime - n.responseEnd : null]);
})))"""
_SLIDER = """() => {
  const input = document.querySelector(".weights input"), spent = [];
  for (let i = 0; i < 200; i++) {
    input.value = (i % 101) / 100;
    const began = performance.now();
    input.dispatchEvent(new Event("input"));
    document.body.offsetHeight;
    spent.push(performance.now() - began);
  }
  return spent.sort((a, b) => a - b)[Math.floor(spent.length * 0.95)];
}"""


def find_chromium() -> str | None:
    """The browser to drive: the one that ``TUNEGRAPH_CHROMIUM`` names, else the system's; None without playwright."""
    if find_spec("playwright") is None:
        return None
    return os.environ.get("TUNEGRAPH_CHROMIUM") or browser_program()


class Chromium:
    """A browser without a network; a context manager.

    Args:
        program: Its path.
    """

    def __init__(self, program: str) -> None:
        self._program = program

    def __enter__(self) -> Self:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=self._program, args=list(FLAGS))
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def open(self, path: Path, **context: Any) -> tuple[Any, list[str], list[str]]:
        """Open a page; return it with its requests and its errors, which go on growing."""
        requests: list[str] = []
        errors: list[str] = []
        opened = self._browser.new_context(**context).new_page()
        opened.on("request", lambda item: requests.append(item.url))
        opened.on("pageerror", lambda item: errors.append(str(item)))
        opened.on(
            "console", lambda item: errors.append(item.text) if item.type in {"error", "warning"} else None
        )
        opened.goto(path.resolve().as_uri())
        return opened, requests, errors

    def page_figures(self, path: Path, looks: int) -> dict[str, Any]:
        """Time from the last byte to the end of loading and to the first picture, requests and errors."""
        loaded, drawn, extra, faults = [], [], 0, 0
        for _ in range(looks):
            opened, requests, errors = self.open(path)
            end, first = opened.evaluate(_DRAWN)
            loaded.append(end)
            drawn.append(max(end, first or 0.0))
            extra, faults = max(extra, len(requests) - 1), max(faults, len(errors))
            opened.context.close()
        return {
            "loaded_ms": statistics.median(loaded),
            "drawn_ms": statistics.median(drawn),
            "requests": extra,
            "script_errors": faults,
        }

    def slider_ms(self, path: Path) -> float:
        """The 95 % quantile of what a step of the first slider takes, with its layout."""
        opened, _, _ = self.open(path)
        return float(opened.evaluate(_SLIDER))

    def axe(self, path: Path, script: Path) -> dict[str, int]:
        """Findings of axe-core by impact; the page's own policy is lifted for it."""
        context = self._browser.new_context(bypass_csp=True)
        opened = context.new_page()
        opened.goto(path.resolve().as_uri())
        opened.add_script_tag(path=str(script))
        found = opened.evaluate(
            "async () => (await axe.run()).violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])"
        )
        counts: dict[str, int] = {}
        for impact, name, number, example in found:
            counts[impact] = counts.get(impact, 0) + number
            print(f"axe: {impact}: {name} ({number}): {example}")
        return counts
