"""The explorer's files: their size, the time to write them beyond propagation, and until they can be used.

    python benchmarks/explorer.py [name of a corpus program ...]

CPU seconds of this process; of a headless Chromium that draws without a GPU ("-" where there is none) the
milliseconds from the start of the navigation to the mark "interactive", and frames a second while the graph
is dragged: as opened, with all groups open and fitted, and at the scale of text. Programs of 100, 5,000 and
35,000 ops, and those of the corpus.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from shardy_py import Program, propagate
from tests.conftest import corpus_names, corpus_text
from tests.viewer.explorer.browser import CHROMIUM, DRIVER, Browser, browser
from tests.viewer.explorer.programs import OPS_IN_LAYER, layers

_ROW = "{:<26}{:>8}{:>8}{:>9}{:>9}{:>8}{:>8}{:>8}{:>8}"
_FRAMES = 180
_ALL_OPEN = (
    "const {model, layout} = app;"
    "for (let i = 1; i < model.count; i++) if (model.children[i].length) layout.open.add(i);"
    "layout.update(); app.fit()"
)
_NEAR = (
    "const item = app.model.count >> 1;"
    "app.layout.reveal(item); app.camera.scale = 1; app.center(item); app.draw()"
)


def main(names: list[str]) -> None:
    """Prints the table."""
    print(_ROW.format("program", "values", "kB", "write s", "open ms", "fps", "all", "near", "errors"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        has_browser = CHROMIUM and DRIVER and find_spec("selenium")
        page = stack.enter_context(browser()) if has_browser else None
        for name, text in _programs(names):
            result = propagate(Program.parse(text, f"{name}.mlir", as_compiled=True), progress=False)
            started = process_time()
            html = result.explorer(titles=(name, "")).html
            seconds = process_time() - started
            path = folder / "page.html"
            path.write_text(html)
            size = f"{len(html) / 1000:.0f}"
            seen = ("-",) * 5 if page is None else _seen(page, path)
            print(_ROW.format(name, len(result.values), size, f"{seconds:.2f}", *seen), flush=True)


def _seen(page: Browser, path: Path) -> tuple[str, ...]:
    """The figures of a browser."""
    page.open(path)
    opened, rates = page.milliseconds(), [page.panned(_FRAMES)]
    for script in (_ALL_OPEN, _NEAR):
        page.run(script)
        page.settle()
        rates.append(page.panned(_FRAMES))
    return (f"{opened:.0f}", *(f"{rate:.0f}" for rate in rates), str(len(page.problems())))


def _programs(names: list[str]) -> Iterator[tuple[str, str]]:
    if not names:
        for count in (100, 5_000, 35_000):
            yield f"{count} ops", layers(count // OPS_IN_LAYER)
    for name in names or corpus_names():
        yield name, corpus_text(name)


if __name__ == "__main__":
    main(sys.argv[1:])
