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
from itertools import takewhile

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConstantOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import inputs_of, is_in, is_parameter, ops_by_module, outer_name
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols, module_of
from shardy_py.mlir.text.dense import is_splat
from shardy_py.mlir.value_shardings import sharding_of
from shardy_py.ops import TABLE, Family
from shardy_py.report.verdict import family_name
from shardy_py.search.advice.torch_held import gathered_axes, held_along, layers_in
from shardy_py.search.advice.torch_layers import forward_uses, unconstrained
from shardy_py.search.advice.torch_words import COLUMNS, ROWS, styles_of_parameter
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import mesh_of

REPLICATED = "Replicate()"
SEQUENCE, WHOLE_INPUT, WHOLE_OUTPUT = "SequenceParallel()", "PrepareModuleInput()", "PrepareModuleOutput()"
"""Styles of modules without sharded parameters: the last two of those that compute with whole tensors."""
_SIDES = ("input_layouts", "output_layouts")
"""The names of a plan's constraints in the program, and of the arguments of styles."""


@dataclass(frozen=True)
class ModuleStyle:
    """The style of a module.

    inputs, outputs: their layouts; "" where nothing says them. rank: of both. sequence: the dimension of
    `SequenceParallel`. is_local: whether the module takes a plain tensor, as its own parameters are.
    is_distributed: whether it returns a tensor of DTensor, for code that asks for the size of the whole.
    """

    name: str
    inputs: str = ""
    outputs: str = ""
    rank: int = 0
    sequence: int = 1
    is_local: bool = False
    is_distributed: bool = False

    def __str__(self) -> str:
        name = self.name.removesuffix("()")
        if self.name == WHOLE_INPUT:
            local = ", use_local_output=True" if self.is_local else ""
            return f"{name}(input_layouts=({self.inputs},), desired_input_layouts=({REPLICATED},){local})"
        if self.name == WHOLE_OUTPUT:
            return f"{name}(output_layouts={REPLICATED}, desired_output_layouts={self.outputs})"
        sharded = _shard(self.rank - 1)
        usual = (REPLICATED, sharded) if self.name == COLUMNS else (sharded, REPLICATED)
        names = zip(_SIDES, (self.inputs, self.outputs), usual, strict=True)
        texts = [f"{key}={layout}" for key, layout, its in names if layout not in ("", its)]
        if self.sequence != 1:
            texts.append(f"sequence_dim={self.sequence}")
        texts += ["use_local_output=False"] if self.is_distributed else []
        return f"{name}({', '.join(texts)})"

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
            families.setdefault(pattern_of(path), set()).add(path)
        found: dict[str, str] = {}
        for path in sorted(self.styles, key=self._place):
            style = self.styles[path]
            alike = families.get(pattern_of(path), {path})
            is_pattern = {self.styles.get(each) for each in alike} == {style}
            found[pattern_of(path) if is_pattern else path] = str(style)
        return found

    def _place(self, path: str) -> tuple[int, str]:
        """The place of the first module with parameters in a module, which goes before those in it."""
        inside = (number for number, each in enumerate(self.modules) if is_in(f"{each}/", path))
        return next(inside, len(self.modules)), path

    def merged(self, other: AxisPlan) -> AxisPlan:
        """Returns the styles of two plans along one axis, with the layouts of both."""
        both = {path: style.merged(other.styles.get(path, style)) for path, style in self.styles.items()}
        return replace(self, styles={**other.styles, **both})


NO_PLAN = AxisPlan("", {})


@dataclass(frozen=True)
class StreamReader:
    """A module whose product reads a value of a stream. origin: the path of the module that computes it."""

    path: str
    value: int
    origin: str


@dataclass(frozen=True)
class Stream:
    """The values that one value is added to, and what is computed from them up to the next products.

    is_whole: some term is an argument of the function, or computed outside of modules, of its whole size.
    terms: the paths of modules that compute others. between: those of modules that compute from the values.
    """

    is_whole: bool
    terms: tuple[str, ...]
    between: tuple[str, ...]
    readers: tuple[StreamReader, ...]


def stream_of(value: SSAValue) -> Stream:
    """Returns the stream of a value of the forward pass."""
    seen: dict[int, SSAValue] = {}
    between, readers = dict[Operation, None](), dict[StreamReader, None]()
    left = [value]
    while left:
        found = left.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        if found.type == value.type:
            left += _terms_of(found)
        for op, _ in forward_uses(found):
            if _is_product(op):
                origin = path_of(found.owner) if isinstance(found.owner, Operation) else ""
                readers[StreamReader(path_of(op), id(found), origin)] = None
            else:
                between[op] = None
                left += op.results
    alike = [each for each in seen.values() if each.type == value.type]
    origins = [each.owner for each in alike if isinstance(each.owner, Operation)]
    own = [op for op in origins if op not in between and not isinstance(op, ShardingConstraintOp)]
    own = [op for op in own if not _is_of_scalar(op)]
    whole = any(isinstance(each, BlockArgument) for each in alike)
    return Stream(
        whole or any(not path_of(op) for op in own),
        _paths(own),
        _paths(between),
        tuple(readers),
    )


