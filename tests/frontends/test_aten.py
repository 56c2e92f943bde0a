"""Rows against torch: types of all, numbers where JAX is there to run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Examples are made with torch, so they come behind that line.
# ruff: noqa: E402
from shardy_py import ShardyError
from shardy_py.builder import Tensor, TensorType, build, ops
from shardy_py.frontends.aten import ROWS, find_row, keeps_whole, register_aten, unregister_aten
from shardy_py.frontends.aten.elements import element_of_torch
from tests.frontends.aten_examples import calls
from tests.frontends.run_stablehlo import run

WITHOUT_NUMBERS = {"aten.empty", "aten.empty_like", "aten.new_empty"}
"""Rows whose result may be anything."""


def op_of(name: str) -> Any:
    found = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def type_of(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(type_of(part) for part in value)
    return TensorType(tuple(value.shape), element_of_torch(value.dtype))


def tensors_in(arguments: Any) -> list[Any]:
    if isinstance(arguments, list | tuple):
        return [tensor for part in arguments for tensor in tensors_in(part)]
    return [arguments] if isinstance(arguments, torch.Tensor) else []


def replaced(arguments: Any, tensors: list[Any]) -> Any:
    if isinstance(arguments, list | tuple):
        return type(arguments)(replaced(part, tensors) for part in arguments)
    return tensors.pop(0) if isinstance(arguments, torch.Tensor) else arguments


def as_array(tensor: Any) -> Any:
    import ml_dtypes

    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


class Example:
    """One call: the program of its row, and what torch computes."""

    def __init__(self, name: str, arguments: Any, keywords: Any) -> None:
        self.name = name
        self.given = tensors_in(arguments)
        with torch.no_grad():
            found = op_of(name)(*arguments, **keywords)
        self.types = type_of(found)
        self.expected = list(found) if isinstance(found, tuple | list) else [found]
        self.known: list[int] = []
        row = find_row(name)
        assert row is not None

        def function(*tensors: Tensor) -> Any:
            result = row(self.types, *replaced(arguments, list(tensors)), **keywords)
            results = result if isinstance(result, tuple | list) else [result]
            self.known = [i for i, tensor in enumerate(results) if tensor is not None]
            return [results[i] for i in self.known]

        self.program = build(function, *(type_of(tensor) for tensor in self.given))


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(*call) for call in calls()]


def test_every_row_has_an_example_and_every_example_a_row(examples: list[Example]) -> None:
    stems = {".".join(example.name.split(".")[:2]) for example in examples}
    checks = {name for name in ROWS if "assert" in name or "sym_constrain" in name}
    assert stems == set(ROWS) - WITHOUT_NUMBERS - checks


def test_rows_give_the_types_that_torch_gives(examples: list[Example]) -> None:
    for example in examples:
        types = [type_of(example.expected[i]) for i in example.known]
        results = example.program.values.results()
        assert [(v.shape, v.element_type) for v in results] == [(t.shape, t.element_type) for t in types], (
            example.name
        )


def test_rows_compute_what_torch_computes(examples: list[Example]) -> None:
    wrong = []
    for example in examples:
        found = run(example.program, [as_array(tensor) for tensor in example.given])
        for number, array in zip(example.known, found, strict=True):
            expected = as_array(example.expected[number])
            coarse = expected.dtype.name == "bfloat16"
            close = np.allclose(
                np.asarray(array, np.float64),
                np.asarray(expected, np.float64),
                rtol=1e-2 if coarse else 1e-5,
                atol=1e-2 if coarse else 2e-6,
                equal_nan=True,
            )
            if not close:
                wrong.append((example.name, number, array, expected))
    assert not wrong


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("aten.dropout.default", (0.5, True), "export the model in evaluation"),
        ("aten.round.decimals", (), "only rounding to whole numbers"),
        ("aten.index.Tensor", ([0, None, 0],), "dimensions that are not neighbours are not known"),
        ("aten.slice_scatter.default", (None, 0, 0, 4, 2), "known for steps of 1; got: 2"),
        ("aten.scatter_reduce.two", (0, None, None, "mean"), "got: mean, include_self=True"),
    ],
)
def test_what_rows_do_not_know(name: str, arguments: Any, message: str) -> None:
    row = find_row(name)
    assert row is not None
    keywords = {"decimals": 2} if "decimals" in name else {}
    out = TensorType((4, 5, 2, 3))
    with pytest.raises(ShardyError, match=message):
        build(lambda x: row(out, x, *arguments, **keywords), TensorType((4, 5, 5, 5)))


def test_rows_of_users_go_before_ours_by_overload_first() -> None:
    def other(out: Any, x: Any) -> Any:
        return ops.negate(x)

    register_aten("aten.relu", other)
    try:
        assert find_row("aten.relu.default") is other
        assert keeps_whole("aten.relu.default")
        register_aten("aten.relu.default")(ROWS["aten.tanh"])
        assert find_row("aten.relu.default") is ROWS["aten.tanh"]
    finally:
        unregister_aten("aten.relu")
        unregister_aten("aten.relu.default")
    assert find_row("aten.relu.default") is ROWS["aten.relu"]
    with pytest.raises(ShardyError, match=r"expected a name such as 'aten\.add'"):
        register_aten("relu", other)
