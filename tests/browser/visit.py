"""One visit of the console with headless Chromium; run by `tests.browser` in an environment that has playwright alone.

Every view is opened wide and as on a phone, in both colour schemes: no message in the console, nothing from outside, every
field labelled, text that can be read, nothing wider than the window. Then what a person would do is done, mostly by keyboard;
and the views are opened again for an owner whose texts are hostile, and for one without any data.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
WIDE, PHONE = {"width": 1180, "height": 760}, {"width": 390, "height": 844}
ALL = [(scheme, size) for scheme in ("light", "dark") for size in (WIDE, PHONE)]
VIEWS = {
    "turns": "/turns", "threads": "/threads", "sources": "/sources", "wiki": "/wiki", "graph": "/wiki/graph",
    "mentions": "/wiki/mentions", "compiles": "/compiles", "scopes": "/compiles/scopes", "quarantine": "/quarantine",
    "spending": "/spending?by=source", "reads": "/reads", "owner": "/owner", "ontology": "/ontology",
    "change sets": "/ontology/changes", "ontology versions": "/ontology/versions",
}  # fmt: skip
MOST_MS = 20_000
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
        page.on("dialog", self._dismiss)
        page.on("request", lambda one: None if self._is_ours(one.url) else self.fault(f"asked outside: {one.url}"))

    def _is_ours(self, url: str) -> bool:
        return url.startswith((self.base, "data:", "blob:"))

    def _dismiss(self, dialog: Any) -> None:
        self.fault(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def fault(self, text: str) -> None:
        """Note a fault, with the page it was on."""
        self.faults.append(f"{self.page.url.removeprefix(self.base)}: {text}")

    def expect(self, what: str, *, is_so: bool) -> None:
        """Note a fault unless it is so."""
        sys.stdout.write(f"{'ok' if is_so else 'FAULT'}  {what}\n")
        if not is_so:
            self.fault(what)

    def go(self, path: str) -> None:
        """Open a page, and wait for the graph where there is one."""
        self.page.goto(self.base + path)
        if path.startswith("/wiki/graph"):
            self.page.wait_for_selector("#graph[data-ready]")

    def look(self, name: str, path: str, ways: Iterable[tuple[str, dict[str, int]]] = tuple(ALL)) -> None:
        """Open a view in the schemes and sizes, look for faults, and keep a picture of the light wide one."""
        for scheme, size in ways:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size(size)
            self.go(path)
            for fault in self.page.evaluate(FAULTS):
                self.fault(f"{scheme} {size['width']}: {fault}")
            if self.shots and (scheme, size) == ("light", WIDE):
                self.shoot(name)
        took_ms = self.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        self.expect(f"{name} in {took_ms:.0f} ms", is_so=took_ms < MOST_MS)
        self.at_rest()

    def shoot(self, name: str) -> None:
        """Keep a picture; the graph comes to rest first."""
        if self.shots is None:
            return
        if self.page.locator("#graph canvas").count():
            self.page.wait_for_selector("#graph[data-calm]", timeout=60_000)
            self.page.wait_for_timeout(600)
        self.page.screenshot(path=str(self.shots / f"{name}.png"))

    def at_rest(self) -> None:
        """Go back to the light, wide window."""
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(WIDE)

    def choose(self, owner: str) -> None:
        """Look at an owner's data from now on."""
        self.go("/owner")
        self.page.fill("#owner", owner)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/turns*")


def walk(visit: Visit, token: str, owners: list[str]) -> None:
    """Sign in, open everything, and do what a person would."""
    owner, hostile, nobody = owners
    _sign_in(visit, token)
    visit.choose(owner)
    _threads(visit)
    _turn(visit)
    _sources(visit)
    _wiki(visit)
    _graph(visit)
    _compiles(visit)
    _ontology(visit)
    for name, path in VIEWS.items():
        visit.look(name, path)
    visit.page.click("[data-theme-switch]")
    visit.expect("the colours switch", is_so=visit.page.get_attribute("html", "data-theme") in {"dark", "light"})
    visit.page.click("[data-theme-switch]")
    for other in (hostile, nobody):
        visit.choose(other)
        paths = VIEWS | (_hostile_paths(visit) if other == hostile else {})
        for name, path in paths.items():
            visit.look(f"{name} of {other}", path, [("light", PHONE), ("dark", WIDE)])


def _sign_in(visit: Visit, token: str) -> None:
    page = visit.page
    visit.go("/turns")
    page.fill("#token", "nonsense")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]")
    visit.expect("a bad token is told", is_so=page.locator("[role=alert]").count() == 1)
    visit.faults = [fault for fault in visit.faults if "401" not in fault]  # the browser reports the refused form
    visit.look("login", "/login")
    page.fill("#token", token)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/owner?next=**")
    page.keyboard.press("Tab")
    visit.expect(
        "the first stop leads past the menu", is_so=page.evaluate("document.activeElement.className") == "skip"
    )


