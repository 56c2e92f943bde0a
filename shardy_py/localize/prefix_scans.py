"""Cumulative windows along a sharded dimension: each part scans its own elements, and adds what is before it.

    before  %0 = stablehlo.reduce_window(%a, ...) window = 64, low = 63      %a: [{"x"}] in 4 parts of 16
    after   %1 = stablehlo.reshape %a : tensor<4x16xf32>                     [{"x"}, {}]
            %2 = stablehlo.reduce_window(%1, ...) window = 1x16, low = 0x15
            %3 = the last element of each row, replicated: a total of each part
            %4 = the totals before each part, sharded as the rows of %2
            %0 = %2 combined with %4, as one dimension again

One element of a part is sent for all its elements (the scan of blocks of Blelloch, "Prefix Sums and Their
Applications", 1990). Combiners are those whose order does not matter; floats are so summed in another order,
as by an all-reduce. Runs in `sdy-resolve-permutation-factors`.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Attribute, Operation

from shardy_py.base.records import dataclass
from shardy_py.localize.identities import identity_data, is_constant_of
from shardy_py.localize.resolution import Resolution, cut_to, padded_high, parts_of
from shardy_py.mlir.ir import operands_of, place_before
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.record import combiner_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.dimensions import Window, own_windows
from shardy_py.passes.export.communication_ops import step_op
from shardy_py.reshard.steps import Reshard
from shardy_py.sharding import DimensionSharding, TensorSharding


@dataclass(frozen=True, slots=True)
class _Scan:
    """A cumulative `reduce_window` of one operand.

    dimension: along which it runs, in `parts` parts. is_backward: from the last element to the first.
    combiner, identity: the name of the op, and the bytes of its identity.
    """

    dimension: int
    parts: int
    is_backward: bool
    combiner: str
    identity: bytes
    sharding: TensorSharding


def scan_parts(op: Operation, state: Resolution) -> bool:
    """Replaces a cumulative window along one sharded dimension; returns False if the op is another one."""
    scan = _scan_of(op, state)
    if scan is None:
        return False
    value, dimension, sharding = operands_of(op)[0], scan.dimension, scan.sharding
    rows = _Rows(op, scan)
    shape = list(shape_of(value))
    part = -(-shape[dimension] // scan.parts)
    even = [*shape[:dimension], scan.parts * part, *shape[dimension + 1 :]]
    split = [*shape[:dimension], scan.parts, part, *shape[dimension + 1 :]]
    outer, within = StablehloBuilder(op, sharding), StablehloBuilder(op, _with_dimension(sharding, dimension))
    padded = padded_high(outer, value, even, rows.identity)
    own = rows.scanned(within, within.reshape(padded, split), dimension + 1)
    ends, limits = [0] * len(split), list(split)
    ends[dimension + 1] = 0 if scan.is_backward else part - 1
    limits[dimension + 1] = ends[dimension + 1] + 1
    totals = outer.reshape(
        within.slice(own, ends, limits), [*shape[:dimension], scan.parts, *shape[dimension + 1 :]]
    )
    others = _resharded(op, rows.others(_resharded(op, totals, _gathered(sharding, dimension))), sharding)
    kept = [d for d in range(len(split)) if d != dimension + 1]
    result = within.binary(scan.combiner, own, within.broadcast(others, split, kept))
    replace_by_values(op, (cut_to(outer, outer.reshape(result, even), op.results[0].type),))
    return True


def _scan_of(op: Operation, state: Resolution) -> _Scan | None:
    """The scan that an op is, if it is one along a sharded dimension."""
    operands = operands_of(op)
    found = state.sharded(op.results[0])
    combiner = combiner_of(op)
    if len(op.results) != 1 or found is None or combiner is None:
        return None
    sharding, mesh = found
    given = state.reader.of(operands[0])
    if given is None or [d.axes for d in given.dimensions] != [d.axes for d in sharding.dimensions]:
        return None
    identity = identity_data(combiner, element_of(operands[1]))
    if identity is None or not is_constant_of(operands[1], identity):
        return None
    shape = shape_of(operands[0])
    windows = own_windows(record_of(op).attributes, len(shape))
    moving = [d for d, window in enumerate(windows) if not window.is_trivial]
    if len(moving) != 1 or (parts := parts_of(sharding, mesh)[moving[0]]) <= 1:
        return None
    size = shape[moving[0]]
    forward, backward = Window(size, low=size - 1), Window(size, high=size - 1)
    if size <= 1 or windows[moving[0]] not in (forward, backward):
        return None
    is_backward = windows[moving[0]] == backward
    return _Scan(moving[0], parts, is_backward, combiner.removeprefix("stablehlo."), identity, sharding)


@dataclass(frozen=True)
class _Rows:
    """Builds the scans that stand for `op`."""

    op: Operation
    scan: _Scan

    @property
    def _type(self) -> Attribute:
        return ranked_tensor((), element_of(self.op.results[0]))

    @property
    def identity(self) -> Value:
        """A constant."""
        return StablehloBuilder(self.op).dense(self._type, self.scan.identity)

    def scanned(self, build: StablehloBuilder, value: Value, dimension: int) -> Value:
        """The scan along one dimension."""
        return self._windowed(build, value, dimension, shape_of(value)[dimension])

    def others(self, totals: Value) -> Value:
        """The totals of the parts before each one, or of those behind it."""
        dimension, count = self.scan.dimension, self.scan.parts
        gathered = _gathered(self.scan.sharding, dimension)
        build = StablehloBuilder(self.op, gathered)
        found = self._windowed(build, totals, dimension, count - 1, beyond=count - 1)
        starts, limits = [0] * len(shape_of(found)), list(shape_of(found))
        starts[dimension] = int(self.scan.is_backward)
        limits[dimension] = starts[dimension] + count
        return build.slice(found, starts, limits)

    def _windowed(
        self, build: StablehloBuilder, value: Value, dimension: int, size: int, beyond: int | None = None
    ) -> Value:
        """Windows of `size` along one dimension, which begin (or end) `beyond` elements outside."""
        shape = list(shape_of(value))
        beyond = size - 1 if beyond is None else beyond
        sizes, padding = [1] * len(shape), [(0, 0)] * len(shape)
        sizes[dimension] = size
        padding[dimension] = (0, beyond) if self.scan.is_backward else (beyond, 0)
        shape[dimension] += beyond - size + 1
        region = build.combining_region(self.scan.combiner, element_of(value))
        operands, types = (value, self.identity), (resized(value, shape),)
        made = build.insert(
            "reduce_window", operands, types, (region,), window_dimensions=sizes, padding=padding
        )
        return made.results[0]


def _with_dimension(sharding: TensorSharding, dimension: int) -> TensorSharding:
    """The sharding with a whole dimension behind one."""
    dimensions = list(sharding.dimensions)
    dimensions.insert(dimension + 1, DimensionSharding(is_closed=True))
    return replace(sharding, dimensions=tuple(dimensions))


def _gathered(sharding: TensorSharding, dimension: int) -> TensorSharding:
    dimensions = list(sharding.dimensions)
    dimensions[dimension] = DimensionSharding(is_closed=True)
    return replace(sharding, dimensions=tuple(dimensions))


def _resharded(op: Operation, value: Value, sharding: TensorSharding) -> Value:
    made = step_op(Reshard(sharding), value, op.location)
    place_before(made, op)
    return made.results[0]
