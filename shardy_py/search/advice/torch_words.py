"""Shardings in the words of PyTorch: placements, styles of `parallelize_module`, and lines to paste.

    "layers.*.up.weight"  <@mesh, [{"tp"}, {}]>      "layers.*.up": ColwiseParallel()
    "tokens"              <@mesh, [{"dp"}, {}]>      "tokens": [Shard(0), Replicate()]

A weight that one axis shards is described by the style that shards it so: torch stores weights of linear
layers as (outputs, inputs), and tables of embeddings as (rows, columns). What a value is used for tells them
apart.

Not here: which shardings are proposed (`proposals.py`), placements as objects of torch (`frontends/torch/`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import is_parameter
from shardy_py.mlir.record import record_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.ops import TABLE, Family
from shardy_py.propagation.rules import derive_rule
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.torch_held import held_along, is_gather
from shardy_py.search.advice.torch_layers import TorchLayer, forward_uses, takes_styles
from shardy_py.sharding import Mesh, TensorSharding

_MATRIX = 2
COLUMNS, ROWS = "ColwiseParallel()", "RowwiseParallel()"


def placements_text(sharding: TensorSharding, mesh: Mesh) -> str:
    """Returns the placements of a sharding of whole axes, one a mesh dimension.

    >>> from shardy_py.sharding import AxisRef, DimensionSharding
    >>> both = DimensionSharding((AxisRef("tp"), AxisRef("dp")), True)
    >>> placements_text(TensorSharding("mesh", (both,)), Mesh.of(dp=2, tp=4))
    '[_StridedShard(0, split_factor=4), Shard(0)]'
    """
    found: dict[str, str] = {}
    order = [axis.name for axis in mesh.axes]
    for number, dimension in enumerate(sharding.dimensions):
        names = [axis.name for axis in dimension.axes]
        for place, name in enumerate(names):
            later = [each for each in names[:place] if order.index(each) > order.index(name)]
            factor = prod(mesh.sizes[each] for each in later)
            found[name] = (
                f"_StridedShard({number}, split_factor={factor})" if factor > 1 else f"Shard({number})"
            )
    return f"[{', '.join(found.get(name, 'Replicate()') for name in order)}]"


def styles_of(entry: ValueEntry, sharding: TensorSharding) -> dict[str, str]:
    """Returns the style by axis with which `parallelize_module` shards a weight like this.

    {} for values that are no weight or bias of a linear layer or embedding, and where a style does more.

    A style shards one dimension; biases lie as the outputs.
    """
    return {} if entry.value is None else styles_of_parameter(entry.label, entry.value, sharding)


def styles_of_parameter(label: str, value: SSAValue, sharding: TensorSharding) -> dict[str, str]:
    """Returns the styles of `styles_of` for an argument of a label."""
    by_axis = {axis.name: d for d, dims in enumerate(sharding.dimensions) for axis in dims.axes}
    if not is_parameter(label) or not by_axis or not takes_styles(value):
        return {}
    kind = label.rpartition(".")[2]
    if kind == "bias" and len(sharding.dimensions) == 1:
        return dict.fromkeys(by_axis, COLUMNS) if _is_of_product(value) else {}
    rows = _dimension_of_rows(value) if kind == "weight" else None
    return {} if rows is None else {axis: ROWS if d == rows else COLUMNS for axis, d in by_axis.items()}


def names_of(entries: Sequence[ValueEntry]) -> tuple[str, ...]:
    """Returns the names of arguments or results, as one pattern if it matches just these arguments."""
    names = tuple(dict.fromkeys(entry.label or entry.name for entry in entries))
    family = family_name(names[0])
    value = entries[0].value
    if len(names) == 1 or not isinstance(value, BlockArgument):
        return names
    labels = (name_in(argument.location) for argument in value.block.args)
    alike = {label for label in labels if family_name(label) == family}
    return (family,) if alike == {*names} else names


def words_of_values(entries: Sequence[ValueEntry], sharding: TensorSharding, mesh: Mesh) -> str:
    """Returns a sharding of arguments or results alike as an entry of a plan, or of placements by name."""
    first, *others = names_of(entries)
    more = f", and {len(others)} more alike" if others else ""
    if left_out := _left_out(entries[0], sharding):
        return f'leave "{first}" out of fully_shard along {", ".join(left_out)}{more}'
    styles = styles_of(entries[0], sharding)
    if len(styles) == 1:
        ((axis, style),) = styles.items()
        return f'"{first.rpartition(".")[0]}": {style} along {axis}{more}'
    return f'"{first}": {placements_text(sharding, mesh)}{more}'


def code_of(
    entries: Sequence[ValueEntry], sharding: TensorSharding, mesh: Mesh, layers: Mapping[str, TorchLayer]
) -> str:
    """Returns lines to paste for a sharding of arguments alike: calls of torch, or placements.

    layers: of the model, by path.
    Placements by name are those of `shardings=` of `from_exported` and `from_torch_training`.
    """
    names, styles = names_of(entries), styles_of(entries[0], sharding)
    left_out = _left_out(entries[0], sharding)
    if len(styles) == 1 and not left_out:
        ((axis, style),) = styles.items()
        paths = {(entry.label or entry.name).rpartition(".")[0] for entry in entries}
        if plan := _plan_of(entries[0].value, paths, axis, style == ROWS, mesh, layers):
            pairs = ", ".join(f'"{path}": {text}' for path, text in plan.items())
            return f'parallelize_module(model, mesh["{axis}"], {{{pairs}}})'
    placed = placements_text(sharding, mesh)
    given = ", ".join(f'"{name}": {placed}' for name in names)
    in_torch = "  # fully_shard(..., ignored_params={these})" if left_out else ""
    return f"shardings |= {{{given}}}{in_torch}"


def _plan_of(
    value: SSAValue | None,
    paths: Collection[str],
    axis: str,
    is_row: bool,
    mesh: Mesh,
    layers: Mapping[str, TorchLayer],
) -> dict[str, str]:
    """The styles of modules whose weights are sharded so, and of those with which they share features.

    {} where a module has no style. What a layer takes and returns depends on how the others are sharded.
    """
    block = value.owner if isinstance(value, BlockArgument) else None
    if not isinstance(block, Block) or not layers.keys() >= {*paths}:
        return {}
    found = held_along(block, axis, mesh.sizes[axis], layers, dict.fromkeys(paths, is_row))
    given = {path for path in paths if path in found.kept}
    held = {*found.columns, *found.rows}
    near = [
        path
        for path in layers
        if path in held and (path in paths or (path in found.kept and found.is_met(path, given, layers)))
    ]
    return _by_pattern({path: found.text(path) for path in near}, layers)


def _by_pattern(styles: Mapping[str, str], layers: Iterable[str]) -> dict[str, str]:
    """Styles by patterns of paths where all layers of a pattern have the same one."""
    families: dict[str, list[str]] = {}
    for path in layers:
        families.setdefault(_family(path), []).append(path)
    return {
        _family(path) if {styles.get(each) for each in families[_family(path)]} == {style} else path: style
        for path, style in styles.items()
    }


def _family(path: str) -> str:
    return family_name(f"{path}.weight").removesuffix(".weight")


def _left_out(entry: ValueEntry, sharding: TensorSharding) -> list[str]:
    """The axes of `fully_shard` along which a parameter would not be sharded any more."""
    before = entry.sharding
    if entry.value is None or before is None or not any(map(is_gather, entry.value.uses)):
        return []
    kept = {axis.name for dimension in sharding.dimensions for axis in dimension.axes}
    axes = (axis.name for dimension in before.dimensions for axis in dimension.axes)
    return [axis for axis in axes if axis not in kept]


def _dimension_of_rows(weight: SSAValue) -> int | None:
    """The dimension of a weight that `RowwiseParallel` shards: the one that the op on it does not keep.

    That is what a product contracts, and the rows that are looked up in a table. None for weights that are no
    matrices, as those of convolutions and norms, and for tied ones, whose uses keep different dimensions.
    """
    lost = {d for op, place in forward_uses(weight) for d in (_dimensions_lost(op, place),) if d is not None}
    return lost.pop() if len(lost) == 1 else None


def _dimensions_lost(op: Operation, place: int) -> int | None:
    """The dimension of a matrix that the op on it does not keep; None if it keeps both, or none."""
    rule = derive_rule(record_of(op))
    if rule is None or len(rule.operands[place]) != _MATRIX:
        return None
    kept = {factor for dimension in rule.results[0] for factor in dimension}
    lost = [d for d, factors in enumerate(rule.operands[place]) if kept.isdisjoint(factors)]
    return lost[0] if len(lost) == 1 else None


def _is_of_product(bias: SSAValue) -> bool:
    """True if a bias is added to a product."""
    readers = [op for op, _ in forward_uses(bias)]
    added = (user for op in readers for result in op.results for user, _ in forward_uses(result))
    owners = (operand.owner for op in (*readers, *added) for operand in operands_of(op))
    return any(isinstance(op, Operation) and TABLE[op.name].kind is Family.PRODUCT for op in owners)
