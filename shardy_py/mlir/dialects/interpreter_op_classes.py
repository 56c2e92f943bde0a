"""Declarations of the classes of interpreter's ops, for type checkers, editors and `inspect.getsource`.

Generated from the rows of ops by `make docs`. The classes themselves are made from the rows when first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, OpResult, Operation, SSAValue
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp

__all__ = [
    "PrintOp",
    "ProbeOp",
    "RunParallelOp",
]

if TYPE_CHECKING:

    class PrintOp(PrettyOp):
        """`interpreter.print`."""

        operand: SSAValue

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ProbeOp(PrettyOp):
        """`interpreter.probe`."""

        operand: SSAValue
        probe_id: StringAttr
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            probe_id: StringAttr | str,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RunParallelOp(DialectOp):
        """`interpreter.run_parallel`."""

        inputs: Sequence[SSAValue]
        infeed: ArrayAttr[Attribute] | None
        programs: ArrayAttr[Attribute]
        results_: Sequence[OpResult]

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            *,
            infeed: ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str] | None = None,
            programs: ArrayAttr[Attribute] | Sequence[ArrayAttr[Attribute] | Sequence[SymbolRefAttr | str]],
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

else:
    from shardy_py.mlir.dialects.interpreter import OPS

    __getattr__ = OPS.class_named
