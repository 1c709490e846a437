"""One visit of the console with headless Chromium; run by `tests.browser` in an environment that has playwright alone.

Every view is opened wide and as on a phone, in both colour schemes: no message in the console, nothing from outside, every
field labelled, text that can be read, nothing wider than the window. Then what a person would do is done by keyboard.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
WIDE, PHONE = {"width": 1040, "height": 680}, {"width": 390, "height": 844}
VIEWS = {
    "turns": "/turns", "threads": "/threads", "wiki": "/wiki", "graph": "/wiki/graph", "mentions": "/wiki/mentions",
    "compiles": "/compiles", "sources": "/sources", "spending": "/spending?by=source&of=tenant", "reads": "/reads",
}  # fmt: skip
MOST_MS = 5_000

FAULTS = Path(__file__).with_name("faults.js").read_text(encoding="utf-8").partition("\n")[2]


class Visit:
    """The browser's page, and every fault so far."""

    def __init__(self, page: Any, base: str, shots: Path | None) -> None:
        self.page = page
        self.base = base
        self.shots = shots
        self.faults: list[str] = []
        page.on("console", lambda one: self.fault(f"console {one.type}: {one.text}") if one.type != "log" else None)
        page.on("pageerror", lambda error: self.fault(f"error: {error}"))
        page.on("request", lambda one: None if self._is_ours(one.url) else self.fault(f"asked outside: {one.url}"))

    def _is_ours(self, url: str) -> bool:
        return url.startswith((self.base, "data:", "blob:"))

    def fault(self, text: str) -> None:
        """Note a fault, with the page it was on."""
        self.faults.append(f"{self.page.url.removeprefix(self.base)}: {text}")

    def expect(self, what: str, *, is_so: bool) -> None:
        """Note a fault unless it is so."""
        sys.stdout.write(f"{'ok' if is_so else 'FAULT'}  {what}\n")
        if not is_so:
            self.fault(what)

    def look(self, name: str, path: str) -> None:
        """Open a view in both schemes and sizes."""
        for scheme in ("light", "dark"):
            for size in (WIDE, PHONE):
                self.page.emulate_media(color_scheme=scheme)
                self.page.set_viewport_size(size)
                self.page.goto(self.base + path)
                if name == "graph":
                    self.page.wait_for_selector("#graph[data-ready]")
                for fault in self.page.evaluate(FAULTS):
                    self.fault(f"{scheme} {size['width']}: {fault}")
                if self.shots and (scheme, size) == ("light", WIDE):
                    self._shoot(name)
        took_ms = self.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        self.expect(f"{name} in {took_ms:.0f} ms", is_so=took_ms < MOST_MS)

    def _shoot(self, name: str) -> None:
        if name == "graph":
            self.page.wait_for_timeout(3000)
            self.page.click("[data-fit]")
            self.page.wait_for_timeout(600)
        self.page.screenshot(path=str(self.shots / f"{name}.png")) if self.shots else None


def walk(visit: Visit, token: str, owner: str) -> None:
    """Sign in, open everything, and do what a person would."""
    page = visit.page
    page.goto(f"{visit.base}/turns")
    page.fill("#token", "nonsense")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]")
    visit.expect("a bad token is told", is_so=page.locator("[role=alert]").count() == 1)
    visit.faults = [fault for fault in visit.faults if "401" not in fault]  # the browser reports the refused form
    page.fill("#token", token)
    page.click("text=Sign in >> nth=-1")
    page.goto(f"{visit.base}/owner")
    page.fill("#owner", owner)
    page.click("text=Show")
    for name, path in VIEWS.items():
        visit.look(name, path)
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    page.goto(f"{visit.base}/turns")
    visit.look("turn", page.get_attribute("tbody a", "href"))
    page.set_viewport_size(WIDE)
    _replay(visit)
    _filter(visit)
    page.goto(f"{visit.base}/threads")
    page.keyboard.press("/")
    page.keyboard.type("toronto")
    visit.expect("the slash finds the search", is_so=page.locator("#rows tr:visible").count() == 1)
    visit.look("thread", page.get_attribute("#rows a", "href"))
    page.goto(f"{visit.base}/wiki?q=toronto")
    if page.locator("tbody a").count():
        visit.look("page", page.get_attribute("tbody a", "href"))
    page.set_viewport_size(WIDE)
    page.click("[data-theme-switch]")
    visit.expect("the colours switch", is_so=page.get_attribute("html", "data-theme") in {"dark", "light"})
    _graph(visit)


def _replay(visit: Visit) -> None:
    page = visit.page
    page.eval_on_selector("input[name=budget]", "(e) => { e.value = 512; e.dispatchEvent(new Event('input')); }")
    visit.expect("a slider tells its number", is_so=page.inner_text("input[name=budget] + output") == "512")
    page.click("text=Fit again")
    visit.expect("a smaller budget drops items", is_so="over_budget" in page.inner_text("#again >> xpath=.."))


def _filter(visit: Visit) -> None:
    page = visit.page
    whole = page.locator("#candidate-rows tr:visible").count()
    page.fill("[data-filter]", "knowledge kept")
    shown = page.locator("#candidate-rows tr:visible").count()
    visit.expect(f"the filter shows {shown} of {whole} candidates", is_so=shown < whole)


def _graph(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.base}/wiki/graph")
    page.wait_for_selector("#graph[data-ready]")
    page.uncheck("[data-kind=reference]")
    page.fill("[data-find]", "t")
    page.keyboard.press("Enter")
    visit.expect("the graph is drawn", is_so=page.locator("#graph canvas").count() >= 1)
    visit.expect("and told", is_so=bool(page.inner_text("[data-told]")))


def main() -> int:
    """Return 0 when nothing was found at fault."""
    base, owner, shots = sys.argv[1:4]
    token = sys.stdin.read().strip()
    folder = Path(shots) if shots else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    playwright: Any = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visit = Visit(browser.new_page(), base, folder)
        walk(visit, token, owner)
        browser.close()
    for fault in visit.faults:
        sys.stdout.write(f"FAULT  {fault}\n")
    return 1 if visit.faults else 0


if __name__ == "__main__":
    sys.exit(main())
