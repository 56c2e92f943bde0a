"""Converts MLIR bytecode to text with jaxlib."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardy_py.errors import ShardyError

MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode (MLIR, Bytecode Format)."""


def is_bytecode(data: bytes) -> bool:
    """Whether `data` is MLIR bytecode, which includes StableHLO portable artifacts."""
    return data.startswith(MAGIC)


def text_of_bytecode(data: bytes) -> str:
    """Returns the text of a module with its locations.

    Raises:
        ShardyError: jaxlib is not installed, or cannot read the data.
    """
    try:
        jax_mlir: Any = import_module("jax._src.interpreters.mlir")
        ir: Any = import_module("jaxlib.mlir.ir")
        stablehlo: Any = import_module("jaxlib.mlir.dialects.stablehlo")
    except ImportError:
        remedy = "pip install jax, or pass the text instead"
        raise ShardyError.unsupported("MLIR bytecode without jaxlib", remedy=remedy) from None
    with jax_mlir.make_ir_context():
        try:
            try:
                module = stablehlo.deserialize_portable_artifact(ir.Context.current, data)
            except Exception:
                module = ir.Module.parse(data)
        except Exception as error:
            raise ShardyError(f"jaxlib cannot read this MLIR bytecode: {error}") from None
        return module.operation.get_asm(enable_debug_info=True)
