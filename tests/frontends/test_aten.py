"""Rows against torch: types of all, numbers where JAX is there to run them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Examples are made with torch, so they come behind that line.
# ruff: noqa: E402
from shardy_py import ShardyError
from shardy_py.frontends.aten import ROWS, find_row, keeps_whole, random, register_aten, unregister_aten
from shardy_py.frontends.aten.elements import element_of_torch
from shardy_py.frontends.builder import RankedTensorType, Tensor, build, ops
from shardy_py.frontends.torch.export import decomposed
from tests.frontends.aten_examples import Call, calls
from tests.frontends.run_stablehlo import interpreted, run

pytestmark = pytest.mark.torch

EMPTY = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty_strided")
WITHOUT_NUMBERS = {f"aten.{name}" for name in EMPTY}
"""Rows whose result may be anything."""

ON_GPUS = {name for name in ROWS if re.search("_(cudnn|efficient|flash)_attention(?!_for_cpu)", name)}
"""Rows of ops that torch lacks on CPUs (`test_aten_attention.py`)."""

DRAWN = {f"aten.{name}" for name in random.ROWS}
"""Rows of random numbers, which are not torch's."""

CHECKS = {
    name
    for name in ROWS
    if any(part in name for part in ("assert", "sym_constrain", "check_errors", "_local_scalar_dense"))
}
"""Rows without tensors as results; tested in `test_torch_control.py`."""

RUN_BY_INTERPRETER = {"aten._grouped_mm.default", "aten.frexp.Tensor"}
"""Ops that XLA has for accelerators only (`ragged-dot`), or whose denormal numbers it takes for 0 on CPUs."""

UP_TO_SIGNS = {"aten._linalg_eigh.default", "aten._linalg_svd.default", "aten.linalg_eig.default"}
"""Ops whose vectors are unique up to their signs."""

NEEDS_OTHERS = {name for name in ROWS if not name.startswith("aten.")}
"""Rows of ops that other modules or packages define; tested in `test_torch_others.py`."""


def op_of(name: str) -> Any:
    found = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def is_absent(name: str) -> bool:
    """Whether this version of torch lacks an op."""
    try:
        op_of(name)
    except AttributeError:
        return True
    return False


DECOMPOSED_BY_SOME = {"aten.resize_as"}
"""Ops that torch decomposes in some versions: 2.13, but not 2.14."""

OF_OTHER_VERSIONS = {name for name in ROWS if name.startswith("aten.") and is_absent(name)}
"""Rows of ops that other versions of torch have: `cholesky` until 2.13."""


def present_calls() -> list[Call]:
    return [each for each in calls() if not is_absent(each[0])]


