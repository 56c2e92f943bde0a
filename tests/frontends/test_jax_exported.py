"""Functions of `jax.export`: as they are, modules for older versions of StableHLO, and serialized whole."""

from __future__ import annotations

import random
import struct
from importlib.metadata import version
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax import export
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as JaxP

from shardy_py import Program, ShardyError, propagate
from shardy_py.base import releases
from shardy_py.base.bytecode import exported_module
from shardy_py.frontends.jax import propagate_function

MESH = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


@pytest.fixture(scope="module")
def exported() -> Any:
    def dense(x: Any, w: Any) -> Any:
        return {"y": jnp.tanh(x @ w)}

    def array(*spec: Any) -> Any:
        return jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=NamedSharding(MESH, JaxP(*spec)))

    return export.export(jax.jit(dense), platforms=("cpu", "tpu"))(array("x"), array(None, "y"))


def serialized(module: bytes) -> bytes:
    """A flatbuffer whose root table has the module as its second field; the first is absent."""
    table = struct.pack("<HHHH", 8, 8, 0, 4) + struct.pack("<iI", 8, 4)
    return struct.pack("<I", 12) + table + struct.pack("<I", len(module)) + module


def shown(program: Program) -> list[tuple[str, str]]:
    boundary = (*program.values.arguments(), *program.values.results())
    return [(value.label, str(value.sharding)) for value in boundary if value.label]


def test_all_forms_are_the_same_program(exported: Any) -> None:
    module = bytes(exported.mlir_module_serialized)
    installed = releases.installed(version("jaxlib"))[0]
    texts: set[str] = set()
    for program in (
        Program.from_jax(exported),
        Program.parse(module),
        Program.parse(serialized(module)),
    ):
        assert program.release is installed
        assert program.taken.is_compiled
        assert [label for label, _ in shown(program)] == ["x", "w", "result['y']"]
        assert propagate(program)["result['y']"].sharding is not None
        texts.add(program.text())
    assert len(texts) == 1


@pytest.mark.parametrize("convention", [9, 10])
def test_calling_conventions(convention: int) -> None:
    if convention > export.maximum_supported_calling_convention_version:
        pytest.skip(f"this JAX has no calling convention {convention}")
    before = jax.config.jax_export_calling_convention_version
    jax.config.update("jax_export_calling_convention_version", convention)
    try:
        made = export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((8,), jnp.float32))
    finally:
        jax.config.update("jax_export_calling_convention_version", before)
    assert [value.label for value in Program.from_jax(made).values.arguments()] == ["x"]


@pytest.mark.parametrize("target", ["0.9.0", "1.0.0", "1.12.0", "current"])
def test_targets_of_older_versions_are_read_and_tell_no_release(target: str, exported: Any) -> None:
    """Which release wrote for an old version is not certain: it is taken to the newest."""
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context():
        module = ir.Module.parse(exported.mlir_module())
        wanted = stablehlo.get_current_version() if target == "current" else target
        data = _jax.mlir.serialize_portable_artifact(module, wanted, True)
    program = Program.parse(bytes(data))
    assert program.release is releases.NEWEST
    assert [str(value.sharding) for value in program.values.arguments()][1:] == [
        '<@mesh, [{"x"}, {}]>',
        '<@mesh, [{}, {"y"}]>',
    ]


def test_arguments_are_given_once(exported: Any) -> None:
    with pytest.raises(ShardyError, match=r"arguments for the result of `jax\.export\.export\(\.\.\.\)`"):
        Program.from_jax(exported, 1)
    with pytest.raises(ShardyError, match=r"Exported: .*; pass its \.call with arguments"):
        propagate_function(exported)


def test_damaged_buffers_never_crash() -> None:
    whole, chance = serialized(b"ML\xefR" + bytes(20)), random.Random(3)
    assert exported_module(whole) == whole[24:]
    for length in range(len(whole)):
        assert exported_module(whole[:length]) in (None, whole[24:length])
    for _ in range(500):
        damaged = bytearray(whole)
        damaged[chance.randrange(24)] = chance.randrange(256)
        exported_module(bytes(damaged))
