"""Result types are those that StableHLO's own inference gives; what is built is sound to its verifier.

The C++ in jaxlib reads each program, and makes each op again without being told its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.api import ShardyError
from shardy_py.frontends import builder
from shardy_py.frontends.builder import build, ops, tensor
from tests.conftest import Reference, examples
from tests.frontends.builder import test_builder, test_more_ops

EXAMPLES = {
    text: (function, types)
    for function, types, text in (*test_builder.EXAMPLES, *test_more_ops.EXAMPLES)
    if "collective_reduce" not in text  # newer than jaxlib
}
Case = tuple[Callable[..., Any], tuple[Any, ...]]


@pytest.fixture(scope="module")
def context(reference: Reference) -> Any:
    """One context for all programs."""
    return reference.context()


def _check(reference: Reference, context: Any, function: Callable[..., Any], types: tuple[Any, ...]) -> int:
    """How many ops C++ has inferred as they are; raises where it refuses the program or infers otherwise."""

    def whole(*tensors: Any) -> None:
        function(*tensors)

    text = build(whole, *types).text()
    ir, inferred = reference.ir, 0
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        for op in list(_ops(module.operation)):
            if op.name.startswith("stablehlo.") and len(op.results) and not len(op.regions):
                inferred += _is_inferred(ir, op)
    return inferred


def _is_inferred(ir: Any, op: Any) -> bool:
    attributes = {name: op.attributes[name] for name in op.attributes}
    try:
        with ir.InsertionPoint(op):
            again = ir.Operation.create(
                op.name, operands=list(op.operands), attributes=attributes, infer_type=True
            )
    except ir.MLIRError as error:
        if "does not support type inference" not in str(error):
            raise
        return False
    assert [str(result.type) for result in again.results] == [str(result.type) for result in op.results]
    return True


def _ops(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _ops(inner.operation)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, reference: Reference, context: Any) -> None:
    _check(reference, context, *EXAMPLES[name])


# ---------------------------------------------------------------------------- random ops


def _shape(random: Random, least: int = 0, *, dynamic: bool = False) -> tuple[Any, ...]:
    sizes = (None, 0, 1, 2, 3, 5, 8) if dynamic else (0, 1, 2, 3, 5, 8)
    return tuple(random.choice(sizes) for _ in range(random.randint(least, 4)))


def _window(random: Random, shape: tuple[int, ...]) -> dict[str, Any]:
    given = {
        "window_strides": [random.randint(1, 3) for _ in shape],
        "window_dilations": [random.randint(1, 3) for _ in shape],
        "base_dilations": [random.randint(1, 3) for _ in shape],
        "padding": [(random.randint(-1, 3), random.randint(-1, 3)) for _ in shape],
    }
    return {name: value for name, value in given.items() if random.random() < 0.5}


def _slice(random: Random) -> Case:
    shape = _shape(random, dynamic=True)
    start = [random.randint(0, size or 0) for size in shape]
    limit = [random.randint(low, 9 if size is None else size) for low, size in zip(start, shape, strict=True)]
    strides = [random.randint(1, 3) for _ in shape]
    return lambda x: ops.slice_(x, start, limit, strides), (tensor(shape),)


def _pad(random: Random) -> Case:
    shape = _shape(random, dynamic=True)
    low, high = ([random.randint(-1, 3) for _ in shape] for _ in range(2))
    interior = [random.randint(0, 3) for _ in shape]
    return lambda x: ops.pad(x, 0, low, high, interior), (tensor(shape),)


def _concatenate(random: Random) -> Case:
    shape = _shape(random, 1)
    along = random.randrange(len(shape))
    parts = [
        tuple(_blurred(random, n) if i != along else random.choice((None, 0, 4)) for i, n in enumerate(shape))
        for _ in range(random.randint(1, 3))
    ]
    return lambda *x: ops.concatenate(x, along - len(shape)), tuple(map(tensor, parts))


def _blurred(random: Random, size: int) -> int | None:
    return None if random.random() < 0.3 else size


def _add(random: Random) -> Case:
    shape = _shape(random)
    types = [tensor([_blurred(random, size) for size in shape]) for _ in range(2)]
    return lambda x, y: builder.emit("add", x, y), tuple(types)


def _transpose(random: Random) -> Case:
    shape = _shape(random, dynamic=True)
    order = random.sample(range(len(shape)), len(shape))
    return lambda x: ops.transpose(x, order), (tensor(shape),)


def _reduce_window(random: Random) -> Case:
    shape = _shape(random)
    sizes = [random.randint(1, 4) for _ in shape]
    options = _window(random, shape)
    return lambda x: builder.reduce_window((x,), (0,), ops.add, sizes, **options), (tensor(shape),)


def _dot_general(random: Random) -> Case:
    sizes = [random.choice((1, 2, 3, 5)) for _ in range(4)]
    batch = random.randint(0, 2)
    orders = [random.sample(range(4), 4) for _ in range(2)]
    shared = range(batch + 1)
    dims = [[order.index(i) for i in shared] for order in orders]
    shapes = [tuple(_blurred(random, sizes[i]) if i in shared else 7 for i in order) for order in orders]
    return (
        lambda x, y: builder.dot_general(x, y, ([dims[0][0]], [dims[1][0]]), (dims[0][1:], dims[1][1:])),
        tuple(map(tensor, shapes)),
    )


def _convolution(random: Random) -> Case:
    shape, kernel = (2, *[random.randint(0, 9) for _ in range(2)], 6), (3, 2, 3, 4)
    options = _window(random, shape[1:3])
    names = {"base_dilations": "lhs_dilation", "window_dilations": "rhs_dilation"}
    options = {names.get(name, name): value for name, value in options.items()}
    return (
        lambda x, k: builder.convolution(x, k, test_builder.CONV, feature_group_count=2, **options),
        (tensor(shape), tensor(kernel)),
    )


def _take(random: Random) -> Case:
    return ops.take, (tensor((8, *_shape(random))), tensor(_shape(random, dynamic=True), "i32"))


def _set_dimension_size(random: Random) -> Case:
    shape = _shape(random, 1)
    at, size = random.randrange(len(shape)), random.randint(0, 5)
    return lambda x: ops.tanh(ops.set_dimension_size(x, ops.constant(size, "i32"), at)), (tensor(shape),)


CASES = (
    *(_add, _concatenate, _convolution, _dot_general, _pad, _reduce_window),
    *(_set_dimension_size, _slice, _take, _transpose),
)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_random_ops(make: Callable[[Random], Case], reference: Reference, context: Any) -> None:
    built = inferred = 0

    @settings(max_examples=examples(60), deadline=None)
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        nonlocal built, inferred
        try:
            inferred += _check(reference, context, *make(random))
        except ShardyError:
            return
        built += 1

    run()
    assert built > 10
    assert inferred >= built or make in (_convolution, _dot_general, _reduce_window)
