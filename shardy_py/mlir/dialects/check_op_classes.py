"""Declarations of the classes of check's ops, for type checkers, editors and `inspect.getsource`.

Generated from the rows of ops by `make docs`. The classes themselves are made from the rows when first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, DenseResourceAttr, FloatAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from shardy_py.mlir.text.xdsl_hooks import PrettyOp

__all__ = [
    "ExpectAlmostEqConstOp",
    "ExpectAlmostEqOp",
    "ExpectCloseOp",
    "ExpectEqConstOp",
    "ExpectEqOp",
    "ExpectSerializedEqOp",
]

if TYPE_CHECKING:

    class ExpectAlmostEqOp(PrettyOp):
        """`check.expect_almost_eq`."""

        lhs: SSAValue
        rhs: SSAValue
        tolerance: FloatAttr[AnyFloat] | None

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            tolerance: FloatAttr[AnyFloat] | float | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExpectAlmostEqConstOp(PrettyOp):
        """`check.expect_almost_eq_const`."""

        lhs: SSAValue
        value: DenseIntOrFPElementsAttr | DenseResourceAttr
        tolerance: FloatAttr[AnyFloat] | None

        def __init__(
            self,
            lhs: SSAValue | Operation,
            *,
            value: DenseIntOrFPElementsAttr | DenseResourceAttr,
            tolerance: FloatAttr[AnyFloat] | float | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExpectCloseOp(PrettyOp):
        """`check.expect_close`."""

        actual: SSAValue
        expected: SSAValue
        max_ulp_difference: IntegerAttr[IntegerType]
        min_ulp_difference: IntegerAttr[IntegerType] | None

        def __init__(
            self,
            actual: SSAValue | Operation,
            expected: SSAValue | Operation,
            *,
            max_ulp_difference: IntegerAttr[IntegerType] | int,
            min_ulp_difference: IntegerAttr[IntegerType] | int | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExpectEqOp(PrettyOp):
        """`check.expect_eq`."""

        lhs: SSAValue
        rhs: SSAValue

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExpectEqConstOp(PrettyOp):
        """`check.expect_eq_const`."""

        lhs: SSAValue
        value: DenseIntOrFPElementsAttr | DenseResourceAttr

        def __init__(
            self,
            lhs: SSAValue | Operation,
            *,
            value: DenseIntOrFPElementsAttr | DenseResourceAttr,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ExpectSerializedEqOp(PrettyOp):
        """`check.expect_serialized_eq`."""

        expected: SSAValue
        probe_id: StringAttr
        iteration: IntegerAttr[IntegerType] | None

        def __init__(
            self,
            expected: SSAValue | Operation,
            *,
            probe_id: StringAttr | str,
            iteration: IntegerAttr[IntegerType] | int | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

else:
    from shardy_py.mlir.dialects.check import OPS

    __getattr__ = OPS.class_named
