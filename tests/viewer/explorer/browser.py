"""A headless Chromium that opens a page from disk, for tests: clicks, console errors, screenshots.

python -m tests.viewer.explorer.browser page.html picture.png
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
LAPTOP, WIDE = (1440, 900), (1920, 1080)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--hide-scrollbars",
    "--disable-gpu",
    "--force-device-scale-factor=1",
)


_PAN = """
const [frames] = arguments;
return new Promise((done) => {
  const root = document.querySelector('#views svg'), start = performance.now();
  root.setPointerCapture = () => {};
  const more = {pointerId: 1, buttons: 1, bubbles: true};
  const event = (type, clientX, clientY) => new PointerEvent(type, {...more, clientX, clientY});
  const at = (...where) => root.dispatchEvent(event(...where));
  let frame = 0, x = 700, y = 300;
  at('pointerdown', x, y);
  const step = () => {
    const way = Math.floor(frame / 60) % 2 ? -1 : 1;
    at('pointermove', x += 9 * way, y += 7 * way);
    if (++frame < frames) { requestAnimationFrame(step); return; }
    at('pointerup', x, y);
    done(1000 * frames / (performance.now() - start));
  };
  requestAnimationFrame(step);
})
"""
"""Drags the graph back and forth, 11 pixels a frame, farther than is drawn around the view."""
_WAIT = "const wait = () => (globalThis.app?.lists ? done() : setTimeout(wait, 5))"


@dataclass(frozen=True)
class Browser:
    """An open page."""

    driver: Any

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads a file, and waits until the page can be used."""
        self.driver.get("about:blank")
        self.driver.get(f"{path.as_uri()}{fragment}")
        self.run(f"return new Promise((done) => {{ {_WAIT}; wait(); }})")
        self.settle()

    def run(self, script: str) -> Any:
        """The result of a script in the page."""
        return self.driver.execute_script(script)

    def settle(self) -> None:
        """Waits until what is pending is drawn."""
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that match."""
        return self.run(f"return [...document.querySelectorAll({selector!r})].map((e) => e.textContent)")

    def click(self, selector: str, index: int = 0) -> None:
        """Clicks on an element with the mouse's button events."""
        self.run(
            f"const e = document.querySelectorAll({selector!r})[{index}];"
            "e.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));"
            "e.dispatchEvent(new PointerEvent('pointerup', {bubbles: true}));"
            "e.dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        )
        self.settle()

    def key(self, key: str) -> None:
        """Presses a key."""
        self.run(
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: {key!r}, bubbles: true}}))"
        )
        self.settle()

    def panned(self, frames: int = 20) -> float:
        """The frames a second while the graph is dragged."""
        return self.driver.execute_script(_PAN, frames)

    def problems(self) -> list[str]:
        """What the console has got since the last call: errors, and violations of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that the page has asked for."""
        return self.run("return performance.getEntriesByType('resource').map((e) => e.name)")

    def milliseconds(self) -> float:
        """From the start of the navigation until the page could be used."""
        return self.run("return performance.getEntriesByName('interactive')[0].startTime")


@contextmanager
def browser(size: tuple[int, int] = LAPTOP) -> Generator[Browser]:
    """A Chromium of Debian's packages, driven by selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*_FLAGS, f"--window-size={size[0]},{size[1]}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


if __name__ == "__main__":
    with browser() as opened:
        opened.open(Path(sys.argv[1]).resolve())
        opened.driver.save_screenshot(sys.argv[2])
        print("\n".join(opened.problems()), f"{opened.milliseconds():.0f} ms")
