"""Regions as functions of arrays, for ops that apply them to elements (`compute.Body`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.mlir.record import record_of
from shardy_py.ops.compute import COMPUTED, Array
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import RegionTerm, lanes_of
from shardy_py.ops.compute.quantization import is_quantized
from shardy_py.ops.table import is_elementwise, row_name
from shardy_py.run.interpret.build import NestedRegion
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.plan import BlockPlan
from shardy_py.run.interpret.values import Value, lanes_of_values, repeated

Terms = tuple[RegionTerm | Array | int, ...]


@dataclass(frozen=True, eq=False)
class Form:
    """The computation of a region, as far as faster ways use it.

    combiner, terms: see `compute.Body`. pairwise, plain: the computation of an
    elementwise combiner in the arithmetic of the run, and in numpy's; else None.
    """

    combiner: str
    terms: Terms
    pairwise: Callable[[Array, Array], Array] | None = None
    plain: Callable[[Array, Array], Array] | None = None

    @staticmethod
    def of(plan: BlockPlan) -> Form:
        """Returns the form of a region."""
        terms = _terms(plan)
        (first, *others) = terms or (0,)
        if others or not isinstance(first, RegionTerm) or len(first.operands) != 2:
            return Form("", terms)
        # Operands are numbers of arguments, terms, or constants, which are arrays.
        arguments = [operand for operand in first.operands if isinstance(operand, int)]
        if sorted(arguments) != [0, 1]:
            return Form("", terms)
        record = first.record
        own = current().function_of(plan.steps[-1].op, record)
        function = COMPUTED.of(row_name(record)).function
        if function is None or not is_elementwise(record):
            return Form(row_name(record), terms)
        plain = partial(function, record)
        return Form(row_name(record), terms, plain if own is None else partial(own, record), plain)


def _terms(plan: BlockPlan) -> Terms:
    """The returned values as terms; () if some op is not a function of elements."""
    known: dict[int, RegionTerm | Array | int] = {
        slot: value for slot, value in enumerate(plan.frame) if value is not None
    }
    known |= {slot: number for number, slot in enumerate(plan.inputs)}
    for step in plan.steps:
        if step.op.regions or len(step.results) != 1:
            return ()
        record = record_of(step.op)
        is_known = COMPUTED.of(row_name(record)).function is not None
        if not (is_known and all(slot in known for slot in step.operands)):
            return ()
        if any(map(is_quantized, record.operands)):
            # Its function is not that of the stored integers.
            return ()
        known[step.results[0]] = RegionTerm(record, tuple(known[slot] for slot in step.operands))
    return tuple(known[slot] for slot in plan.returned)


@dataclass(frozen=True, eq=False)
class RegionBody:
    """A region with the values that it captures from the operands of a step."""

    nested: NestedRegion
    devices: Devices
    captured: list[Value]
    form: Form

    @property
    def combiner(self) -> str:
        """The name of the only op; else ""."""
        return self.form.combiner

    @property
    def terms(self) -> Terms:
        """The returned values as expressions; () if the region captures values."""
        return () if self.captured else self.form.terms

    @property
    def lanes(self) -> int:
        """The lanes of the captured values."""
        return lanes_of_values(self.captured)

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        """Applies the region to all lanes at once."""
        lanes, devices, captured = lanes_of(*arguments), self.devices, self.captured
        if lanes % devices.count == 0:
            times = lanes // devices.count
            within = devices.times(times)
            captured = [repeated(value, times) for value in captured]
        else:
            within = replace(devices, members=np.zeros(lanes, np.intp))
        plain = NestedRegion(self.nested.plan, tuple(range(len(captured))))
        return tuple(plain(within, list(arguments), captured))

    def combined(self, left: Array, right: Array) -> Array:
        """Applies a region of two scalars and one result to arrays of equal shape, element by element."""
        pairwise = self.form.pairwise if current().is_exact else self.form.plain
        if pairwise is not None:
            return pairwise(left, right)
        (result,) = self(left.reshape(-1), right.reshape(-1))
        return np.broadcast_to(result, (left.size,)).reshape(left.shape)


def body_maker(nested: NestedRegion) -> Callable[[Devices, list[Value]], RegionBody]:
    """Returns what makes the body of a region from the operands of its step."""
    plan = nested.plan
    forms = {plan.version: Form.of(plan)}  # it has the plan's constants

    def make(devices: Devices, operands: list[Value]) -> RegionBody:
        if plan.version not in forms:
            forms.clear()
            forms[plan.version] = Form.of(plan)
        captured = [operands[position] for position in nested.captured]
        return RegionBody(nested, devices, captured, forms[plan.version])

    return make