def plan_of(value: SSAValue, sharding: TensorSharding) -> AxisPlan:
    """Returns the styles that give a value, and its stream, a sharding.

    Modules without a style return and take whole tensors, which others around them redistribute. `NO_PLAN`
    where styles do not say it: no term is a product of a parameter with a style, several axes shard them,
    norms would be over a sharded dimension, an argument is added, which torch would need sharded too, or code
    without a weight of its own computes or reads the value, as attention that is one module.
    """
    parameters = _parameters(value)
    modules = tuple(dict.fromkeys(label.rpartition(".")[0] for label in parameters))
    stream, last = stream_of(value), len(sharding.dimensions) - 1
    readers = [reader for reader in stream.readers if reader.path in modules]
    own = {path: _style_of(parameters, path) for path in (*stream.terms, *(each.path for each in readers))}
    # Norms have constants of their own among the terms; tables of embeddings work on what they look up.
    terms = [p for p in stream.terms if p in modules and (own[p][0] or p not in stream.between or own[p][1])]
    axes = {axis for axis, _ in own.values() if axis}
    axis = axes.pop() if len(axes) == 1 and terms else ""
    places = _places(sharding, axis)
    norms = [p for p in stream.between if p in modules and p not in terms and not _is_read_by(readers, p)]
    others = {*stream.terms, *(reader.path for reader in stream.readers)}.difference(modules)
    if not axis or stream.is_whole or (norms if places == [last] else others):
        return NO_PLAN
    layout, rank = _shard(*places) if places else REPLICATED, last + 1
    styles = {path: ModuleStyle(own[path][1] or WHOLE_OUTPUT, outputs=layout, rank=rank) for path in terms}
    styles |= {path: ModuleStyle(SEQUENCE, sequence=d) for path in norms for d in places}
    shared = _shared(value, readers) if layout != _shard(last) else {}
    styles |= {path: ModuleStyle(WHOLE_INPUT, inputs=layout, rank=rank) for path in shared.values()}
    for path in dict.fromkeys(each.path for each in readers):
        given = REPLICATED if path in shared else layout
        plain = not own[path][1]
        reader = ModuleStyle(own[path][1] or WHOLE_INPUT, inputs=given, rank=rank, is_local=plain)
        styles[path] = styles.get(path, reader).merged(reader)
    constrained = _layouts(value, axis)
    styles = {path: style.merged(constrained.get(path, style)) for path, style in styles.items()}
    return AxisPlan(axis, _fitting(styles, value, axis, sharding), modules)


def _fitting(
    styles: Mapping[str, ModuleStyle], value: SSAValue, axis: str, sharding: TensorSharding
) -> dict[str, ModuleStyle]:
    """The styles with layouts of the whole where the code beside a layer does not keep its features apart."""
    function = _function_of(value)
    if function is None:
        return dict(styles)
    mesh = mesh_of(sharding, Symbols(module_of(function)).meshes())
    layers = layers_in(function)
    held = held_along(function.body.block, axis, mesh.sizes[axis], layers)
    found = dict(styles)
    for path, style in styles.items():
        if path in layers and style.name in (COLUMNS, ROWS):
            whole = "" if path in held.kept else REPLICATED
            inputs, outputs = ("", whole) if style.name == COLUMNS else (whole, "")
            fitting = style.merged(ModuleStyle("", inputs, outputs))
            # Parts that no layer takes are DTensors in a plan that has them, as for loss_parallel.
            is_part = style.name == COLUMNS and style.outputs == _shard(style.rank - 1)
            distributed = path in held.distributed or (is_part and path not in held.kept)
            found[path] = replace(fitting, is_distributed=distributed)
    return found


def _is_read_by(readers: Iterable[StreamReader], path: str) -> bool:
    return any(reader.path == path for reader in readers)


