"""A Chromium of this machine, driven by playwright, for pages of the product."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from recommender.report.writing import browser_program

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
_AXE = """async () => {
  const found = await axe.run();
  return [found.passes.length, found.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])];
}"""
STEPS = 200
READY = "body.js"
"""Expression that is true once a page's script has unpacked the document."""
_SLIDER = """steps => {
  const input = document.querySelector(".weights input");
  for (let i = 0; i < steps; i++) {
    input.value = (i % 101) / 100;
    input.dispatchEvent(new Event("input"));
    document.body.offsetHeight;
  }
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
        """Open a page; return it with its requests and its complaints, which go on growing."""
        opened = self._browser.new_context(**context).new_page()
        requests, errors = _watched(opened)
        opened.goto(path.resolve().as_uri())
        if context.get("java_script_enabled", True):
            opened.wait_for_selector(READY)
        return opened, requests, errors

    def slider_ms(self, path: Path) -> float:
        """Time of the page's own thread for a step of the first slider, with its layout."""
        opened, _, _ = self.open(path)
        session = _thread_clock(opened)
        before = _thread_ms(session)
        opened.evaluate(_SLIDER, STEPS)
        return (_thread_ms(session) - before) / STEPS

    def axe(self, path: Path, script: Path) -> dict[str, int]:
        """Findings of axe-core by impact, and rules that passed; the page's own policy is lifted for it."""
        context = self._browser.new_context(bypass_csp=True)
        opened = context.new_page()
        opened.goto(path.resolve().as_uri())
        opened.add_script_tag(path=str(script))
        passes, found = opened.evaluate(_AXE)
        counts = {"passes": int(passes)}
        for impact, name, number, example in found:
            counts[impact] = counts.get(impact, 0) + number
            print(f"axe: {impact}: {name} ({number}): {example}")
        return counts


def _watched(opened: Any) -> tuple[list[str], list[str]]:
    """Addresses that a page asks for, and what it complains of; both go on growing."""
    requests: list[str] = []
    errors: list[str] = []
    opened.on("request", lambda item: requests.append(item.url))
    opened.on("pageerror", lambda item: errors.append(str(item)))
    opened.on("console", lambda item: errors.append(item.text) if item.type in {"error", "warning"} else None)
    return requests, errors


def _thread_clock(opened: Any) -> Any:
    session = opened.context.new_cdp_session(opened)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def _thread_ms(session: Any) -> float:
    """Time that the page's own thread has worked."""
    found = {item["name"]: item["value"] for item in session.send("Performance.getMetrics")["metrics"]}
    return 1e3 * float(found["TaskDuration"])
