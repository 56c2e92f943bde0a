"""How literals are read, and aliases numbered, in each release of the reference."""

from __future__ import annotations

import copy
import pickle

import pytest

from shardy_py.base import releases
from shardy_py.mlir.dialects import parse_module, print_module
from tests.differential.reference_process import ReferenceProcess

HALF_WAY = "1.0000000596046447753906250000000001"
"""More than half way from 1 to the next f32, by less than f64 tells apart."""

LITERALS = (
    f"{HALF_WAY} : f32",
    "1.00048828125000000000000000000000001 : f16",
    "-1.00390625000000000000000000000001 : bf16",
    "1.0625000000000000000000000000000000001 : f8E4M3FN",
    f"dense<[{HALF_WAY}, 1.0]> : tensor<2xf32>",
    f"dense<({HALF_WAY}, -1.0)> : tensor<complex<f32>>",
    f"array<f32: {HALF_WAY}>",
    "0.1 : f80",
    "-0.1 : f128",
    "dense<[1.0, 0.3]> : tensor<2xf80>",
    "dense<(0.1, -0.1)> : tensor<2xcomplex<f128>>",
    *("1.0e400 : f80", "1.0e400 : f64", "1.0e5000 : f128", "1.0e40 : f32", "500.0 : f8E4M3FN"),
    *("1.0e-400 : f128", "3.0e-4950 : f80", "-1.0e-50 : f32", "1.0e-99999999999999999999 : f80"),
    *("0x3FFBCCCCCCCCCCCCCCCD : f80", "0x7FFF8000000000000000 : f80", "-0.0 : bf16", "0.0 : f8E8M0FNU"),
)


@pytest.mark.parametrize("text", LITERALS)
def test_literals(text: str, process: ReferenceProcess) -> None:
    program = f"module attributes {{a.b = {text}}} {{\n}}\n"
    assert print_module(parse_module(program)) == process.output(program)


@pytest.mark.parametrize(
    ("release", "bits", "wide"),
    [("0.10", "0x3F80", "0.100000000000000005551 : f80"), ("0.12", "0x3F81", "1.000000e-01 : f80")],
)
def test_literals_without_the_reference(release: str, bits: str, wide: str) -> None:
    text = f"module attributes {{a.b = [1.00390625000000000000001 : bf16, {bits} : bf16, 0.1 : f80]}} {{}}"
    with releases.of(release):
        module = parse_module(text)
    first, second, third = module.attributes["a.b"]
    assert first == second
    assert wide in print_module(module)
    assert (copy.deepcopy(third), pickle.loads(pickle.dumps(third))) == (third, third)


def test_long_literals_count_to_the_last_digit() -> None:
    text = "module attributes {{a.b = dense<[1.00390625{zeros}{last}, 1.0]> : tensor<2xbf16>}} {{}}"
    with releases.of("0.12"):
        half, more = (parse_module(text.format(zeros="0" * 100_000, last=last)) for last in ("0", "1"))
    assert "1.007810e+00" in print_module(more)
    assert "1.007810e+00" not in print_module(half)


ALIASES = """
module attributes {z.z = affine_map<(d0)->(d0+4)>} {
  func.func @f(%x: tensor<2xf32> {a.k = affine_map<(d0)->(d0+1)>})
      -> (tensor<2xf32> {a.j = affine_map<(d0)->(d0+2)>})
      attributes {b.l = affine_map<(d0)->(d0+3)>, z.b = affine_map<(d0)->(d0+5)>} {
    %0 = stablehlo.custom_call @f(%x) {api_version = 4 : i32,
      backend_config = {q = affine_map<(d0)->(d0+6)>}, a.a = affine_map<(d0)->(d0+7)>,
      x.a = affine_map<(d0)->(d0+8)>} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""


def test_aliases_in_generic_form(process: ReferenceProcess) -> None:
    module = parse_module(ALIASES)
    assert print_module(module, generic=True) == process.output(ALIASES, generic=True)
    assert print_module(module) == process.output(ALIASES)


@pytest.mark.parametrize(("release", "order"), [("0.10", "76813254"), ("0.12", "78635124")])
def test_aliases_without_the_reference(release: str, order: str) -> None:
    with releases.of(release):
        text = print_module(parse_module(ALIASES), generic=True)
    head = text.partition('"builtin')[0]
    assert "".join(line[-3] for line in head.splitlines()) == order
