"""Hostile text: nothing crashes, hangs or eats memory; a diagnostic says where."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module

MANY = 100_000

REFUSED = {
    "regions": '"a.b"() ({' * MANY,
    "modules": "module {" * MANY,
    "complex types": '"a.b"() : () -> ' + "complex<" * MANY,
    "tuples": '"a.b"() : () -> (' + "tuple<" * MANY,
    "parentheses": '"a.b"() : () -> ' + "(" * MANY,
    "function types": '"a.b"() : () -> (' + "() -> (" * MANY,
    "arrays": '"a.b"() {a = ' + "[" * MANY,
    "dictionaries": '"a.b"() {a = ' + "{a = " * MANY,
    "dense lists": '"a.b"() {a = dense<' + "[" * MANY,
    "complex elements": '"a.b"() {a = dense<' + "(" * MANY,
    "affine parentheses": '"a.b"() {a = affine_map<(d0) -> (' + "(" * MANY,
    "affine sums": '"a.b"() {a = affine_map<(d0) -> ('
    + " + ".join(f"d0 mod {i}" for i in range(2, 5000))
    + ")>}",
    "locations": "module {} loc(" + "callsite(" * MANY,
    "ops of xDSL": "func.func @f(%a: i1) { " + "scf.if %a { " * 3000,
    "chains of aliases": "#a0 = 1\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, 5000)),
    "doubling aliases": "#a0 = 1\n" + "".join(f"#a{i} = [#a{i - 1}, #a{i - 1}]\n" for i in range(1, 100)),
    "doubling types": "!a0 = i1\n" + "".join(f"!a{i} = tuple<!a{i - 1}, !a{i - 1}>\n" for i in range(1, 100)),
    "huge integer": '"a.b"() {a = ' + "9" * 1_000_000 + "} : () -> ()",
    "huge element": '"a.b"() {a = dense<' + "9" * 1_000_000 + "> : tensor<i64>} : () -> ()",
    "huge dimension": '"a.b"() : () -> tensor<' + "9" * 1_000_000 + "xf32>",
    "huge width": '"a.b"() : () -> i' + "9" * 1_000_000,
    "huge result count": "%0:" + "9" * 1_000_000 + ' = "a.b"() : () -> ()',
    "empty but large": '"a.b"() {a = dense<> : tensor<1000000x1000000xf32>} : () -> ()',
    "open string": '"a.b"() {a = "' + "x" * 1_000_000,
    "open string of quotes": '"a.b"() {a = "' + '\\"' * 1_000_000,
    "spaces": " " * 3_000_000 + ";",
    "not UTF-8": '\udcff"a.b"() : () -> ()',
    "undefined values": '"a.b"('
    + ", ".join(f"%x{i}" for i in range(20_000))
    + ") : ("
    + "i32, " * 19_999
    + "i32) -> ()",
}

ACCEPTED = {
    "splat": '"a.b"() {a = dense<0.0> : tensor<1000000x1000000xf32>} : () -> ()',
    "blob of a splat": '"a.b"() {a = dense<"0x00000000"> : tensor<1000000x1000000xf32>} : () -> ()',
    "splat of another dialect": "%0 = arith.constant dense<0> : tensor<1000000x1000000xi64>",
    "opaque": '"a.b"() {a = #foo.bar' + "<" * MANY + ">" * MANY + "} : () -> ()",
    "wide integer": '"a.b"() {a = -1 : i16777215} : () -> ()',
    "long float": '"a.b"() {a = 1.' + "9" * 1_000_000 + "} : () -> ()",
    "NUL": 'module {\0\0 "a.b"() {a = "\0"} : () -> ()\0}',
    "bytes in a string": '"a.b"() {a = "\udcff\udcfe"} : () -> ()',
    "one line": '"a.b"() : () -> () ' * 4_000,
    "many results": '%0:20000 = "a.b"() : () -> (' + "i32, " * 19_999 + "i32)",
    "many arguments": '"a.b"() ({^bb0(' + ", ".join(f"%a{i}: i32" for i in range(5_000)) + "):}) : () -> ()",
    "many blocks": '"a.b"() ({"a.c"()[^b0] : () -> ()\n'
    + "".join(f'^b{i}:\n "a.c"()[^b{i}] : () -> ()\n' for i in range(1000))
    + "}) : () -> ()",
    "devices": 'sdy.mesh @m = <["a"=200000], device_ids=['
    + ", ".join(map(str, range(199_999, -1, -1)))
    + "]>",
    "axes": "sdy.mesh @m = <[" + ", ".join(f'"a{i}"=1' for i in range(20_000)) + "]>",
    "dimensions": '"a.b"() : () -> tensor<' + "1x" * 20_000 + "f32>",
    "symbols": '"a.b"() {a = @a' + "::@b" * 20_000 + "} : () -> ()",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_position(name: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_module(REFUSED[name], allow_unregistered=True)
    assert caught.value.diagnostics[0].where is not None


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    module = parse_module(ACCEPTED[name], allow_unregistered=True)
    printed = print_module(module)
    print_module(module, generic=True, debuginfo=True)
    assert print_module(parse_module(printed, allow_unregistered=True)) == printed


def test_splats_of_padding_are_not_expanded() -> None:
    module = parse_module(
        "func.func @f(%x: tensor<8xf32>, %i: tensor<f32>) {\n"
        '  %0 = "stablehlo.reduce_window"(%x, %i) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
        "    stablehlo.return %a : tensor<f32>\n"
        "  }) {padding = dense<0> : tensor<4294967296xi64>, window_dimensions = array<i64: 1>}"
        " : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>\n  return\n}"
    )
    with pytest.raises(ShardyError, match="2:8: error: expects at most 1048576 elements, but got a splat of"):
        verify_module(module)


def test_deepest_text_that_is_read_is_printed() -> None:
    depth = 99
    text = '"a.b"() ({\n' * depth + '"a.c"() : () -> ()\n' + "}) : () -> ()\n" * depth
    module = parse_module(text, allow_unregistered=True)
    for generic in (False, True):
        assert print_module(module, generic=generic, debuginfo=generic).count("a.b") == depth
    arrays = '"a.b"() {a = ' + "[" * 190 + "]" * 190 + "} : () -> ()"
    assert "[" * 190 in print_module(parse_module(arrays, allow_unregistered=True))
