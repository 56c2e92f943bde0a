"""`rng_bit_generator` with sharded bits in `sdy-convert-global-to-local`, as Shardy has it since JAX 0.12.

Each device generates its bits as if they were all, from a state of its own: a number is added to the state,
the hash of the part, 0 for the first one. The new state is that of the first part.

Our own partitioner makes the bits of the whole program (`random_parts.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.deferred import np
from shardy_py.localize.device_ids import id_for_tables
from shardy_py.localize.local_collectives import reduced
from shardy_py.localize.localizer import Localizer, Site, forget_sharding, renewed
from shardy_py.mlir import ir
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.reshard.device_groups import Integers, shard_indices

_MULTIPLIERS = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53


def rng_bit_generator(local: Localizer, site: Site) -> None:
    """Adds the number of the part to the state, and takes the new state of the first part."""
    bits = site.results[1]
    axes = tuple(axis for dimension in range(len(bits.shape)) for axis in bits.axes(dimension))
    is_shardy = Behaviour.RANDOM_PARTS_HAVE_STATES.holds and not local.options.device_id_arithmetic
    if not axes or bits.sharding is None or not is_shardy:
        return
    (state,), element = site.values, element_of(site.values[0])
    parts, size = shard_indices(bits.mesh, axes), element_size(element_of(state))
    build = StablehloBuilder(site.op)
    device = id_for_tables(build, local.counts)
    numbers = build.dense(ranked_tensor(parts.shape, element), _numbers(parts, size))
    number = build.reshape(build.dynamic_slice(numbers, [device], [1]), ())
    own = build.binary("add", state, build.broadcast(number, shape_of(state)))
    made = renewed(site.op)
    forget_sharding(made)
    ir.replace_operand(made, 0, own)
    flags = build.dense(ranked_tensor(parts.shape, i1), (parts == 0).tobytes())
    is_first = build.reshape(build.dynamic_slice(flags, [device], [1]), ())
    after = made.results[0]
    kept = build.select(is_first, after, build.dense(after.type, bytes(size)))
    on = bits.sharding, bits.mesh, axes
    replace_by_values(
        site.op, (reduced(local, build, "all_reduce", kept, kept.type, on, "sum"), made.results[1])
    )


def _numbers(parts: Integers, size_bytes: int) -> bytes:
    """The lower half of the finalizer of MurmurHash3 for each part, repeated to elements of a size.

    >>> np.frombuffer(_numbers(np.array([0, 1]), 8), np.uint64).tolist()
    [0, 3801824426178300716]
    """
    bits = parts.astype(np.uint64)
    shift = np.uint64(33)
    for multiplier in _MULTIPLIERS:
        bits = (bits ^ (bits >> shift)) * np.uint64(multiplier)
    halves = (bits ^ (bits >> shift)).astype("<u4")
    return np.repeat(halves, max(size_bytes // 4, 1)).tobytes()