def _hostile_paths(visit: Visit) -> dict[str, str]:
    """Return where the hostile owner's own texts stand."""
    page, paths = visit.page, {}
    for name, start, link in (
        ("turn", "/turns", "tbody a[href^='/turns/']"),
        ("thread", "/threads", "tbody a"),
        ("memory", "/quarantine", "tbody a"),
    ):
        visit.go(start)
        paths[name] = page.get_attribute(link, "href")
    return paths | {f"page {slug}": f"/wiki/entity/{slug}" for slug in ("script", "long", "mixed")}


def _threads(visit: Visit) -> None:
    page = visit.page
    visit.go("/threads")
    page.keyboard.press("/")
    page.keyboard.type("toronto")
    visit.expect("the slash finds the search", is_so=page.locator("#rows tr:visible").count() == 1)
    visit.look("thread", page.get_attribute("#rows a", "href"))


def _turn(visit: Visit) -> None:
    page = visit.page
    visit.go("/turns")
    place = page.get_attribute("tbody a[href^='/turns/']", "href")
    visit.look("turn", place)
    visit.go(place)
    page.eval_on_selector(
        "input[name=budget]",
        "(e) => { e.value = 512; for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true})); }",
    )
    visit.expect("a slider tells its number", is_so=page.inner_text("input[name=budget] + output") == "512")
    page.wait_for_selector("[data-outcome] h3")
    visit.expect("a smaller budget drops items", is_so="over budget" in page.inner_text("[data-outcome]"))
    page.locator("#again").evaluate("(e) => e.scrollIntoView()")
    visit.shoot("replay")
    whole = page.locator("#candidate-rows tr:visible").count()
    page.fill("[data-filter]", "used by the answer")
    page.wait_for_timeout(300)
    shown = page.locator("#candidate-rows tr:visible").count()
    visit.expect(f"the answer used {shown} of {whole} candidates", is_so=0 < shown < whole)
    page.click("#candidate-rows tr:visible a >> nth=0")
    visit.expect("where it comes from is one click away", is_so="/turns/" not in page.url)
    visit.look("difference", f"{place}/diff")


def _sources(visit: Visit) -> None:
    page = visit.page
    visit.go("/sources")
    page.fill("#message", "Where was the best coffee in Toronto?")
    page.keyboard.press("Control+End")
    page.click("text=Ask the sources")
    page.wait_for_url("**/sources/tried/**", timeout=60_000)
    visit.expect("each source's answer stands by itself", is_so=page.locator(".answers > section").count() >= 3)
    visit.look("tried", page.url.removeprefix(visit.base))
    visit.go("/sources")
    page.focus("summary[aria-label='Switch wiki off']")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".note")
    visit.expect("a source is switched off", is_so="off for the tenant" in page.inner_text("tbody"))
    page.click(".note button")
    page.wait_for_selector("text=wiki is queried again")
    visit.expect("and on again", is_so="off for the tenant" not in page.inner_text("tbody"))


def _wiki(visit: Visit) -> None:
    page = visit.page
    visit.go("/wiki?q=austin")
    place = page.get_attribute("tbody a", "href")
    visit.look("page", place)
    visit.go(place)
    page.click(".prose a[href^='#from-'] >> nth=0")
    page.wait_for_selector("li:target")
    visit.expect("a sentence leads to its memory", is_so=page.locator("li:target").is_visible())
    page.click("li:target a")
    page.wait_for_selector("text=Pages based on it")
    visit.look("memory", page.url.removeprefix(visit.base))
    visit.go(place)
    page.click("#history ~ ul a >> nth=0")
    visit.expect("the page's history leads to its compile", is_so="/compiles/" in page.url)
    visit.look("job", page.url.removeprefix(visit.base))
    visit.go(place)
    page.click("text=Archive…")
    page.keyboard.press("Escape")
    visit.expect("Escape folds a question away", is_so=not page.locator("text=Archive this page").is_visible())


