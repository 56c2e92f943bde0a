"""Op classes are imported by name, constructed from Python values, pickled; modules declare them."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import pickle
import runpy
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, StringAttr, TensorType, f32, i1, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import check, chlo, interpreter, parse_module, sdy, stablehlo
from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.dialects.declaration import FirstLine
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import (
    AddOp,
    CaseOp,
    CompareOp,
    ConcatenateOp,
    CustomCallOp,
    DotGeneralOp,
    ReshapeOp,
    ReturnOp,
    SortOp,
    TransposeOp,
)
from shardy_py.mlir.dialects.stablehlo.attributes import (
    DotDimensionNumbersAttr,
    PrecisionAttr,
    TypeExtensionsAttr,
)
from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.sharding import TensorSharding

TYPE = TensorType(f32, [4, 2])
X, Y = test.TestOp(result_types=[TYPE, TYPE]).results


def test_every_class_is_found_by_its_name_and_pickled() -> None:
    for package in (stablehlo, chlo):
        for row in package.OPS.rows.values():
            op_class = getattr(package, row.class_name)
            assert op_class is package.op_class(row.name)
            assert pickle.loads(pickle.dumps(op_class)) is op_class
    with pytest.raises(AttributeError, match="dialect 'stablehlo' has no op class 'AdOp'"):
        getattr(stablehlo, "AdOp")  # noqa: B009


def test_result_types_are_inferred() -> None:
    assert AddOp(X, Y).result.type == TYPE
    assert TransposeOp(X, permutation=(1, 0)).result.type == TensorType(f32, [2, 4])
    assert CompareOp(lhs=X, rhs=Y, comparison_direction="LT").result.type == TensorType(i1, [4, 2])
    assert ConcatenateOp([X, Y], dimension=0).result.type == TensorType(f32, [8, 2])
    assert TopKOp(X, k=1).values.type == TensorType(f32, [4, 1])
    bounded = TensorType(f32, [DYNAMIC_INDEX, 2], TypeExtensionsAttr((4, DYNAMIC_INDEX)))
    (value,) = test.TestOp(result_types=[bounded]).results
    assert AddOp(value, value).result.type == bounded


def test_result_types_are_given_where_they_are_not_inferred() -> None:
    flat = TensorType(f32, [8])
    assert ReshapeOp(X, result_types=[flat]).result.type == flat
    with pytest.raises(ShardyError, match=r"'stablehlo.reshape' is unsupported; pass result_types="):
        ReshapeOp(X)  # pyright: ignore[reportCallIssue]


def test_attributes_are_plain_values_or_attributes() -> None:
    numbers = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [1]}
    product = DotGeneralOp(
        X,
        Y,
        dot_dimension_numbers=numbers,
        precision_config=["HIGH", "DEFAULT"],
        result_types=[TensorType(f32, [4, 4])],
        attributes={"mhlo.note": StringAttr("kept")},
    )
    product.verify()
    assert product.dot_dimension_numbers.data.lhs_contracting_dimensions == (1,)
    assert product.attributes == {"mhlo.note": StringAttr("kept")}
    with_attribute = ConcatenateOp([X], dimension=IntegerAttr(1, i64))
    assert with_attribute.dimension.value.data == 1


def test_regions_are_given_by_name() -> None:
    (index,) = test.TestOp(result_types=[TensorType(IntegerAttr(0, 32).type, [])]).results
    branch = Region(Block([ReturnOp([X])]))
    case = CaseOp(index, branches=[branch])
    assert [result.type for result in case.results_] == [TYPE]
    assert case.regions == (branch,)
    assert SortOp([X, Y], comparator=Region(Block()), result_types=[TYPE, TYPE]).inputs == (X, Y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: AddOp(X),
            "stablehlo.add: operand 'rhs': expected a value, or an op with one result, got none",
        ),  # pyright: ignore
        (lambda: AddOp(X, 3), "stablehlo.add: operand 'rhs': expected a value, .*, got 3"),  # pyright: ignore
        (lambda: AddOp(X, X.owner), "operand 'rhs': .* got op 'test.op' with 2 results"),  # pyright: ignore
        (lambda: AddOp(X, Y, lhs=X), "argument 'lhs' is given twice, by position and by name"),  # pyright: ignore
        (
            lambda: AddOp(X, Y, result_types=TYPE),
            "'result_types': expected a sequence .*; put it into a list",
        ),  # pyright: ignore
        (lambda: AddOp(X, Y, result_types=[TYPE, TYPE]), "'result_types': expected 1 of them, got 2"),
        (lambda: AddOp(X, Y, result_types=["f32"]), "'result_types', number 0: expected a type, got 'f32'"),  # pyright: ignore
        (lambda: AddOp(X, Y, attributes={"a": 3}), "'attributes': expected a mapping of names to attributes"),  # pyright: ignore
        (
            lambda: ConcatenateOp(X, dimension=0),
            "operand 'inputs': expected a sequence of values, got a value",
        ),  # pyright: ignore
        (lambda: ConcatenateOp([X], dimension=StringAttr("a")), "'dimension': expected 64-bit .*, got \"a\""),  # pyright: ignore
        (lambda: CompareOp(X, Y, comparison_direction="AT"), "expected Literal.*, got 'AT'"),  # pyright: ignore
        (lambda: SortOp([X], comparator=3), "stablehlo.sort: region 'comparator': expected a region, got 3"),  # pyright: ignore
        (lambda: CaseOp(X, branches=Region()), "region 'branches': expected a sequence of regions"),  # pyright: ignore
        (lambda: TopKOp(X, k=True), "chlo.top_k: attribute 'k': expected int, got True"),
        (lambda: CustomCallOp([X], call_target_name=3, result_types=[]), "expected str, got 3"),  # pyright: ignore
        (lambda: AddOp(X, Y, X), "stablehlo.add: expected 2 operands, got 3"),  # pyright: ignore
        (lambda: AddOp(X, rsh=Y), "unknown argument 'rsh': .*did you mean 'rhs'"),  # pyright: ignore
        (lambda: TransposeOp(X), "attribute 'permutation': expected Sequence.int., got none"),  # pyright: ignore
        (
            lambda: TransposeOp(X, permutation="ab"),
            "stablehlo.transpose: attribute 'permutation': expected Sequence.int., got 'ab'",
        ),  # pyright: ignore
        (lambda: TransposeOp(X, permutation=(1,)), "rank 2 does not match permutation size 1"),
        (lambda: AddOp(X, TransposeOp(Y, permutation=(1, 0))), "Mismatched|requires the same shape"),
    ],
)
def test_mistakes_are_refused_and_leave_no_uses(build: Any, message: str) -> None:
    before = X.uses.get_length()
    with pytest.raises(VerifyException, match=message) as error:
        build()
    assert isinstance(error.value, ShardyError)
    assert X.uses.get_length() == before


SHARDING = TensorSharding.fully_open("mesh", 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sdy.ReshardOp(X), "sdy.reshard: missing a required argument: 'sharding'"),  # pyright: ignore
        (lambda: sdy.ReshardOp(X, SHARDING, 1), "sdy.reshard: too many positional arguments"),  # pyright: ignore
        (lambda: sdy.ReshardOp(3, SHARDING), "argument 'input': expected SSAValue . Operation, got 3"),  # pyright: ignore
        (lambda: sdy.ReshardOp(X, 3), "sdy.reshard: argument 'sharding': expected TensorSharding, got 3"),  # pyright: ignore
        (lambda: sdy.MeshOp("mesh", "x"), "sdy.mesh: argument 'mesh': expected Mesh, got 'x'"),  # pyright: ignore
        (lambda: sdy.ReturnOp(3), "sdy.return: argument 'values': expected SSAValue . Operation, got 3"),  # pyright: ignore
        (
            lambda: sdy.PropagationBarrierOp(X, "UP"),
            "barrier: unknown direction 'UP': expected one of 'NONE'",
        ),
        (lambda: sdy.AllReduceOp(X, ["x"], SHARDING), "'axes': expected Sequence.AxisRef., got .'x'."),  # pyright: ignore
        (lambda: sdy.AllReduceOp(X, [], SHARDING, "mean"), "sdy.all_reduce: unknown reduction 'mean'"),
        (lambda: sdy.TensorShardingAttr("x"), "sdy.sharding: expected TensorSharding, got 'x'"),  # pyright: ignore
        (lambda: sdy.TensorShardingPerValueAttr((1,)), "sdy.sharding_per_value: expected tuple"),  # pyright: ignore
        (
            lambda: PrecisionAttr("LOW"),
            "stablehlo.precision: expected one of DEFAULT, HIGH, HIGHEST, got 'LOW'",
        ),
        (lambda: DotDimensionNumbersAttr({}), "stablehlo.dot: expected DotDimensionNumbers, got {}"),  # pyright: ignore
    ],
)
def test_mistakes_in_written_constructors_and_attributes(build: Any, message: str) -> None:
    before = X.uses.get_length()
    with pytest.raises(VerifyException, match=message):
        build()
    assert X.uses.get_length() == before


def test_ops_attributes_and_modules_are_copied_and_pickled(root: Path) -> None:
    numbers = DotDimensionNumbersAttr(DotDimensionNumbers((0,)))
    module = parse_module((root / "examples" / "mlp.mlir").read_text())
    for made in (numbers, ModuleOp([AddOp(*test.TestOp(result_types=[TYPE, TYPE]).results)]), module):
        for same in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert type(same) is type(made)
            assert str(same) == str(made)
    assert pickle.loads(pickle.dumps(numbers)) == numbers


def test_declarations_are_fresh(root: Path) -> None:
    generated = runpy.run_path(str(root / "docs" / "declarations.py"))
    for path, table in generated["TABLES"].items():
        assert path.read_text() == generated["declarations"](table), "run `make docs`"


@pytest.mark.parametrize(
    "table", [stablehlo.OPS, chlo.OPS, check.OPS, interpreter.OPS], ids=lambda t: t.dialect
)
def test_inspect_shows_classes_as_they_are_declared(table: OpTable, monkeypatch: pytest.MonkeyPatch) -> None:
    # Until Python 3.13 `inspect` parses the whole module for each class.
    monkeypatch.setattr(ast, "parse", cache(ast.parse))
    for row in table.rows.values():
        op_class = table.op_class(row.name)
        lines, number = inspect.getsourcelines(op_class)
        source = textwrap.dedent("".join(lines))
        (declared,) = ast.parse(source).body
        assert isinstance(declared, ast.ClassDef)
        assert declared.name == op_class.__name__ == op_class.__qualname__
        names = vars(sys.modules[op_class.__module__])
        for name, annotation in op_class.__annotations__.items():
            assert f"    {name}: {annotation}\n" in source
            eval(annotation, names)  # its names are those of the module
        parameters = inspect.signature(op_class).parameters
        (build,) = (node for node in declared.body if isinstance(node, ast.FunctionDef))
        assert [a.arg for a in (*build.args.args[1:], *build.args.kwonlyargs)] == [*parameters]
        assert (op_class.__doc__ or "").startswith(f"`{op_class.name}`.\n")
        line = FirstLine(op_class.__module__, op_class.__name__) - 0
        assert line == number


def test_a_subclass_has_a_signature_of_its_own() -> None:
    class TwiceOp(AddOp):
        def __init__(self, value: SSAValue) -> None:
            super().__init__(value, value)

    assert [*inspect.signature(TwiceOp).parameters] == ["value"]
    assert "permutation (attribute): i64 dense array attribute" in (TransposeOp.__doc__ or "")


def test_declarations_are_not_loaded_for_reading(root: Path) -> None:
    code = """if True:
        import sys
        from shardy_py.mlir.dialects import parse_module
        parse_module("func.func @f(%a: tensor<f32>) { %0 = stablehlo.abs %a : tensor<f32> return }")
        module = sys.modules["shardy_py.mlir.dialects.stablehlo.op_classes"]
        print("__getattr__" in object.__getattribute__(module, "__dict__"), module.AbsOp.name)
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "False stablehlo.abs\n"


