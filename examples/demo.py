"""`make demo`: propagates a program and shows what was decided.

python examples/demo.py program.mlir propagated.mlir
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

from shardy_py import pipeline
from shardy_py.errors import ShardyError
from shardy_py.report.memory import memory_report, memory_text

HEAD_LINES, HEAD_WIDTH = 12, 180
MEMORY_ROWS = 5


def main(source: str, target: str) -> None:
    """Runs all stages on the file `source` and writes the file `target`."""
    start = perf_counter()
    module = pipeline.read(Path(source).read_text(), source)
    module = pipeline.finish(pipeline.propagate(pipeline.prepare(module)))
    text = pipeline.write(module)
    seconds = perf_counter() - start
    Path(target).write_text(text)

    print(f"{source}: every sharding decided in {seconds:.2f} s. The head of the sharded main:\n")
    print("\n".join(main_head(text)))
    print(f"\n{pipeline.report(module)}\n")
    print(f"{memory_text(memory_report(module, 'tpu'), rows=MEMORY_ROWS)}\n")
    print(f"The full output: {target}")


def main_head(text: str) -> list[str]:
    """The first lines of the function @main: its signature an argument a line, and some ops."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if "func.func" in line and "@main(" in line)
    signature = lines[start].replace(", %arg", ",\n      %arg").replace(") -> (", ")\n      -> (")
    arguments = signature.split("\n")
    head = (
        arguments
        if len(arguments) <= HEAD_LINES
        else [*arguments[:HEAD_LINES], _more(arguments), arguments[-1]]
    )
    return [_cut(line) for line in (*head, *lines[start + 1 : start + HEAD_LINES], "    ...")]


def _more(arguments: list[str]) -> str:
    return f"      ... {len(arguments) - HEAD_LINES - 1} more arguments"


def _cut(line: str) -> str:
    return line if len(line) <= HEAD_WIDTH else line[: HEAD_WIDTH - 3] + "..."


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ShardyError as error:
        sys.exit(str(error))
