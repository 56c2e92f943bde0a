"""Memory of a process that handles many programs: `python benchmarks/process_memory.py [COUNT]`.

Reads, propagates and prints COUNT different random programs (500 by default), then one program as often, and
shows the resident memory and the entries of the session's tables on the way. Both must level off.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shardy_py.errors import ShardyError
from shardy_py.pipeline import decide_shardings
from shardy_py.session import SESSION
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

ROWS = 10


def resident_bytes() -> int:
    """Returns the resident memory of the process (Linux), in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def different(count: int) -> Iterator[str]:
    """Yields random programs with different names, shapes, meshes and ops."""
    for seed in range(count):
        yield wide_program(random.Random(seed), Width())


def same(count: int) -> Iterator[str]:
    """Yields one program `count` times."""
    text = wide_program(random.Random(0), Width())
    yield from (text for _ in range(count))


def serve(title: str, programs: Callable[[int], Iterator[str]], count: int) -> None:
    """Propagates all programs and prints a row after every tenth of them."""
    print(f"{title:>20}  resident memory  entries in the session's tables")
    for number, text in enumerate(programs(count), 1):
        with suppress(ShardyError):  # some random programs are refused, as C++ refuses them
            decide_shardings(text)
        if number % max(1, count // ROWS) == 0:
            gc.collect()
            print(f"{number:>20}  {resident_bytes() / 1e6:>12.1f} MB  {sum(SESSION.sizes.values()):>8}")


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    serve("different programs", different, total)
    serve("the same program", same, total)