def _shared(value: SSAValue, readers: Iterable[StreamReader]) -> dict[str, str]:
    """The module around those that read one value, by the path of each: it gathers the value once for all.

    The innermost module with all of them, to which the value comes from outside, as nothing else does: a
    style must have layouts of all inputs, whose order a program does not have.
    """
    function = _function_of(value)
    inside_of = ops_by_module(() if function is None else function.walk())
    by_value: dict[int, list[StreamReader]] = {}
    for reader in readers:
        by_value.setdefault(reader.value, []).append(reader)
    found: dict[str, str] = {}
    for group in by_value.values():
        parts = [reader.path.split(".")[:-1] for reader in group]
        alike = takewhile(lambda each: len(set(each)) == 1, zip(*parts, strict=False))
        around = ".".join(each[0] for each in alike)
        is_inside = is_in(f"{group[0].origin}/", around)
        is_several = len({reader.path for reader in group}) > 1
        if around and is_several and not is_inside and _takes_one(inside_of.get(around, ()), around):
            found |= {reader.path: around for reader in group}
    return found


def _takes_one(ops: Iterable[Operation], path: str) -> bool:
    """Returns whether the ops of a module read one value of others, besides its parameters."""
    origins = map(unconstrained, inputs_of(ops, path))
    return len({id(value) for value in origins if not _is_parameter_in(value, path)}) == 1


def _is_parameter_in(value: SSAValue, path: str) -> bool:
    return isinstance(value, BlockArgument) and name_in(value.location).startswith(f"{path}.")


def merged_plans(plans: Iterable[AxisPlan]) -> tuple[AxisPlan, ...]:
    """Returns one plan for each axis."""
    by_axis: dict[str, AxisPlan] = {}
    for plan in plans:
        by_axis[plan.axis] = by_axis[plan.axis].merged(plan) if plan.axis in by_axis else plan
    return tuple(by_axis.values())


def words_of_plan(plan: AxisPlan) -> str:
    """Returns a plan as an instruction: styles, each with its modules."""
    by_style: dict[str, list[str]] = {}
    for path, style in plan.entries.items():
        by_style.setdefault(style, []).append(f'"{path}"')
    styles = ", ".join(f"{', '.join(paths)}: {style}" for style, paths in by_style.items())
    return f"{styles} along {plan.axis}"


def code_of_plans(plans: Iterable[AxisPlan]) -> tuple[str, ...]:
    """Returns a call for the plans along each axis."""
    return tuple(
        f'parallelize_module(model, mesh["{plan.axis}"], {{{_pairs(plan.entries)}}})'
        for plan in merged_plans(plans)
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


def _is_of_scalar(op: Operation) -> bool:
    """Returns whether an op repeats one element, as a constant of all sizes does."""
    if isinstance(op, BroadcastInDimOp):
        type_ = tensor_type(operands_of(op)[0].type)
        return type_ is not None and not type_.shape
    value = op.value if isinstance(op, ConstantOp) else None
    return isinstance(value, DenseIntOrFPElementsAttr) and is_splat(value)


def path_of(op: Operation) -> str:
    """Returns the path of the module of an op; "" for the whole model."""
    return outer_name(op).rpartition("/")[0]


def _paths(ops: Iterable[Operation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(path_of, ops)))


def _style_of(parameters: Mapping[str, BlockArgument], path: str) -> tuple[str, str]:
    """The axis and style of the weight of a module; "" without one, or with several."""
    weight = parameters.get(f"{path}.weight")
    sharding = None if weight is None else sharding_of(weight)
    if weight is None or sharding is None:
        return "", ""
    styles = styles_of_parameter(f"{path}.weight", weight, sharding)
    gathered = gathered_axes(weight)
    own = [(axis, style) for axis, style in styles.items() if axis not in gathered]
    return own[0] if len(own) == 1 else ("", "")


def _layouts(value: SSAValue, axis: str) -> dict[str, ModuleStyle]:
    """The layouts along an axis that a plan of the program gives modules, by constraints with such names."""
    function, found = _function_of(value), dict[str, ModuleStyle]()
    for op in () if function is None else function.walk():
        path, _, side = outer_name(op).rpartition("/")
        sharding = sharding_of(op.results[0]) if isinstance(op, ShardingConstraintOp) else None
        if sharding is not None and side in _SIDES:
            places = _places(sharding, axis)
            layout = _shard(*places) if places else REPLICATED
            is_input = side == _SIDES[0]
            style = ModuleStyle("", layout if is_input else "", "" if is_input else layout)
            found[path] = style.merged(found.get(path, style))
    return found


def _places(sharding: TensorSharding, axis: str) -> list[int]:
    """The dimension that an axis shards, if any."""
    return [d for d, each in enumerate(sharding.dimensions) if axis in {a.name for a in each.axes}]


def _shard(dimension: int) -> str:
    return f"Shard({dimension})"


def pattern_of(path: str) -> str:
    """Returns the path of a module without the numbers of layers."""
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
