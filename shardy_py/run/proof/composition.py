"""Composition of proofs: a local program is made of the computations that proofs of single ops are about.

Values of the local program that stand for values of the whole one cut it into pieces. A piece is all that is
computed from some of these values to the next one. Each op of the whole program was partitioned alone and
proven; if every piece of the local program is also one of these, equal in ops, attributes, types and
shardings, then by induction over the program each such value is right if those before it are:

    known.update(piece for _, piece in Pieces(case, numbers).all())     of the programs of single ops
    Composition.of(case, known, numbers).left                           pieces that none of them has

Edges of loops, conditionals and calls connect values that stand for connected values with one sharding.
Not here: the pieces (`pieces.py`), the proofs (`signatures.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.data_flow import edge_owners, edge_targets, source_values
from shardy_py.mlir.dialects.traits import data_flow, is_constant
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.dense import element_size, elements_type, is_splat
from shardy_py.mlir.typed import of_kind
from shardy_py.ops import Control
from shardy_py.ops.table import TABLE
from shardy_py.run.proof.case import Case, results_of
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.run.proof.pieces import Numbers, Piece, Pieces, axes_of, is_control


@dataclass(frozen=True, slots=True)
class Composition:
    """How a local program is made of proven pieces.

    pieces: their number. left: ops with a piece that was not proven, or with edges between values that do not
    correspond.
    """

    pieces: int
    left: tuple[str, ...]

    @staticmethod
    def of(case: Case, proven: set[Piece], numbers: Numbers) -> Composition:
        """Returns whether all pieces are among those proven; numbers: of their parts."""
        count, left = 0, dict[str, int]()

        def note(op: str) -> None:
            left[op] = left.get(op, 0) + 1

        for counterpart, piece in Pieces(case, numbers).all():
            count += 1
            if piece not in proven and not _is_constant(counterpart):
                whole = counterpart.whole[0]
                note(whole.op.name if isinstance(whole, OpResult) else "an argument")
        flow = _Flow(case)
        for op in walk_pre_order(case.local):
            if is_control(op) and not flow.is_right(op):
                note(op.name)
        if not flow.ends_right():
            note(ReturnOp.name)
        return Composition(count, tuple(f"{name} ({number:,})" for name, number in sorted(left.items())))


def _is_constant(counterpart: Counterpart) -> bool:
    """True if it is a constant that is the same on all devices as in the whole program, or one number."""
    ops = [counterpart.value.owner, counterpart.whole[0].owner]
    if not all(isinstance(op, Operation) and is_constant(op) for op in ops):
        return False
    local, whole = (op.properties["value"] for op in ops if isinstance(op, Operation))
    if number_of(local) == number_of(whole):
        return axes_of(counterpart.sharding) is None
    dense = isinstance(local, DenseIntOrFPElementsAttr) and isinstance(whole, DenseIntOrFPElementsAttr)
    return dense and _is_splat_of(cast(Any, local), cast(Any, whole))


def _is_splat_of(one: Any, other: Any) -> bool:
    elements = [elements_type(each)[1] for each in (one, other)]
    sizes = [element_size(element) for element in elements]
    return (
        elements[0] == elements[1]
        and is_splat(one)
        and is_splat(other)
        and one.data.data[: sizes[0]] == other.data.data[: sizes[1]]
    )


class _Flow:
    """Edges between blocks, in both programs."""

    def __init__(self, case: Case) -> None:
        self._case, self._found = case, case.found
        self._symbols = Symbols(case.whole), Symbols(case.local)

    def is_right(self, op: Operation) -> bool:
        """Returns whether the edges of an op connect what those of the whole program's connect."""
        results = [result for result in op.results if tensor_type(result.type) is not None]
        if not results:
            return True
        wholes = {self._whole_op(result) for result in results}
        whole = wholes.pop()
        if wholes or whole is None or whole.name != op.name or len(whole.results) != len(op.results):
            return False
        if isinstance(op, CallOp) and isinstance(whole, CallOp):
            groups = [
                self._of_call(each, symbols) for each, symbols in zip((whole, op), self._symbols, strict=True)
            ]
        elif data_flow(op) is not None:
            groups = [_of_edges(each) for each in (whole, op)]
        else:
            return False
        return (
            len(groups[0]) == len(groups[1]) and all(map(self._is_pair, *groups)) and self._decides(whole, op)
        )

    def ends_right(self) -> bool:
        """Returns whether the program returns what the whole one does, sharded as its results are."""
        signature = self._case.signature
        wanted = () if signature is None else signature.results or ()
        for number, (whole, local) in enumerate(
            zip(results_of(self._case.whole), results_of(self._case.local), strict=True)
        ):
            if tensor_type(whole.type) is None:
                continue
            found = self._found.get(local)
            if found is None or whole not in found.whole or found.pending is not None:
                return False
            if signature is not None and axes_of(found.sharding) != axes_of(
                wanted[number] if wanted else None
            ):
                return False
        return True

    def _whole_op(self, value: OpResult) -> Operation | None:
        found = self._found.get(value)
        whole = None if found is None else found.whole[0]
        return whole.op if isinstance(whole, OpResult) and whole.index == value.index else None

    def _of_call(self, op: Operation, symbols: Symbols) -> list[list[SSAValue]]:
        assert isinstance(op, CallOp)
        callee = of_kind(symbols.callee(op), FuncOp)
        end = terminator_of(callee.body)
        returned: Sequence[SSAValue] = () if end is None else operands_of(end)
        return [
            *(list(pair) for pair in zip(operands_of(op), callee.args, strict=True)),
            *(list(pair) for pair in zip(op.results, returned, strict=True)),
        ]

    def _is_pair(self, whole: list[SSAValue], local: list[SSAValue]) -> bool:
        """True if connected values correspond, and have one sharding."""
        if not whole or tensor_type(whole[0].type) is None:
            return True
        entries = [self._found.get(value) for value in local]
        if len(whole) != len(local) or any(entry is None or entry.pending for entry in entries):
            return False
        pairs = zip(whole, entries, strict=True)
        is_same = all(entry is not None and value in entry.whole for value, entry in pairs)
        return is_same and len({axes_of(entry.sharding) for entry in entries if entry is not None}) == 1

    def _decides(self, whole: Operation, op: Operation) -> bool:
        """True if what is executed next depends on values that correspond, and are equal on all devices."""
        match TABLE[op.name].control:
            case Control.BRANCHES:
                pairs = [(operands_of(whole)[0], operands_of(op)[0])]
            case Control.LOOP:
                ends = terminator_of(whole.regions[0]), terminator_of(op.regions[0])
                if None in ends:
                    return False
                pairs = [tuple(operands_of(end)[0] for end in ends if end is not None)]
            case _:
                return True
        return all(self._is_pair([value], [other]) for value, other in pairs)


def _of_edges(op: Operation) -> list[list[SSAValue]]:
    return [[*source_values(owner), *edge_targets(owner)] for owner in edge_owners(op)]
