"""Constraints between products as plans of PyTorch: styles of the modules that compute and read a value.

    h @ w_down sharded along the sequence       "layers.*.down": RowwiseParallel(output_layouts=Shard(1))
                                                "layers.*.norm": SequenceParallel()
                                                "layers.*.up": ColwiseParallel(input_layouts=Shard(1))

Propagation carries a constraint on one value to all that are added to it; DTensor needs a style of every
module on the way: of those that compute a term, those with parameters in between, and those whose products
read it. Modules and their parameters are known by the names in locations.

Not here: the words for arguments (`torch_words.py`), plans that a program is read with (`frontends/torch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import is_parameter, outer_name
from shardy_py.mlir.value_shardings import sharding_of
from shardy_py.ops import TABLE, Family
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.torch_words import COLUMNS, forward_uses, styles_of_parameter
from shardy_py.sharding import TensorSharding

_REPLICATED = "Replicate()"
_SEQUENCE = "SequenceParallel()"
_SIDES = ("input_layouts", "output_layouts")
"""The names of a plan's constraints in the program, and of the arguments of styles."""


@dataclass(frozen=True)
class ModuleStyle:
    """The style of a module.

    inputs, outputs: their layouts; "" where nothing says them. rank: of both. sequence: the dimension of
    `SequenceParallel`.
    """

    name: str
    inputs: str = ""
    outputs: str = ""
    rank: int = 0
    sequence: int = 1

    def __str__(self) -> str:
        sharded = _shard(self.rank - 1)
        usual = (_REPLICATED, sharded) if self.name == COLUMNS else (sharded, _REPLICATED)
        names = zip(_SIDES, (self.inputs, self.outputs), usual, strict=True)
        texts = [f"{key}={layout}" for key, layout, its in names if layout not in ("", its)]
        if self.sequence != 1:
            texts.append(f"sequence_dim={self.sequence}")
        return f"{self.name.removesuffix('()')}({', '.join(texts)})"

    def merged(self, other: ModuleStyle) -> ModuleStyle:
        """Returns the style with the layouts of the other where it has none."""
        return replace(self, inputs=self.inputs or other.inputs, outputs=self.outputs or other.outputs)


@dataclass(frozen=True)
class AxisPlan:
    """Styles of modules along an axis, by path.

    modules: the paths of all modules with parameters.
    """

    axis: str
    styles: Mapping[str, ModuleStyle]
    modules: tuple[str, ...] = ()

    @property
    def entries(self) -> dict[str, str]:
        """The styles as texts, by patterns where all modules of a pattern have the same one."""
        families: dict[str, set[str]] = {}
        for path in self.modules:
            families.setdefault(_pattern(path), set()).add(path)
        found: dict[str, str] = {}
        for path, style in self.styles.items():
            alike = families.get(_pattern(path), {path})
            is_pattern = {self.styles.get(each) for each in alike} == {style}
            found[_pattern(path) if is_pattern else path] = str(style)
        return found

    def merged(self, other: AxisPlan) -> AxisPlan:
        """Returns the styles of two plans along one axis, with the layouts of both."""
        both = {path: style.merged(other.styles.get(path, style)) for path, style in self.styles.items()}
        return replace(self, styles={**other.styles, **both})


NO_PLAN = AxisPlan("", {})


@dataclass(frozen=True)
class Stream:
    """The values that one value is added to, and what is computed from them up to the next products.

    has_arguments: some term is an argument of the function. terms: the paths of modules that compute others.
    between: the paths of modules that compute from the values. readers: those of products that read one.
    """

    has_arguments: bool
    terms: tuple[str, ...]
    between: tuple[str, ...]
    readers: tuple[str, ...]


def stream_of(value: SSAValue) -> Stream:
    """Returns the stream of a value of the forward pass."""
    seen: dict[int, SSAValue] = {}
    between, readers = dict[Operation, None](), dict[Operation, None]()
    left = [value]
    while left:
        found = left.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        if found.type == value.type:
            left += _terms_of(found)
        for op, _ in forward_uses(found):
            (readers if _is_product(op) else between)[op] = None
            left += () if _is_product(op) else op.results
    alike = [each for each in seen.values() if each.type == value.type]
    origins = [each.owner for each in alike if isinstance(each.owner, Operation)]
    return Stream(
        any(isinstance(each, BlockArgument) for each in alike),
        _paths(op for op in origins if op not in between and not isinstance(op, ShardingConstraintOp)),
        _paths(between),
        _paths(readers),
    )


