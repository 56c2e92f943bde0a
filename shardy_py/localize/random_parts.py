"""`rng_bit_generator` with sharded bits: each device generates its part of the bits of the whole program.

    %bits: tensor<8x6xui32>, [{"x"}, {}] on 2 devices: 12 counters of THREE_FRY each
    before  %state, %bits = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY
    after   %bits = sdy.manual_computation(%arg0) manual_axes={"x"} {
              %0 = the state, its counter plus 12 times the position of the device
              %1, %2 = stablehlo.rng_bit_generator %0 : tensor<24xui32>
              reshape, transpose: words of a counter become neighbours
            }
            %state = the counter of the whole tensor added to that of %arg0

Counters that do not follow each other are computed with `iota`, and encrypted by StableHLO ops. Which ones:
`localize/arithmetic/random_bits.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, i64
from xdsl.ir import Attribute, Operation

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.localize.arithmetic.random_bits import WORDS, RandomPart, counters, random_part
from shardy_py.localize.halo_exchange import LocalBuilder, Manual, cut, manual_computation
from shardy_py.localize.random_rounds import ROUNDS, UI64, joined, scalar, splat
from shardy_py.localize.resolution import Resolution, cut_to, parts_of
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.passes.export.reshard_insertion import insert_reshards
from shardy_py.reshard.reshard_plan import ReshardPlan, ResultReshard
from shardy_py.sharding import TensorSharding

_STATE_SIZES = {"THREE_FRY": (2,), "PHILOX": (2, 3)}
"""The numbers of 64 bits in a state, by algorithm; DEFAULT is another algorithm on each platform."""
_WIDTHS = (2, 4, 8, 16, 32, 64)


def unsupported_generator(op: Operation) -> str:
    """Why the parts of an `rng_bit_generator` are not known; empty if they are."""
    algorithm, state, bits = _algorithm(op), operands_of(op)[0], op.results[1]
    if algorithm not in _STATE_SIZES:
        return f"the counters of algorithm {algorithm} depend on the platform"
    if str(element_of(state)) not in ("ui64", "i64") or shape_of(state)[0] not in _STATE_SIZES[algorithm]:
        return f"a state of {state.type} is unsupported"
    return "" if _width(bits) in _WIDTHS else f"random bits of {element_of(bits)} are unsupported"


def resolve_random_bits(op: Operation, state: Resolution) -> None:
    """Makes the generator local, unless its devices may generate other bits than the whole program.

    Shardy replicates the bits.
    """
    bits = op.results[1]
    found = state.sharded(bits)
    if state.options.rng_bit_generator_unsafe or found is None:
        return
    sharding, mesh = found
    if not state.options.enable_windowed_halo_exchange:
        replicated = TensorSharding.fully_closed(sharding.mesh, sharding.rank)
        plan = ReshardPlan((), ((1, ResultReshard(replicated, (sharding,))),))
        insert_reshards(op, plan, state.reader, state.meshes)
        return
    if 0 in shape_of(bits) or unsupported_generator(op):  # empty parts are as empty as the whole
        return
    part = random_part(_algorithm(op), shape_of(bits), parts_of(sharding, mesh), _width(bits))
    axes = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    manual = Manual.of(mesh, tuple(axes), (sharding,))
    replicated = TensorSharding.fully_closed(sharding.mesh, 1)

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        (given,) = arguments
        return [_generated(op, inner, _as_words(inner.plain, given), part, sharding)]

    operands = [(operands_of(op)[0], replicated)]
    result = resized(bits, manual.even_shape(sharding, shape_of(bits))), sharding
    (made,) = manual_computation(op, manual, state.devices, operands, [result], body)
    after = _state_after(op, StablehloBuilder(op, state.reader.of(op.results[0]) or replicated))
    replace_by_values(op, (after, cut_to(StablehloBuilder(op, sharding), made, bits.type)))


def _algorithm(op: Operation) -> str:
    return str(plain(op.properties["rng_algorithm"]))


def _width(bits: Value) -> int:
    return element_type(str(element_of(bits))).value_bits


# ---------------------------------------------------------------------- states


def _as_words(build: StablehloBuilder, state: Value) -> Value:
    return _bitcast(build, state, UI64)


def _bitcast(build: StablehloBuilder, value: Value, element: Attribute) -> Value:
    if element_of(value) == element:
        return value
    return build.one("bitcast_convert", (value,), ranked_tensor(shape_of(value), element))


def _state_after(op: Operation, build: StablehloBuilder) -> Value:
    """The state after the bits of the whole tensor."""
    given, bits = operands_of(op)[0], op.results[1]
    count = counters(_algorithm(op), shape_of(bits), _width(bits))
    state = _advanced(build, _as_words(build, given), scalar(build, count))
    return _bitcast(build, state, element_of(given))


def _advanced(build: StablehloBuilder, state: Value, count: Value) -> Value:
    """The state with `count` added to its counter, of 64 bits, or of 128 in a state of three words."""
    zero, (size,) = scalar(build, 0), shape_of(state)
    step = build.pad(build.reshape(count, (1,)), zero, (1,), (size - 2,))
    made = build.binary("add", state, step)
    if size == 2:
        return made
    wraps = build.convert(build.compare("LT", made, state), UI64)
    carry = build.pad(build.slice(wraps, (1,), (2,)), zero, (2,), (0,))
    return build.binary("add", made, carry)


def _word(build: StablehloBuilder, state: Value, number: int) -> Value:
    return build.reshape(build.slice(state, (number,), (number + 1,)), ())


# ---------------------------------------------------------------------- bits


def _generated(
    op: Operation, inner: LocalBuilder, state: Value, part: RandomPart, sharding: TensorSharding
) -> Value:
    """The bits of a part. state: of the whole program, of `ui64`."""
    build, bits, algorithm = inner.plain, op.results[1], _algorithm(op)
    if algorithm == "PHILOX" and shape_of(state) == (2,):
        # The upper half of the counter is the key; it may have to take a carry, but not the key.
        state = build.concatenate([state, build.slice(state, (0,), (1,))], 0)
    if part.is_range:
        begin = _advanced(build, state, build.convert(_first(inner, part, sharding), UI64))
        types = begin.type, ranked_tensor((part.count * part.per_counter,), element_of(bits))
        elements = build.insert("rng_bit_generator", (begin,), types, rng_algorithm=algorithm).results[1]
        elements = build.reshape(elements, (*part.sizes, part.per_counter))
    else:
        elements = _encrypted(inner, state, part, sharding, algorithm, _width(bits))
        elements = _bitcast(build, elements, element_of(bits))
    if not part.is_by_element:
        elements = _joined_along_axis(inner, elements, part, sharding)
    return inner.build_for(sharding).reshape(elements, part.shape)


def _first(inner: LocalBuilder, part: RandomPart, sharding: TensorSharding) -> Value:
    """The first counter of the part, a scalar of `i64`."""
    build, total = inner.plain, None
    for term in part.terms:
        value = inner.linear(sharding.dimensions[term.dimension].axes, term.step, 0)
        for name, number in (("divide", term.divisor), ("multiply", term.stride)):
            value = value if number == 1 else build.binary(name, value, build.integer(number))
        total = value if total is None else build.binary("add", total, value)
    return build.integer(0) if total is None else total


def _encrypted(
    inner: LocalBuilder, state: Value, part: RandomPart, sharding: TensorSharding, algorithm: str, width: int
) -> Value:
    """The elements of the counters of the part, unsigned integers of `width` bits: [*sizes, per_counter].

    By element: [*sizes].
    """
    build = inner.plain
    position = build.broadcast(_first(inner, part, sharding), part.sizes)
    for dimension, stride in enumerate(part.strides):
        index = build.iota(part.sizes, dimension, i64)
        scaled = build.binary("multiply", index, splat(build, stride, index))
        position = build.binary("add", position, scaled)
    position = build.convert(position, UI64)
    number = position
    if part.is_by_element:
        number = build.binary("divide", position, splat(build, part.per_counter, position))
    low = build.broadcast(_word(build, state, 1), part.sizes)
    halves = [build.binary("add", low, number)]
    if algorithm == "PHILOX":
        high = build.broadcast(_word(build, state, 2), part.sizes)
        carry = build.convert(build.compare("LT", halves[0], low), UI64)
        halves.append(build.binary("add", high, carry))
    words = ROUNDS[algorithm](build, _word(build, state, 0), halves)
    assert len(words) == WORDS[algorithm]
    elements = _elements(build, words, width)
    if part.is_by_element:
        which = build.binary("remainder", position, splat(build, part.per_counter, position))
        chosen = elements[0]
        for place, element in enumerate(elements[1:], 1):
            is_here = build.compare("EQ", which, splat(build, place, which))
            chosen = build.select(is_here, element, chosen)
        return chosen
    columns = [build.reshape(element, (*part.sizes, 1)) for element in elements]
    return build.concatenate(columns, len(part.sizes))


def _elements(build: StablehloBuilder, words: Sequence[Value], width: int) -> list[Value]:
    """The words as unsigned integers of `width` bits: two of them joined, one, or its lower bits."""
    if width == 64:
        return [joined(build, low, high) for low, high in zip(words[::2], words[1::2], strict=True)]
    if width == 32:
        return list(words)
    element = IntegerType(width, Signedness.UNSIGNED)
    mask = (1 << width) - 1
    return [build.convert(build.binary("and", word, splat(build, mask, word)), element) for word in words]


def _joined_along_axis(
    inner: LocalBuilder, elements: Value, part: RandomPart, sharding: TensorSharding
) -> Value:
    """[*sizes, per_counter] -> elements of a counter are neighbours along the axis, cut to the part."""
    build, axis, sizes = inner.plain, part.axis, list(part.sizes)
    rank = len(sizes)
    if axis != rank - 1 and part.per_counter > 1:
        elements = build.transpose(elements, [*range(axis + 1), rank, *range(axis + 1, rank)])
    sizes[axis] *= part.per_counter
    elements = build.reshape(elements, sizes)
    needed = prod(part.shape) // prod(size for d, size in enumerate(sizes) if d != axis)
    if part.skew is not None:
        dimension, step = part.skew
        start = inner.linear(sharding.dimensions[dimension].axes, step, 0)
        start = build.binary("remainder", start, build.integer(part.per_counter))
        return cut(build, elements, axis, start, needed, build.integer(0))
    limits = [needed if d == axis else size for d, size in enumerate(sizes)]
    return elements if limits == sizes else build.slice(elements, [0] * rank, limits)
