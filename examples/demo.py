"""`make demo`: propagates a program and prints reports.

python examples/demo.py program.mlir propagated.mlir
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

from shardy_py import Program, Result, ShardyError, Value, propagate
from shardy_py.report.communication import communication_text
from shardy_py.report.memory import memory_text
from shardy_py.sharding import AxisRef

HEAD_LINES, HEAD_WIDTH = 12, 180
ROWS = 5


def main(source: str, target: str) -> None:
    """Propagates the program of file `source` and writes file `target`."""
    start = perf_counter()
    result = propagate(Program.load(source))
    text = result.text()
    seconds = perf_counter() - start
    Path(target).write_text(text)

    print(f"{source}: propagated in {seconds:.2f} s. First lines of the sharded main:\n")
    print("\n".join(main_head(text)))
    print(f"\n{result.summary()}\n")
    print(f"{memory_text(result.memory('tpu'), rows=ROWS)}\n")
    print(f"Communication:\n\n{communication_text(result.communication(), ROWS)}\n")
    for value in most_sharded(result):
        print(f"Why one of its tensors is sharded:\n\n{result.explain(value)}\n")
    print(f"Full output: {target}")


def most_sharded(result: Result) -> list[Value]:
    """Returns the matrix product sharded along most axes; without products any value, or nothing."""
    values = result.values.of_op("dot_general") or list(result.values)
    return sorted(values, key=lambda value: -len(axes_of(value)))[:1]


def axes_of(value: Value) -> list[AxisRef]:
    """Returns all axes that a value is sharded along."""
    dimensions = () if value.sharding is None else value.sharding.dimensions
    return [axis for dimension in dimensions for axis in dimension.axes]


def main_head(text: str) -> list[str]:
    """Returns the signature of @main, or of the first function, one argument per line, and its first ops."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("func.func")]
    start = next((i for i in starts if "@main(" in lines[i]), starts[0])
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
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ShardyError) as error:
        sys.exit(str(error))
