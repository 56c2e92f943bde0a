"""The explorer's files: their size, the time to write them beyond propagation, and until they can be used.

    python benchmarks/explorer.py [name of a corpus program ...]

CPU seconds of this process; milliseconds of a headless Chromium from the start of the navigation to the mark
"interactive", "-" where there is none. Programs of 100, 5,000 and 20,000 ops, and those of the corpus.
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
from tests.viewer.explorer.browser import CHROMIUM, DRIVER, browser
from tests.viewer.explorer.programs import OPS_IN_LAYER, layers

_ROW = "{:<26}{:>8}{:>10}{:>10}{:>10}{:>8}"


def main(names: list[str]) -> None:
    """Prints the table."""
    print(_ROW.format("program", "values", "kB", "write s", "open ms", "errors"))
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
            opened, errors = "-", "-"
            if page is not None:
                page.open(path)
                opened, errors = f"{page.milliseconds():.0f}", str(len(page.problems()))
            size = f"{len(html) / 1000:.0f}"
            print(_ROW.format(name, len(result.values), size, f"{seconds:.2f}", opened, errors), flush=True)


def _programs(names: list[str]) -> Iterator[tuple[str, str]]:
    if not names:
        for count in (100, 5_000, 20_000):
            yield f"{count} ops", layers(count // OPS_IN_LAYER)
    for name in names or corpus_names():
        yield name, corpus_text(name)


if __name__ == "__main__":
    main(sys.argv[1:])
