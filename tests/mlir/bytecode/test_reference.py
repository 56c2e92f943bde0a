"""What jaxlib writes, in each version of the format and of VHLO, read here and by jaxlib."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shardy_py.mlir.bytecode import read_bytecode
from shardy_py.mlir.dialects import parse_module, print_module

FILES = (
    *("stablehlo/control.mlir", "stablehlo/contraction.mlir", "stablehlo/reduction.mlir"),
    *("stablehlo/collectives.mlir", "stablehlo/movement.mlir", "stablehlo/elementwise.mlir", "chlo/ops.mlir"),
)
TARGETS = ("0.9.0", "1.0.0", "current")

ATTRIBUTES = (
    *(
        "f8E5M2",
        "tf32",
        "vector<[4]x2xf32>",
        "memref<4x?xf32, strided<[1,?], offset: 3>>",
        "memref<*xf32, 3>",
    ),
    *(
        "dense<[true,false,true]> : tensor<3xi1>",
        "dense<true> : tensor<9xi1>",
        "dense<[[1,-2]]> : tensor<1x2xi4>",
    ),
    *(
        "dense<> : tensor<0xi1>",
        "dense_resource<foo> : tensor<3xf32>",
        "affine_map<(d0)[s0]->(d0 mod 4 + s0)>",
    ),
    *("affine_set<(d0)[s0]: (d0 >= 0, s0 - d0 == 0)>", "@a::@b::@c", "0x7FC00001 : f32", "1.5 : f80"),
    *(
        "-1 : i128",
        "255: ui8",
        "-5 : si16",
        "3 : index",
        "array<i1: true,false>",
        '"a" : i32',
        "(i32) -> f32",
    ),
    *("tuple<i1, complex<f32>>", 'loc(fused<1>["a", "b.py":1:2])', 'loc(callsite("f" at unknown))'),
)
"""Attributes and types of MLIR itself."""


def written(module: Any, version: int) -> bytes:
    output = io.BytesIO()
    module.operation.write_bytecode(output, desired_version=version)
    return output.getvalue()


def expected(module: Any) -> str:
    return print_module(parse_module(module.operation.get_asm(enable_debug_info=True)), debuginfo=True)


def read(data: bytes) -> str:
    return print_module(read_bytecode(data), debuginfo=True)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attributes(attribute: str) -> None:
    with mlir.make_ir_context():
        module: Any = ir.Module.parse(f"module attributes {{test.a = {attribute}}} {{}}")
        for version in (0, 6):
            assert read(written(module, version)) == expected(module)


@pytest.mark.parametrize("name", FILES)
def test_programs(root: Path, name: str) -> None:
    text = (root / "filecheck" / "dialects" / name).read_text().partition("// -----")[0]
    made: Any = ir.Module
    with mlir.make_ir_context() as context:
        for version in (0, 4, 5, 6):
            module = made.parse(text)
            assert read(written(module, version)) == expected(module)
        for target in TARGETS:
            asked = stablehlo.get_current_version() if target == "current" else target
            writer: Any = _jax.mlir
            try:
                data = writer.serialize_portable_artifact(made.parse(text), asked, target == "current")
            except Exception:
                continue  # the version lacks an op
            assert read(data) == expected(stablehlo.deserialize_portable_artifact(context, data))
