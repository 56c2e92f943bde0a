"""Every row has an example, and every example holds: in text both ways, in xDSL, against the reference.

The examples are the round-trip files in `filecheck/dialects/`: each is the text that it prints as.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from xdsl.ir import Operation

from shardy_py.mlir.dialects import check, chlo, interpreter, parse_module, print_module, stablehlo
from shardy_py.mlir.dialects.op_table import OpTable

FOLDER = Path(__file__).resolve().parents[4] / "filecheck" / "dialects"
FILES = [
    path
    for part in ("stablehlo", "chlo", "check", "interpreter")
    for path in sorted((FOLDER / part).glob("*.mlir"))
    if "invalid" not in path.name and path.name != "forms.mlir"
]
UNKNOWN_TO_THE_REFERENCE = {"newer", "quantized", "check", "interpreter"}
TABLES = (stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS)


def text_of(path: Path) -> str:
    """The file without its comments."""
    return "".join(line for line in path.read_text().splitlines(keepends=True) if not line.startswith("//"))


def rows() -> list[tuple[OpTable, str]]:
    return [(table, name) for table in TABLES for name in table.rows]


@pytest.fixture(scope="module")
def examples() -> dict[str, list[Operation]]:
    """The ops of all examples, by name."""
    found: dict[str, list[Operation]] = {}
    for path in FILES:
        for op in parse_module(text_of(path)).walk():
            found.setdefault(op.name, []).append(op)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_prints_as_itself(path: Path) -> None:
    text = text_of(path)
    module = parse_module(text)
    assert print_module(module) == text
    generic = print_module(module, generic=True)
    again = parse_module(generic)
    assert print_module(again) == text
    assert print_module(again, generic=True) == generic


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_prints_as_in_the_reference(path: Path, generic: bool, reference: Any) -> None:
    if UNKNOWN_TO_THE_REFERENCE & {path.stem, path.parent.name}:
        pytest.skip("jaxlib has no such ops or dialects, or no quantized types")
    text = text_of(path)
    assert print_module(parse_module(text), generic=generic) == reference.run(text, generic=generic)


@pytest.mark.parametrize(("table", "name"), rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_row_has_an_example_that_xdsl_accepts(
    table: OpTable, name: str, examples: dict[str, list[Operation]]
) -> None:
    row = table.rows[name]
    ops = examples.get(f"{table.dialect}.{name}", [])
    assert ops, "no file in filecheck/dialects has this op"
    for op in ops:
        assert type(op) is table.op_class(name)
        op.verify(verify_nested_ops=False)
        for slot in (*row.operands, *row.attributes, *row.results):
            getattr(op, slot.accessor)
        assert set(op.properties) <= set(type(op).get_irdl_definition().properties)  # pyright: ignore
        copy = op.clone()
        assert (copy.properties, copy.attributes) == (op.properties, op.attributes)


def test_examples_have_no_other_ops(examples: dict[str, list[Operation]]) -> None:
    known = {f"{table.dialect}.{name}" for table, name in rows()}
    assert {name for name in examples if not name.startswith(("builtin.", "func.", "sdy."))} <= known


def test_a_clone_of_a_module_prints_the_same() -> None:
    for path in FILES:
        module = parse_module(text_of(path))
        assert print_module(module.clone()) == print_module(module)


@pytest.mark.parametrize(("table", "name"), rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_class_names_are_the_words_of_the_op(table: OpTable, name: str) -> None:
    expected = "".join(word.capitalize() for word in re.split("[_-]", name)) + "Op"
    assert table.op_class(name).__name__ == expected