def plan_of(value: SSAValue, sharding: TensorSharding) -> AxisPlan:
    """Returns the styles that give a value, and its stream, a sharding.

    `NO_PLAN` where styles do not say it: no term is a product of a parameter with a style, several axes shard
    them, a module on the way has parameters but no style, norms would be over a sharded dimension, or an
    argument is added, which torch would need sharded too.
    """
    parameters = _parameters(value)
    modules = tuple(dict.fromkeys(label.rpartition(".")[0] for label in parameters))
    stream, last = stream_of(value), len(sharding.dimensions) - 1
    readers = [path for path in stream.readers if path in modules]
    found = [path for path in stream.terms if path in modules]
    own = {path: _style_of(parameters, path) for path in (*found, *readers)}
    # Norms have constants of their own among the terms; tables of embeddings work on what they look up.
    terms = [path for path in found if own[path][0] or path not in stream.between]
    own = {path: own[path] for path in (*terms, *readers)}
    axes = {axis for axis, _ in own.values()}
    axis = axes.pop() if len(axes) == 1 and terms else ""
    places = _places(sharding, axis)
    norms = [path for path in stream.between if path in modules and path not in own]
    if not axis or stream.has_arguments or (norms and places == [last]):
        return NO_PLAN
    layout, rank = _shard(*places) if places else _REPLICATED, last + 1
    styles = {path: ModuleStyle(own[path][1], outputs=layout, rank=rank) for path in terms}
    styles |= {path: ModuleStyle(_SEQUENCE, sequence=d) for path in norms for d in places}
    for path in readers:
        reader = ModuleStyle(own[path][1], inputs=layout, rank=rank)
        styles[path] = styles.get(path, reader).merged(reader)
    constrained = _layouts(value, axis)
    styles = {path: style.merged(constrained.get(path, style)) for path, style in styles.items()}
    return AxisPlan(axis, styles, modules)


def words_of_plan(plan: AxisPlan) -> str:
    """Returns a plan as an instruction: styles, each with its modules."""
    by_style: dict[str, list[str]] = {}
    for path, style in plan.entries.items():
        by_style.setdefault(style, []).append(f'"{path}"')
    styles = ", ".join(f"{', '.join(paths)}: {style}" for style, paths in by_style.items())
    return f"{styles} along {plan.axis}"


def code_of_plans(plans: Iterable[AxisPlan]) -> tuple[str, ...]:
    """Returns a call for the plans along each axis."""
    by_axis: dict[str, AxisPlan] = {}
    for plan in plans:
        by_axis[plan.axis] = by_axis[plan.axis].merged(plan) if plan.axis in by_axis else plan
    return tuple(
        f'parallelize_module(model, mesh["{axis}"], {{{_pairs(plan.entries)}}})'
        for axis, plan in by_axis.items()
    )


def _pairs(entries: Mapping[str, str]) -> str:
    return ", ".join(f'"{path}": {style}' for path, style in entries.items())


def _terms_of(value: SSAValue) -> Iterator[SSAValue]:
    """The values of the same type that a value is computed from; none for a product."""
    op = value.owner
    if isinstance(op, Operation) and not _is_product(op):
        yield from (each for each in operands_of(op) if each.type == value.type)


def _is_product(op: Operation) -> bool:
    return op.name in TABLE and TABLE[op.name].kind is Family.PRODUCT


def _paths(ops: Iterable[Operation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(outer_name(op).rpartition("/")[0] for op in ops))


def _style_of(parameters: Mapping[str, BlockArgument], path: str) -> tuple[str, str]:
    """The axis and style of the weight of a module; "" without one, or with several."""
    weight = parameters.get(f"{path}.weight")
    sharding = None if weight is None else sharding_of(weight)
    if weight is None or sharding is None:
        return "", ""
    styles = styles_of_parameter(f"{path}.weight", weight, sharding)
    return next(iter(styles.items())) if len(styles) == 1 else ("", "")


def _layouts(value: SSAValue, axis: str) -> dict[str, ModuleStyle]:
    """The layouts along an axis that a plan of the program gives modules, by constraints with such names."""
    function, found = _function_of(value), dict[str, ModuleStyle]()
    for op in () if function is None else function.walk():
        path, _, side = outer_name(op).rpartition("/")
        sharding = sharding_of(op.results[0]) if isinstance(op, ShardingConstraintOp) else None
        if sharding is not None and side in _SIDES:
            places = _places(sharding, axis)
            layout = _shard(*places) if places else _REPLICATED
            is_input = side == _SIDES[0]
            style = ModuleStyle("", layout if is_input else "", "" if is_input else layout)
            found[path] = style.merged(found.get(path, style))
    return found


def _places(sharding: TensorSharding, axis: str) -> list[int]:
    """The dimension that an axis shards, if any."""
    return [d for d, each in enumerate(sharding.dimensions) if axis in {a.name for a in each.axes}]


def _shard(dimension: int) -> str:
    return f"Shard({dimension})"


def _pattern(path: str) -> str:
    """The path of a module without the numbers of layers."""
    return family_name(f"{path}.weight").removesuffix(".weight")


def _parameters(value: SSAValue) -> dict[str, BlockArgument]:
    """The parameters among the arguments of the function of a value, by name."""
    function = _function_of(value)
    arguments = () if function is None else function.body.block.args
    return {name: each for each in arguments if is_parameter(name := name_in(each.location))}


def _function_of(value: SSAValue) -> FuncOp | None:
    op = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    while op is not None and not isinstance(op, FuncOp):
        op = op.parent_op()
    return op
