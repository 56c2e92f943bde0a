"""Declarations of the classes of chlo's ops, for type checkers, editors and `inspect.getsource`.

Generated from the rows of ops by `make docs`. The classes themselves are made from the rows when first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TYPE_CHECKING
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, DenseResourceAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, OpResult, Operation, Region, SSAValue
from shardy_py.mlir.text.xdsl_hooks import DialectOp, PrettyOp
from shardy_py.mlir.dialects.chlo.attributes import ComparisonDirectionAttr, ComparisonTypeAttr, PrecisionAttr, RaggedDotDimensionNumbers, RaggedDotDimensionNumbersAttr

__all__ = [
    "AcosOp",
    "AcoshOp",
    "AsinAcosKernelOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "BesselI1eOp",
    "BroadcastAddOp",
    "BroadcastAndOp",
    "BroadcastAtan2Op",
    "BroadcastCompareOp",
    "BroadcastComplexOp",
    "BroadcastDivideOp",
    "BroadcastMaximumOp",
    "BroadcastMinimumOp",
    "BroadcastMultiplyOp",
    "BroadcastNextAfterOp",
    "BroadcastOrOp",
    "BroadcastPolygammaOp",
    "BroadcastPowerOp",
    "BroadcastRemainderOp",
    "BroadcastSelectOp",
    "BroadcastShiftLeftOp",
    "BroadcastShiftRightArithmeticOp",
    "BroadcastShiftRightLogicalOp",
    "BroadcastSubtractOp",
    "BroadcastXorOp",
    "BroadcastZetaOp",
    "ConjOp",
    "ConstantLikeOp",
    "ConstantOp",
    "CoshOp",
    "DigammaOp",
    "ErfInvOp",
    "ErfOp",
    "ErfcOp",
    "IsInfOp",
    "IsNegInfOp",
    "IsPosInfOp",
    "LgammaOp",
    "MulhiOp",
    "NextAfterOp",
    "PolygammaOp",
    "RaggedDotOp",
    "ScanOp",
    "SinhOp",
    "SquareOp",
    "TanOp",
    "TopKOp",
    "ZetaOp",
]

if TYPE_CHECKING:

    class AsinAcosKernelOp(PrettyOp):
        """`chlo._asin_acos_kernel`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AcosOp(PrettyOp):
        """`chlo.acos`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AcoshOp(PrettyOp):
        """`chlo.acosh`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AsinOp(PrettyOp):
        """`chlo.asin`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AsinhOp(PrettyOp):
        """`chlo.asinh`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AtanOp(PrettyOp):
        """`chlo.atan`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class AtanhOp(PrettyOp):
        """`chlo.atanh`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BesselI1eOp(PrettyOp):
        """`chlo.bessel_i1e`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConjOp(PrettyOp):
        """`chlo.conj`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class CoshOp(PrettyOp):
        """`chlo.cosh`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SinhOp(PrettyOp):
        """`chlo.sinh`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class SquareOp(PrettyOp):
        """`chlo.square`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TanOp(PrettyOp):
        """`chlo.tan`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class DigammaOp(PrettyOp):
        """`chlo.digamma`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ErfOp(PrettyOp):
        """`chlo.erf`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ErfInvOp(PrettyOp):
        """`chlo.erf_inv`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ErfcOp(PrettyOp):
        """`chlo.erfc`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class LgammaOp(PrettyOp):
        """`chlo.lgamma`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IsInfOp(PrettyOp):
        """`chlo.is_inf`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IsNegInfOp(PrettyOp):
        """`chlo.is_neg_inf`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class IsPosInfOp(PrettyOp):
        """`chlo.is_pos_inf`."""

        operand: SSAValue
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class NextAfterOp(PrettyOp):
        """`chlo.next_after`."""

        x: SSAValue
        y: SSAValue
        result: OpResult

        def __init__(
            self,
            x: SSAValue | Operation,
            y: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class PolygammaOp(PrettyOp):
        """`chlo.polygamma`."""

        n: SSAValue
        x: SSAValue
        result: OpResult

        def __init__(
            self,
            n: SSAValue | Operation,
            x: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ZetaOp(PrettyOp):
        """`chlo.zeta`."""

        x: SSAValue
        q: SSAValue
        result: OpResult

        def __init__(
            self,
            x: SSAValue | Operation,
            q: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastAddOp(PrettyOp):
        """`chlo.broadcast_add`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastMaximumOp(PrettyOp):
        """`chlo.broadcast_maximum`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastMinimumOp(PrettyOp):
        """`chlo.broadcast_minimum`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastAndOp(PrettyOp):
        """`chlo.broadcast_and`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastOrOp(PrettyOp):
        """`chlo.broadcast_or`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastXorOp(PrettyOp):
        """`chlo.broadcast_xor`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastMultiplyOp(PrettyOp):
        """`chlo.broadcast_multiply`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastAtan2Op(PrettyOp):
        """`chlo.broadcast_atan2`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastDivideOp(PrettyOp):
        """`chlo.broadcast_divide`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastNextAfterOp(PrettyOp):
        """`chlo.broadcast_next_after`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastPolygammaOp(PrettyOp):
        """`chlo.broadcast_polygamma`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastPowerOp(PrettyOp):
        """`chlo.broadcast_power`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastRemainderOp(PrettyOp):
        """`chlo.broadcast_remainder`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastSubtractOp(PrettyOp):
        """`chlo.broadcast_subtract`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastShiftLeftOp(PrettyOp):
        """`chlo.broadcast_shift_left`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastShiftRightArithmeticOp(PrettyOp):
        """`chlo.broadcast_shift_right_arithmetic`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastShiftRightLogicalOp(PrettyOp):
        """`chlo.broadcast_shift_right_logical`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastZetaOp(PrettyOp):
        """`chlo.broadcast_zeta`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastComplexOp(PrettyOp):
        """`chlo.broadcast_complex`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastCompareOp(PrettyOp):
        """`chlo.broadcast_compare`."""

        lhs: SSAValue
        rhs: SSAValue
        broadcast_dimensions: DenseArrayBase[IntegerType] | None
        comparison_direction: ComparisonDirectionAttr
        compare_type: ComparisonTypeAttr | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            broadcast_dimensions: DenseArrayBase[IntegerType] | Sequence[int] | None = None,
            comparison_direction: ComparisonDirectionAttr | Literal["EQ", "NE", "GE", "GT", "LE", "LT"],
            compare_type: ComparisonTypeAttr | Literal["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"] | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class BroadcastSelectOp(PrettyOp):
        """`chlo.broadcast_select`."""

        pred: SSAValue
        on_true: SSAValue
        on_false: SSAValue
        result: OpResult

        def __init__(
            self,
            pred: SSAValue | Operation,
            on_true: SSAValue | Operation,
            on_false: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class MulhiOp(PrettyOp):
        """`chlo.mulhi`."""

        lhs: SSAValue
        rhs: SSAValue
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            *,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConstantOp(PrettyOp):
        """`chlo.constant`."""

        value: DenseIntOrFPElementsAttr | DenseResourceAttr
        output: OpResult

        def __init__(
            self,
            *,
            value: DenseIntOrFPElementsAttr | DenseResourceAttr,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ConstantLikeOp(DialectOp):
        """`chlo.constant_like`."""

        operand: SSAValue
        value: Attribute
        result: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            value: Attribute,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class RaggedDotOp(DialectOp):
        """`chlo.ragged_dot`."""

        lhs: SSAValue
        rhs: SSAValue
        group_sizes: SSAValue
        ragged_dot_dimension_numbers: RaggedDotDimensionNumbersAttr
        precision_config: ArrayAttr[Attribute] | None
        result: OpResult

        def __init__(
            self,
            lhs: SSAValue | Operation,
            rhs: SSAValue | Operation,
            group_sizes: SSAValue | Operation,
            *,
            ragged_dot_dimension_numbers: RaggedDotDimensionNumbersAttr | RaggedDotDimensionNumbers | Mapping[str, object],
            precision_config: ArrayAttr[Attribute] | Sequence[PrecisionAttr | Literal["DEFAULT", "HIGH", "HIGHEST"]] | None = None,
            result_types: Sequence[Attribute],
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class ScanOp(PrettyOp):
        """`chlo.scan`."""

        inputs: Sequence[SSAValue]
        inits: Sequence[SSAValue]
        dimension: IntegerAttr[IntegerType]
        scan_dim_size: IntegerAttr[IntegerType] | None
        is_reverse: IntegerAttr[IntegerType] | None
        is_associative: IntegerAttr[IntegerType] | None
        outputs: Sequence[OpResult]
        carries: Sequence[OpResult]
        body: Region

        def __init__(
            self,
            inputs: Sequence[SSAValue | Operation],
            inits: Sequence[SSAValue | Operation],
            *,
            dimension: IntegerAttr[IntegerType] | int,
            scan_dim_size: IntegerAttr[IntegerType] | int | None = None,
            is_reverse: IntegerAttr[IntegerType] | bool | None = None,
            is_associative: IntegerAttr[IntegerType] | bool | None = None,
            body: Region,
            result_types: Sequence[Sequence[Attribute]] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

    class TopKOp(PrettyOp):
        """`chlo.top_k`."""

        operand: SSAValue
        k: IntegerAttr[IntegerType]
        is_stable: IntegerAttr[IntegerType] | None
        values: OpResult
        indices: OpResult

        def __init__(
            self,
            operand: SSAValue | Operation,
            *,
            k: IntegerAttr[IntegerType] | int,
            is_stable: IntegerAttr[IntegerType] | bool | None = None,
            result_types: Sequence[Attribute] | None = None,
            attributes: Mapping[str, Attribute] | None = None,
        ) -> None: ...

else:
    from shardy_py.mlir.dialects.chlo import OPS

    __getattr__ = OPS.class_named
