"""Makes `tour.ipynb`, which shows results as notebooks do: `python examples/make_tour.py`.

The notebook is run, and written with its outputs. Needs nbclient, nbformat and ipykernel, of the extra `dev`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

HERE = Path(__file__).resolve().parent
TOUR = HERE / "tour.ipynb"
CELLS = (
    "# A tour of `shardy_py`\n\nA program in, its shardings and costs out. The program is a layer of two "
    "products, in `mlp.mlir`; every cell runs without JAX and without devices.",
    ">from shardy_py import Mesh, P, Program, Result, Sharding, propagate\n\n"
    "program = Program.load('mlp.mlir')\nprogram",
    "## Propagation\n\nThe shardings of a few annotated tensors reach the others.",
    ">result = propagate(program)\nresult",
    "A value, with the devices that hold its shards:",
    ">result['result 0']",
    "A sharding by itself:",
    ">Sharding(Mesh.of(data=2, model=2), P('data', 'model'))",
    "## Why\n\nThe annotation behind each axis; the steps in between open with a click.",
    ">result.explain('result 0')",
    ">result.why_not('%arg0', 1, 'model')",
    "## Costs",
    ">result.communication(partitioner='shardy')",
    ">result.memory('tpu-v5p')",
    "Rows of any report, also for pandas (`to_pandas()`) and as CSV:",
    ">result.memory().to_rows()[0]",
    ">print(result.communication(partitioner='shardy').to_csv())",
    "## What if\n\nAnother annotation, propagated again and compared:",
    ">result.what_if({'%arg0': P(None, 'model')})",
    "## Lint",
    ">from shardy_py.check import Limits, check\n\n"
    "check(result, limits=Limits(replicated_bytes=1, reshard_bytes=1))",
    "## Layouts in memory",
    ">from shardy_py.indexing.layout.picture import picture\n"
    "from shardy_py.indexing.layout.text import parse_array\n\n"
    "picture(parse_array('f32[3,5]{1,0:T(2,2)}'))",
    "## Keeping a run\n\n`result.save(path)` writes it; loaded, it has the same reports and explanations.",
    ">from pathlib import Path\nfrom tempfile import mkdtemp\n\n"
    "file = Path(mkdtemp()) / 'run.shardy'\nresult.save(file)\n"
    "str(Result.load(file).compared_with(result))",
)
"""Cells of text, and of code after `>`."""


def unrun() -> Any:
    """Returns the notebook without outputs; the ids of cells are their numbers, the same in each run."""
    made = nbformat.v4.new_notebook()
    for number, text in enumerate(CELLS):
        new = nbformat.v4.new_code_cell if text.startswith(">") else nbformat.v4.new_markdown_cell
        made.cells.append(new(text.removeprefix(">"), id=f"cell-{number}"))
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def executed() -> Any:
    """Returns the notebook with outputs, without what differs between runs: times and versions."""
    made = unrun()
    nbclient.NotebookClient(
        made, timeout=120, kernel_name="python3", resources={"metadata": {"path": HERE}}
    ).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)
    made.metadata.pop("language_info", None)
    return made


def text_of(notebook: Any) -> str:
    """Returns the content of the file."""
    return re.sub(r"\n*\Z", "\n", nbformat.writes(notebook))


if __name__ == "__main__":
    TOUR.write_text(text_of(executed()), encoding="utf-8")
    sys.stdout.write(f"{TOUR}\n")
