"""The screenshots in docs/pictures: `python -m tests.viewer.explorer.pictures`. Need JAX and Chromium."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import jax

from examples.transformer import lowered
from shardy_py import P, Program, propagate
from tests.viewer.explorer.browser import LAPTOP, WIDE, Browser, browser

ROOT = Path(__file__).resolve().parents[3]
PICTURES, EXAMPLES = ROOT / "docs" / "pictures", ROOT / "examples"

_SIDE_BY_SIDE = (
    "const s = document.getElementById('state'); s.value = '2'; s.dispatchEvent(new Event('change'))"
)


def main() -> None:
    """Writes all pictures."""
    PICTURES.mkdir(exist_ok=True)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no folders in locations
    result = propagate(Program.from_jax(lowered(4)).with_source_roots(str(EXAMPLES)))
    with TemporaryDirectory() as folder:
        one, two = Path(folder) / "one.html", Path(folder) / "two.html"
        result.explorer(titles=("transformer.py", "")).save(one)
        edits = {f"weights['layers'][{n}]['down']": P(None, "model") for n in range(4)}
        result.what_if(edits).explorer().save(two)
        with browser(LAPTOP) as page:
            page.open(one)
            _light(page)
            _picture(page, "explorer_program")
            _open_layer(page)
            _picture(page, "explorer_tensor")
        with browser(WIDE) as page:
            page.open(two)
            page.click("#theme")
            page.run(_SIDE_BY_SIDE)
            _open_layer(page)
            _picture(page, "explorer_comparison")


def _light(page: Browser) -> None:
    page.run("document.documentElement.classList.remove('dark')")


def _open_layer(page: Browser) -> None:
    """Opens the feed-forward part of the first layer, and selects the product in it."""
    page.run(
        "const m = app.model, inside = (i) => m.ancestors(i).some((g) => m.label(g) === 'feed_forward');"
        "const found = m.kind.findIndex((k, i) => k === 'op' && m.label(i) === 'dot_general' && inside(i));"
        "app.select(found, true)"
    )
    page.settle()


def _picture(page: Browser, name: str) -> None:
    page.settle()
    assert page.problems() == []
    page.driver.save_screenshot(str(PICTURES / f"{name}.png"))


if __name__ == "__main__":
    main()