def _graph(visit: Visit) -> None:
    page = visit.page
    visit.go("/wiki/graph")
    _graph_filters(visit)
    page.uncheck("[data-kind=reference]")
    page.uncheck("[data-origin=co_mention]")
    page.fill("[data-find]", "austin")
    page.keyboard.press("Enter")
    visit.expect("the graph is drawn", is_so=page.locator("#graph canvas").count() >= 1)
    visit.expect("a page is found in it", is_so="Austin" in page.inner_text("[data-told]"))
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    visit.expect("the arrows go to a neighbour", is_so="Austin (" not in page.inner_text("[data-told]"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/wiki/*/*")
    visit.expect("and Enter opens it", is_so="/wiki/graph" not in page.url)
    page.click("text=In the graph")
    page.wait_for_selector("#graph[data-ready]")
    visit.expect("a page is shown with its neighbours", is_so="focus=" in page.url)


def _graph_filters(visit: Visit) -> None:
    """Switch types of edges and move through time by the keyboard, and look at what a rollback would remove."""
    page = visit.page

    def shown() -> int:
        return int(page.get_attribute("#graph", "data-shown") or -1)

    tick = page.locator("[data-type]").first
    tick.focus()
    page.keyboard.press("Space")
    without = shown()
    page.keyboard.press("Space")
    visit.expect("a type of edges is switched off and on by a key", is_so=0 <= without < shown())
    page.focus("[data-time]")
    page.keyboard.press("Home")
    first = page.input_value("[data-as-of]")
    visit.expect(
        "the slider goes to the first day of an edge", is_so=bool(first) and first in page.inner_text("[data-told]")
    )
    earliest = shown()
    page.keyboard.press("End")
    visit.expect("and to any time", is_so=page.input_value("[data-as-of]") == "" and shown() > earliest)
    page.click("#roll-back summary")
    page.select_option("#roll-back select[name=origin]", "co_mention")
    page.click("text=Preview")
    told = page.inner_text("#roll-back [role=status]")
    visit.expect("a rollback is previewed", is_so="would go" in told and page.locator("#roll-back li").count() > 0)
    visit.expect("and nothing is gone before it is confirmed", is_so=page.locator("text=Roll back").count() > 1)
    visit.go("/wiki/graph")


def _compiles(visit: Visit) -> None:
    page = visit.page
    visit.go("/compiles")
    page.click("text=Compile now")
    page.wait_for_selector(".note button")
    page.click(".note button")
    page.wait_for_selector("text=cancelled")
    visit.expect("a compile is started and taken back", is_so=True)
    page.click("text=Run it again")
    page.wait_for_selector(".note button")
    visit.expect("and run again", is_so="pending" in page.inner_text("[data-live]"))


def _ontology(visit: Visit) -> None:
    """Propose, review, approve, watch the pages, and roll back."""
    page = visit.page
    visit.go("/ontology")
    page.click("text=Propose a first ontology")
    page.wait_for_url("**/ontology/changes/*")
    visit.look("change set", page.url.removeprefix(visit.base))
    page.click("button[aria-label='Reject Project']")
    page.wait_for_selector("text=The item is rejected")
    visit.expect(
        "what the sections of a rejected type need is told", is_so=page.locator("text=cannot be approved").count() == 1
    )
    page.click("button[aria-label='Accept Project']")
    page.wait_for_selector("text=The item is accepted")
    _approve(visit, 1)
    visit.go("/ontology/changes")
    page.click("text=Scan for suggestions")
    page.wait_for_selector(".note", timeout=60_000)
    visit.expect("the scan proposes something", is_so="/ontology/changes/" in page.url)
    visit.expect("with its evidence", is_so=page.locator("ul[aria-label=Evidence] li").count() > 0)
    visit.look("suggestions", page.url.removeprefix(visit.base))
    visit.expect("the jobs end", is_so=_is_brought(visit, 1))
    visit.expect("pages tell their types", is_so=_has_typed_page(visit))
    visit.go("/ontology/versions")
    page.click("text=Switch off…")
    page.click("text=Put none in force")
    page.wait_for_selector("text=with the terms of version 0")
    visit.expect("and the rollback's job ends", is_so=_is_brought(visit, 2))
    page.click("text=Roll back to this…")
    page.click("text=Put version 1 in force again")
    page.wait_for_selector("text=Version 3 is in force")
    visit.expect("an older version is put in force again", is_so=_is_brought(visit, 3))


def _approve(visit: Visit, version: int) -> None:
    page = visit.page
    page.click("text=Approve…")
    page.click("text=Approve the change set")
    page.wait_for_selector(f"text=Version {version} is in force")
    visit.expect(f"version {version} is approved", is_so="/ontology/versions" in page.url)


def _has_typed_page(visit: Visit) -> bool:
    """Return whether one of the listed pages about an entity tells a type of the seed."""
    page = visit.page
    visit.go("/wiki")
    links = "tbody a[href^='/wiki/entity/']"
    for href in page.eval_on_selector_all(links, "(all) => all.map((one) => one.getAttribute('href'))")[:30]:
        visit.go(href)
        if {"place", "person", "organization", "work", "event"} & set(page.locator(".trail .chip").all_inner_texts()):
            return True
    return False


def _is_brought(visit: Visit, versions: int) -> bool:
    """Wait until so many jobs have brought pages to a version; return whether they did within two minutes."""
    for _ in range(120):
        visit.go("/ontology/versions")
        if visit.page.locator("text=succeeded").count() == versions:
            return True
        visit.page.wait_for_timeout(1000)
    return False


def main() -> int:
    """Return 0 when nothing was found at fault."""
    base, shots, *owners = sys.argv[1:]
    token = sys.stdin.read().strip()
    folder = Path(shots) if shots else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    playwright: Any = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        visit = Visit(browser.new_page(), base, folder)
        walk(visit, token, owners)
        browser.close()
    for fault in dict.fromkeys(visit.faults):
        sys.stdout.write(f"FAULT  {fault}\n")
    return 1 if visit.faults else 0


if __name__ == "__main__":
    sys.exit(main())
