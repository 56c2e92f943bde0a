"""Random valid ops print as the reference prints them, pretty and generic, and read back as themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardy_py.mlir.dialects import parse_module, print_module
from tests.conftest import examples

Draw = Callable[[Any], Any]
FLOATS = ["f32", "f64", "bf16", "f16", "f8E4M3FN", "f8E5M2", "f4E2M1FN"]
INTEGERS = ["i8", "i32", "i64", "ui8", "ui32", "i4", "ui2"]
COMPLEX = ["complex<f32>", "complex<f64>"]


def tensor(shape: list[int], element: str) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def shapes(draw: Draw, low: int = 0, high: int = 4) -> list[int]:
    return draw(st.lists(st.integers(1, 6), min_size=low, max_size=high))


def discardable(draw: Draw) -> str:
    return draw(st.sampled_from(["", "", " {note}", ' {a.b = [1, 2.5, "x"], mhlo.frontend_attributes = {}}']))


def listed(values: list[Any]) -> str:
    return f"[{', '.join(map(str, values))}]"


def in_function(op: str, *types: str) -> str:
    arguments = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(types))
    return f"func.func @f({arguments}) {{\n  {op}\n  return\n}}\n"


def elementwise(draw: Draw) -> str:
    name = draw(st.sampled_from(["add", "multiply", "maximum", "subtract", "power", "divide"]))
    type_ = tensor(shapes(draw), draw(st.sampled_from(FLOATS + INTEGERS)))
    return in_function(f"%0 = stablehlo.{name} %a0, %a1{discardable(draw)} : {type_}", type_, type_)


def compare(draw: Draw) -> str:
    element = draw(st.sampled_from(FLOATS + INTEGERS))
    shape = shapes(draw)
    direction = draw(st.sampled_from(["EQ", "NE", "GE", "GT", "LE", "LT"]))
    own = ["FLOAT", "TOTALORDER"] if element in FLOATS else ["UNSIGNED" if element[0] == "u" else "SIGNED"]
    kind = draw(st.sampled_from(["", *(f", {word}" for word in own)]))
    type_, result = tensor(shape, element), tensor(shape, "i1")
    op = f"%0 = stablehlo.compare {direction}, %a0, %a1{kind}{discardable(draw)}"
    return in_function(f"{op} : ({type_}, {type_}) -> {result}", type_, type_)


def constant(draw: Draw) -> str:
    element = draw(st.sampled_from(["f32", "f64", "bf16", "i32", "ui8", "i1", "complex<f32>"]))
    shape = shapes(draw, 0, 3)
    number: Any = st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda v: f"{v:.17e}")
    if element == "i1":
        number = st.sampled_from(["true", "false"])
    elif element[0] in "iu":
        number = st.integers(0, 127).map(str)
    elif element[0] == "c":
        number = st.tuples(number, number).map(lambda pair: f"({pair[0]},{pair[1]})")

    def nested(sizes: list[int]) -> str:
        return listed([nested(sizes[1:]) for _ in range(sizes[0])]) if sizes else draw(number)

    return in_function(f"%0 = stablehlo.constant dense<{nested(shape)}> : {tensor(shape, element)}")


def slice_(draw: Draw) -> str:
    shape = shapes(draw)
    ranges: list[str] = []
    result: list[int] = []
    for size in shape:
        start = draw(st.integers(0, size - 1))
        limit = draw(st.integers(start, size))
        stride = draw(st.integers(1, 3))
        ranges.append(f"{start}:{limit}" + (f":{stride}" if stride > 1 or draw(st.booleans()) else ""))
        result.append(-(-(limit - start) // stride))
    type_ = tensor(shape, "f32")
    op = (
        f"%0 = stablehlo.slice %a0 {listed(ranges)}{discardable(draw)} : ({type_}) -> {tensor(result, 'f32')}"
    )
    return in_function(op, type_)


def pad(draw: Draw) -> str:
    shape = shapes(draw)
    low, high, interior = ([draw(st.integers(0, 3)) for _ in shape] for _ in range(3))
    sizes = zip(shape, low, high, interior, strict=True)
    result = tensor([size + a + b + (size - 1) * c for size, a, b, c in sizes], "f32")
    type_ = tensor(shape, "f32")
    op = (
        f"%0 = stablehlo.pad %a0, %a1, low = {listed(low)}, high = {listed(high)},"
        f" interior = {listed(interior)} : ({type_}, tensor<f32>) -> {result}"
    )
    return in_function(op, type_, "tensor<f32>")


def transpose(draw: Draw) -> str:
    shape = shapes(draw)
    order = draw(st.permutations(range(len(shape))))
    type_, result = tensor(shape, "i64"), tensor([shape[d] for d in order], "i64")
    return in_function(f"%0 = stablehlo.transpose %a0, dims = {listed(order)} : ({type_}) -> {result}", type_)


def dot_general(draw: Draw) -> str:
    batch, contracted, left, right = (shapes(draw, 0, 2) for _ in range(4))
    bound = len(batch + contracted)
    sides: list[tuple[list[int], list[int], list[int]]] = []
    result = list(batch)
    for free in (left, right):
        sizes = batch + contracted + free
        order = draw(st.permutations(range(len(sizes))))
        where = [order.index(i) for i in range(bound)]
        sides.append(([sizes[i] for i in order], where[: len(batch)], where[len(batch) :]))
        result += [sizes[i] for i in order if i >= bound]
    (shape_a, batch_a, contract_a), (shape_b, batch_b, contract_b) = sides
    text = f"batching_dims = {listed(batch_a)} x {listed(batch_b)}, " if batch else ""
    text += f"contracting_dims = {listed(contract_a)} x {listed(contract_b)}"
    words = st.sampled_from(["DEFAULT", "HIGH", "HIGHEST"])
    text += draw(st.sampled_from(["", f", precision = [{draw(words)}, {draw(words)}]"]))
    a, b = tensor(shape_a, "f32"), tensor(shape_b, "f32")
    op = f"%0 = stablehlo.dot_general %a0, %a1, {text}{discardable(draw)}"
    return in_function(f"{op} : ({a}, {b}) -> {tensor(result, 'f32')}", a, b)


def convolution(draw: Draw) -> str:
    rank = draw(st.integers(0, 3))
    labels = [draw(st.permutations([first, second, *range(rank)])) for first, second in ("bf", "io", "bf")]
    sizes: list[dict[Any, int]] = [{"b": 2, "f": 3}, {"i": 3, "o": 5}, {"b": 2, "f": 5}]
    strides, low, high, reverse = ([draw(st.integers(0, 2)) for _ in range(rank)] for _ in range(4))
    for d in range(rank):
        strides[d] += 1
        sizes[0][d], sizes[1][d] = 8, 3
        sizes[2][d] = (8 + low[d] + high[d] - 3) // strides[d] + 1
    parts = {
        "stride": listed(strides),
        "pad": listed([listed(pair) for pair in zip(low, high, strict=True)]),
        "rhs_dilate": listed([1] * rank),
        "reverse": listed([str(value > 1).lower() for value in reverse]),
    }
    window = ", ".join(
        f"{name} = {text}"
        for name, text in parts.items()
        if (rank and name in ("stride", "pad")) or draw(st.booleans())
    )
    dims = "x".join(map(listed, labels[:2])) + "->" + listed(labels[2])
    a, b, result = (
        tensor([size[label] for label in order], "f32") for size, order in zip(sizes, labels, strict=True)
    )
    op = (
        f"%0 = stablehlo.convolution(%a0, %a1) dim_numbers = {dims}, window = {{{window}}}"
        f" {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({a}, {b}) -> {result}"
    )
    return in_function(op, a, b)


def reduce(draw: Draw) -> str:
    shape = shapes(draw, 1)
    dimensions = draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    name = draw(st.sampled_from(["add", "multiply", "maximum", "minimum", "subtract"]))
    first, second = draw(st.sampled_from([("%x", "%y"), ("%y", "%x"), ("%x", "%x")]))
    element = draw(st.sampled_from([*FLOATS[:4], *COMPLEX]))
    if element in COMPLEX:
        name = "add"
    type_, scalar = tensor(shape, element), tensor([], element)
    result = tensor([size for d, size in enumerate(shape) if d not in dimensions], element)
    op = (
        f"%0 = stablehlo.reduce(%a0 init: %a1) across dimensions = {listed(sorted(dimensions))}"
        f"{discardable(draw)} : ({type_}, {scalar}) -> {result} reducer(%x: {scalar}, %y: {scalar}) {{\n"
        f"    %1 = stablehlo.{name} {first}, {second} : {scalar}\n    stablehlo.return %1 : {scalar}\n  }}"
    )
    return in_function(op, type_, scalar)


def accuracy(draw: Draw) -> str:
    numbers = [f"{name} = {draw(st.floats(0, 1)):.6e}, " for name in ("atol", "rtol") if draw(st.booleans())]
    numbers += draw(st.sampled_from([[], ["ulps = 3, "]]))
    mode = "TOLERANCE" if numbers else draw(st.sampled_from(["DEFAULT", "HIGHEST", "TOLERANCE"]))
    attribute = f"<{''.join(numbers)}mode = #stablehlo.result_accuracy_mode<{mode}>>"
    op = f"%0 = stablehlo.tanh %a0 {{result_accuracy = #stablehlo.result_accuracy{attribute}}} : tensor<f32>"
    return in_function(op, "tensor<f32>")


def custom_call(draw: Draw) -> str:
    given = [
        text
        for text in (
            "api_version = 1 : i32",
            "backend_config = " + draw(st.sampled_from(['""', '"a\\22\\0A\\C3"', "{x = 1 : i64}"])),
            "called_computations = []",
            f"has_side_effect = {draw(st.sampled_from(['true', 'false']))}",
            "output_operand_aliases = []",
        )
        if draw(st.booleans())
    ]
    if any("{" in text for text in given):
        given = [text.replace("= 1 : i32", "= 4 : i32") for text in given]
        given += [] if any("api" in text for text in given) else ["api_version = 4 : i32"]
    name = draw(st.sampled_from(["@target", '@"a b"', '@"0x"', "@a.b$c"]))
    op = f"%0:2 = stablehlo.custom_call {name}(%a0) {{{', '.join(given)}}}"
    return in_function(f"{op} : (tensor<f32>) -> (tensor<f32>, tensor<2xi1>)", "tensor<f32>")


FAMILIES = [
    elementwise,
    compare,
    constant,
    slice_,
    pad,
    transpose,
    dot_general,
    convolution,
    reduce,
    accuracy,
    custom_call,
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(data=st.data())
def test_random_op(family: Callable[[Draw], str], data: st.DataObject, reference: Any) -> None:
    text = family(data.draw)
    module = parse_module(text)
    for generic in (False, True):
        expected = reference.run(text, generic=generic)
        assert print_module(module, generic=generic) == expected
        assert print_module(parse_module(expected), generic=generic) == expected
