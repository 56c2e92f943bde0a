"""Last changes to the sketch of a rule, op by op: what Shardy decides beyond single reads.

Each takes the sketch and whether propagation is conservative. The table that names them is in `policy.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.ops import integer, integers, shape_of, structure
from shardy_py.rules.sketch import Atom, Sketch, Slot
from shardy_py.sharding import FactorType

Finish = Callable[[Sketch, bool], None]


def concatenated(made: Sketch, conservative: bool) -> None:
    """The joined dimension has the result's size; slices that are joined again only move elements."""
    along: int = made.record.attributes["dimension"]
    atom = made.atom_at(Slot("result", 0, along))
    if conservative:
        made.drop(atom)
        return
    for operand in range(len(made.record.operands)):
        made.slots[Slot("operand", operand, along)] = [atom]
    of_slices = made.record.attributes.get("context.concatenates_slices")
    made.give_size(atom, shape_of(made.record.results[0])[along])
    made.set_type(atom, FactorType.PERMUTATION if of_slices else FactorType.NEED_REPLICATION)


def convolved(made: Sketch, conservative: bool) -> None:
    """A spatial dimension of the input is cut along windows and along the window, the larger one first.

    The sizes are what is left of the input's dimension; none of size one. Conservatively, it is not cut.
    """
    numbers = structure(made.record, "dimension_numbers")
    spatial = zip(
        integers(numbers, "input_spatial_dimensions"),
        integers(numbers, "kernel_spatial_dimensions"),
        integers(numbers, "output_spatial_dimensions"),
        strict=True,
    )
    for lhs, rhs, out in spatial:
        slot = Slot("operand", 0, lhs)
        windows = made.atom_at(Slot("result", 0, out))
        window = made.atom_at(Slot("operand", 1, rhs))
        made.set_type(windows, FactorType.PERMUTATION)
        made.set_type(window, FactorType.REDUCTION)
        made.slots[Slot("result", 0, out)] = [windows]
        made.slots[Slot("operand", 1, rhs)] = [window]
        made.slots[slot] = []
        left = shape_of(made.record.operands[0])[lhs]
        sizes = shape_of(made.record.results[0])[out], shape_of(made.record.operands[1])[rhs]
        order = [(windows, sizes[0]), (window, sizes[1])]
        for atom, size in order if sizes[0] >= sizes[1] else reversed(order):
            size = min(left, size)
            if conservative or size <= 1:
                made.drop(atom)
                continue
            made.resize(atom, size)
            made.slots[slot].append(atom)
            left //= size
    _drop_single_output_feature(made)


def _drop_single_output_feature(made: Sketch) -> None:
    numbers = structure(made.record, "dimension_numbers")
    atoms = made.slots[Slot("result", 0, integer(numbers, "output_feature_dimension"))]
    if made.size_of(atoms[-1]) == 1:
        made.drop(atoms[-1])


def windowed(made: Sketch, conservative: bool) -> None:
    """An input is cut along windows only, even where they do not overlap.

    Unsound with a base dilation: a window of one element without stride and padding counts as none.
    """
    for d in range(len(shape_of(made.record.results[0]))):
        atom = _cut_along_windows(made, d, conservative)
        for number in range(len(made.record.results)):
            made.slots[Slot("operand", number, d)] = made.slots[Slot("result", number, d)] = [atom]


def selected(made: Sketch, conservative: bool) -> None:
    """The source has one element a window, and is kept whole where windows are more than elements."""
    for d, size in enumerate(shape_of(made.record.operands[1])):
        atom = _cut_along_windows(made, d, conservative)
        made.slots[Slot("operand", 0, d)] = made.slots[Slot("result", 0, d)] = [atom]
        slot = Slot("operand", 1, d)
        if made.type_of(atom) is FactorType.PASS_THROUGH:
            made.slots[slot] = [atom]
        else:
            made.put_apart(slot, Slot("result", 0, d), size)
            made.set_type(made.atom_at(slot), FactorType.NEED_REPLICATION)
            made.block(made.atom_at(slot), is_blocked=conservative)


def _cut_along_windows(made: Sketch, dimension: int, conservative: bool) -> Atom:
    attributes, atom = made.record.attributes, made.atom_at(Slot("result", 0, dimension))
    sizes = attributes.get("window_dimensions")
    strides, padding = attributes.get("window_strides"), attributes.get("padding")
    stays = (
        (not sizes or sizes[dimension] == 1)
        and (not strides or strides[dimension] == 1)
        and (not padding or tuple(padding[dimension]) == (0, 0))
    )
    made.resize(atom, shape_of(made.record.results[0])[dimension])
    made.set_type(atom, FactorType.PASS_THROUGH if stays else FactorType.PERMUTATION)
    made.block(atom, is_blocked=conservative and not stays)
    return atom


def solved(made: Sketch, conservative: bool) -> None:
    """Even the columns that could be solved apart are kept whole."""
    result = made.record.results[0]
    rank = result.rank if result else 0
    for position in (rank - 2, rank - 1):
        made.set_type(made.atom_at(Slot("result", 0, position)), FactorType.NEED_REPLICATION)


def combined(made: Sketch, conservative: bool) -> None:
    """What becomes the state of a random number generator is kept whole."""
    if made.record.attributes.get("context.feeds_rng_bit_generator"):
        atom = made.atom_at(Slot("result", 0, 0))
        made.set_type(atom, FactorType.NEED_REPLICATION)
        made.block(atom)


def all_through(made: Sketch, conservative: bool) -> None:
    """Unsound: every factor counts as free."""
    atoms: list[Atom] = [atom for atoms in made.slots.values() for atom in atoms]
    for atom in atoms:
        made.set_type(atom, FactorType.PASS_THROUGH)
