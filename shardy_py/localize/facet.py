"""How each op becomes local: its form, its padding, what it exchanges, and what it needs whole, and why.

    local_row(op).form(local, site)

An op without a row computes its part of the results from its parts of the operands: its types change only,
and padding is data to it. Not here: the functions (a module a kind), the passes that call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.localize import local_calls as calls
from shardy_py.localize import local_collectives as collectives
from shardy_py.localize import local_indexed as indexed
from shardy_py.localize import local_ops as forms
from shardy_py.localize import local_terms as terms
from shardy_py.localize import local_windows as windows
from shardy_py.localize import padded_ops as padded
from shardy_py.localize.arithmetic.masks import dot_general_masks, dot_masks, scatter_masks
from shardy_py.localize.local_random import rng_bit_generator
from shardy_py.localize.localizer import Localizer, Site
from shardy_py.localize.padded_ops import Padding, masking
from shardy_py.localize.permutation_convolutions import convolution_windows
from shardy_py.localize.permutation_joins import concatenated_parts
from shardy_py.localize.permutation_moves import (
    exchange_pad,
    exchange_slice,
    is_local_pad,
    is_local_slice,
    is_local_update,
    reverse_mesh,
)
from shardy_py.localize.permutation_reshapes import resolve_reshape
from shardy_py.localize.permutation_selects import selecting_windows
from shardy_py.localize.permutation_windows import (
    Description,
    pad_windows,
    reduction_windows,
    reverse_windows,
    slice_windows,
)
from shardy_py.localize.prefix_scans import scan_parts
from shardy_py.localize.random_parts import resolve_random_bits, unsupported_generator
from shardy_py.localize.resolution import Resolution
from shardy_py.localize.whole_dimensions import (
    WholeDimensions,
    indexed_windows,
    multiplied_updates,
    partly_updated,
    unit_dimensions,
)
from shardy_py.ops import Facet
from shardy_py.sharding import TensorSharding

Form = Callable[[Localizer, Site], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRow:
    """How an op becomes local; the default of a field is that there is nothing to do.

    form: changes the op, or replaces it, once its values have the types of their parts.
    is_collective: whether it only communicates: a tensor without elements is a constant instead.
    padding: what the op does about padding, if that is not data to it.

    Parts that need elements of other parts (`sdy-resolve-permutation-factors`):
    windows: the elements that its windows read. exchange: Shardy's way; returns whether there is one.
    scan: resolves one whose windows read all elements before; returns whether it is such an op.
    own: resolves an op whose parts do not follow from the factors of its rule.
    is_local: whether it reads elements of its own part only along a dimension.
    takes_any_part: whether the form takes parts that begin anywhere.

    Tensors that are gathered first (`sdy-gather-whole-tensors`), beside what its rule says:
    whole: the dimensions that are whole whatever the rule says, and why.
    whole_operands: operands that are whole, and why.
    unsupported: why the op is computed on whole tensors; empty if it is not.
    selects: whether the last dimension is whole, as the op selects along it, even if it selects all.
    searches: whether factors that are in the operands or the results only are whole: each device would return
        the best of its part.
    is_uneven: whether it takes compound dimensions whose parts are uneven.
    is_looked_through: whether the pass that exchanges undoes the gathers, or warns of them.
    """

    form: Form | None = None
    is_collective: bool = False
    padding: Padding | None = None
    windows: Callable[[Operation, Resolution], Description] | None = None
    scan: Callable[[Operation, Resolution], bool] | None = None
    exchange: Callable[[Operation, Resolution], bool] | None = None
    own: Callable[[Operation, Resolution], None] | None = None
    is_local: Callable[[Operation, TensorSharding, int, Resolution], bool] | None = None
    takes_any_part: bool = False
    whole: tuple[WholeDimensions, str] | None = None
    whole_operands: tuple[Callable[[Operation], Iterable[int]], str] | None = None
    unsupported: Callable[[Operation], str] | None = None
    selects: bool = False
    searches: bool = False
    is_uneven: bool = False
    is_looked_through: bool = False


_UNIT = unit_dimensions, "dimensions of one element are whole"
_CONSTANT = LocalRow(form=forms.constant, padding=padded.constant)
_FORWARDED = LocalRow(form=terms.forwarded)
_AMONG_PARTITIONS = LocalRow(form=terms.among_partitions)
_SELECTION = LocalRow(selects=True)
_SEARCH = LocalRow(searches=True)


def _collective(form: Form, padding: Padding | None = None) -> LocalRow:
    return LocalRow(form=form, padding=padding, is_collective=True)


LOCAL = Facet(
    "local form of",
    LocalRow(),
    rows={
        "sdy.all_gather": _collective(collectives.all_gather, padded.gathering),
        "sdy.all_reduce": _collective(collectives.all_reduce),
        "sdy.all_slice": _collective(collectives.all_slice, padded.slicing),
        "sdy.all_to_all": _collective(collectives.all_to_all, padded.gathering),
        "sdy.collective_permute": _collective(collectives.collective_permute),
        "sdy.reduce_scatter": _collective(collectives.reduce_scatter, padded.slicing),
        "sdy.replicated_to_unreduced": LocalRow(form=terms.replicated_to_unreduced),
        "sdy.sharded_to_unreduced": LocalRow(form=terms.sharded_to_unreduced, padding=padded.gathering),
        "stablehlo.all_to_all": _AMONG_PARTITIONS,
        "stablehlo.collective_broadcast": _AMONG_PARTITIONS,
        "stablehlo.collective_permute": _AMONG_PARTITIONS,
        "stablehlo.partition_id": LocalRow(form=terms.partition_id),
        "sdy.data_flow_edge": _FORWARDED,
        "sdy.func_data_flow_edge": _FORWARDED,
        "sdy.propagation_barrier": _FORWARDED,
        "sdy.reshard": _FORWARDED,
        "sdy.sharding_constraint": _FORWARDED,
        "sdy.manual_computation": LocalRow(form=calls.manual_computation),
        "func.call": LocalRow(form=calls.call),
        "chlo.constant": _CONSTANT,
        "sdy.constant": _CONSTANT,
        "stablehlo.constant": _CONSTANT,
        "stablehlo.iota": LocalRow(form=forms.iota),
        "stablehlo.rng": LocalRow(
            form=forms.sized_by_operand(2),
            unsupported=lambda _op: "each device needs the random numbers of the whole tensor",
        ),
        "stablehlo.rng_bit_generator": LocalRow(
            form=rng_bit_generator, own=resolve_random_bits, unsupported=unsupported_generator
        ),
        "stablehlo.broadcast": LocalRow(form=forms.broadcast),
        "stablehlo.broadcast_in_dim": LocalRow(whole=_UNIT),
        "stablehlo.reshape": LocalRow(
            padding=padded.reshape, own=resolve_reshape, whole=_UNIT, is_uneven=True
        ),
        "stablehlo.slice": LocalRow(
            form=forms.slice_,
            padding=padded.slice_,
            windows=slice_windows,
            exchange=exchange_slice,
            is_local=is_local_slice,
        ),
        "stablehlo.reverse": LocalRow(windows=reverse_windows, exchange=reverse_mesh),
        "stablehlo.pad": LocalRow(
            form=forms.pad,
            padding=padded.pad,
            windows=pad_windows,
            exchange=exchange_pad,
            is_local=is_local_pad,
        ),
        "stablehlo.concatenate": LocalRow(
            form=forms.concatenate, windows=concatenated_parts, is_looked_through=True
        ),
        "stablehlo.dynamic_slice": LocalRow(form=forms.dynamic_slice, padding=padded.dynamic_slice),
        "stablehlo.dynamic_update_slice": LocalRow(
            form=forms.dynamic_update_slice,
            padding=padded.dynamic_update_slice,
            is_local=is_local_update,
            takes_any_part=True,
            whole=(partly_updated, "updates of slices are whole"),
        ),
        "stablehlo.gather": LocalRow(form=indexed.gather, padding=padded.gather),
        "stablehlo.scatter": LocalRow(
            form=indexed.scatter,
            padding=masking(scatter_masks, beyond_shardy=True),
            whole=(indexed_windows, "windows of updates begin at an index"),
            whole_operands=(multiplied_updates, "sdy has no product over devices"),
        ),
        "stablehlo.dot": LocalRow(padding=masking(dot_masks, beyond_shardy=True)),
        "stablehlo.dot_general": LocalRow(padding=masking(dot_general_masks)),
        "stablehlo.convolution": LocalRow(
            form=windows.convolution, padding=padded.convolution, windows=convolution_windows, whole=_UNIT
        ),
        "stablehlo.reduce": LocalRow(form=forms.reduce, padding=padded.reduce),
        "stablehlo.reduce_window": LocalRow(
            form=windows.windowed, windows=reduction_windows, scan=scan_parts
        ),
        "stablehlo.select_and_scatter": LocalRow(
            form=windows.windowed, windows=selecting_windows, is_looked_through=True
        ),
        "chlo.top_k": _SELECTION,
        "stablehlo.custom_call@mhlo.topk": _SELECTION,
        "stablehlo.custom_call@ApproxTopK": _SEARCH,
        "stablehlo.custom_call@PartialReduce": _SEARCH,
        "stablehlo.dynamic_broadcast_in_dim": LocalRow(form=forms.sized_by_operand(1)),
        "stablehlo.dynamic_iota": LocalRow(form=forms.dynamic_iota),
        "stablehlo.dynamic_reshape": LocalRow(form=forms.sized_by_operand(1)),
        "stablehlo.get_dimension_size": LocalRow(
            form=forms.get_dimension_size, padding=padded.dimension_size
        ),
    },
)


def local_row(op: Operation) -> LocalRow:
    """Returns the row of an op; a custom call's target counts as part of its name."""
    target: Any = op.properties.get("call_target_name")
    return LOCAL.of(op.name if target is None else f"{op.name}@{target.data}")