EXAMPLE = """\
from xdsl.ir import SSAValue
from shardy_py.mlir.dialects.stablehlo import AddOp, TransposeOp

def build(x: SSAValue) -> None:
    reveal_type(AddOp(x, x).result)
    reveal_type(TransposeOp(x, permutation=(1, 0)).permutation)
    AddOp(x)
    TransposeOp(x, permutation=1)
"""


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_type_checkers_see_operands_results_and_attributes(root: Path, tmp_path: Path) -> None:
    example = tmp_path / "example.py"
    example.write_text(EXAMPLE)
    command = ["pyright", "--outputjson", str(example)]
    found = json.loads(subprocess.run(command, cwd=root, capture_output=True, text=True).stdout)
    messages = [
        (d["range"]["start"]["line"] + 1, d["message"].splitlines()[0]) for d in found["generalDiagnostics"]
    ]
    array = "DenseArrayBase[IntegerType[int, Signedness]]"
    assert messages == [
        (5, 'Type of "AddOp(x, x).result" is "OpResult[Attribute]"'),
        (
            6,
            f'Type of "TransposeOp(x, permutation=(1, 0)).permutation" is "{array}"',
        ),
        (7, 'Argument missing for parameter "rhs"'),
        (
            8,
            'Argument of type "Literal[1]" cannot be assigned to parameter "permutation" of type '
            f'"{array} | Sequence[int]" in function "__init__"',
        ),
    ]