def type_of(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(type_of(part) for part in value)
    return None if value is None else RankedTensorType(tuple(value.shape), element_of_torch(value.dtype))


def tensors_in(arguments: Any) -> list[Any]:
    if isinstance(arguments, dict):
        return tensors_in([*arguments.values()])
    if isinstance(arguments, list | tuple):
        return [tensor for part in arguments for tensor in tensors_in(part)]
    return [arguments] if isinstance(arguments, torch.Tensor) else []


def replaced(arguments: Any, tensors: list[Any]) -> Any:
    if isinstance(arguments, dict):
        return {key: replaced(part, tensors) for key, part in arguments.items()}
    if isinstance(arguments, list | tuple):
        return type(arguments)(replaced(part, tensors) for part in arguments)
    return tensors.pop(0) if isinstance(arguments, torch.Tensor) else arguments


def as_array(tensor: Any) -> Any:
    import ml_dtypes

    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    if tensor.dtype == torch.float8_e4m3fn:
        return tensor.view(torch.uint8).numpy().view(ml_dtypes.float8_e4m3fn)
    return tensor.detach().resolve_conj().numpy()


class Example:
    """One call: the program of its row, and what torch computes."""

    def __init__(self, name: str, arguments: Any, keywords: Any) -> None:
        self.name = name
        self.given = tensors_in([arguments, keywords])
        with torch.no_grad():
            found = op_of(name)(*arguments, **keywords)
        self.types = type_of(found)
        self.expected = list(found) if isinstance(found, tuple | list) else [found]
        self.known: list[int] = []
        row = find_row(name)
        assert row is not None

        def function(*tensors: Tensor) -> Any:
            positional, named = replaced([arguments, keywords], list(tensors))
            result = row(self.types, *positional, **named)
            results = result if isinstance(result, tuple | list) else [result]
            self.known = [i for i, tensor in enumerate(results) if tensor is not None]
            return [results[i] for i in self.known]

        self.program = build(function, *(type_of(tensor) for tensor in self.given))


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [Example(*call) for call in present_calls()]


def test_every_row_has_an_example_and_every_example_a_row(examples: list[Example]) -> None:
    names = {name for example in examples for name in (example.name, example.name.rsplit(".", 1)[0])}
    needed = set(ROWS) - WITHOUT_NUMBERS - CHECKS - NEEDS_OTHERS - ON_GPUS - OF_OTHER_VERSIONS
    assert needed <= names
    assert all(find_row(example.name) for example in examples)


NOT_EXPORTED = {"aten.geqrf.default"}
"""Ops of which torch.export does not know the types of results, in a module with other ops."""


def exported_calls() -> list[Call]:
    return [each for each in present_calls() if each[0] not in NOT_EXPORTED]


class All(torch.nn.Module):
    """Every example, one after the other."""

    def forward(self, tensors: list[Any]) -> list[Any]:
        left = list(tensors)
        return [
            op_of(name)(*replaced(arguments, left), **keywords)
            for name, arguments, keywords in exported_calls()
        ]


@pytest.mark.slow
def test_torch_leaves_every_op_that_has_a_row() -> None:
    """What torch decomposes in any case needs no row."""
    tensors = [tensor for _, arguments, _ in exported_calls() for tensor in tensors_in(arguments)]
    exported = torch.export.export(All(), (tensors,))
    targets = [str(node.target) for node in decomposed(exported).graph.nodes]
    left = {name for target in targets for name in (target, target.rsplit(".", 1)[0])}
    others = CHECKS | ON_GPUS | NEEDS_OTHERS | OF_OTHER_VERSIONS | DECOMPOSED_BY_SOME | {"aten.geqrf"}
    assert set(ROWS) - left <= WITHOUT_NUMBERS | others


def test_rows_give_the_types_that_torch_gives(examples: list[Example]) -> None:
    for example in examples:
        types = [type_of(example.expected[i]) for i in example.known]
        results = example.program.values.results()
        assert [(v.shape, v.element_type) for v in results] == [(t.shape, t.element_type) for t in types], (
            example.name
        )


@pytest.mark.parametrize(
    "compute", [interpreted, pytest.param(run, marks=pytest.mark.slow)], ids=["interpreted", "compiled"]
)
def test_rows_compute_what_torch_computes(examples: list[Example], compute: Callable[..., Any]) -> None:
    wrong = []
    for example in examples:
        if example.name.rsplit(".", 1)[0] in DRAWN:
            continue
        arrays = [as_array(tensor) for tensor in example.given]
        found = (interpreted if example.name in RUN_BY_INTERPRETER else compute)(example.program, arrays)
        for number, array in zip(example.known, found, strict=True):
            expected = as_array(example.expected[number])
            coarse = expected.dtype.name in ("bfloat16", "float16")
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            pair = [np.asarray(given, wide) for given in (array, expected)]
            close = np.allclose(
                *(map(np.abs, pair) if example.name in UP_TO_SIGNS else pair),
                rtol=1e-2 if coarse else 1e-5,
                atol=1e-2 if coarse else 1e-5,
                equal_nan=True,
            )
            if not close:
                wrong.append((example.name, number, array, expected))
    assert not wrong


def test_what_rows_do_not_know() -> None:
    row = find_row("aten.linalg_lu.default")
    assert row is not None
    type_ = RankedTensorType((4, 4))
    with pytest.raises(ShardyError, match="LU without pivots is unsupported"):
        build(lambda x: row((type_,) * 3, x, pivot=False)[1], type_)


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
