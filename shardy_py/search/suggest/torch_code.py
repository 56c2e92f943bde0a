"""The shardings of a plan as calls of PyTorch: a mesh, styles of `parallelize_module`, `fully_shard`.

    parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    for index in range(2):
        fully_shard(model.get_submodule(f"layers.{index}"), mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])

Weights sharded along axes of the batch are gathered where they are used, so that is FSDP; along other axes
their modules have styles. `fully_shard` is called on each block of a container of blocks, whose weights are
gathered together and freed after its forward pass, then on the rest. Between modules with styles are plain
tensors, whole on every device, except where all that reads what a layer returns keeps its features apart. So
does `cross_entropy` under `loss_parallel`, of scores whose classes are sharded.
What no call says is a comment.

Not here: where what a layer returns goes (`advice/torch_layers.py`), code for JAX (`code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.search.advice.torch_layers import TorchModel
from shardy_py.search.advice.torch_styled import StyledLayers, styled
from shardy_py.search.suggest.code import Code, Row, by_path, spec_text
from shardy_py.search.suggest.schemes import Spec

_WEIGHT = ".weight"
_TORCH_NAME = re.compile(r"(\w+\.)+weight")
_PARAMETER = re.compile(r"\w+(\.\w+)*")
_WHOLE = "whole"
"""An axis of one device, along which weights are sharded that are whole."""
_MOST_LISTED = 8
"""Weights that are listed as not sharded, at most."""
_OF_ROUTER = 2
"""The dimensions of the weights of a router, of which the first is that of experts, too."""
_IMPORTS = {
    "fully_shard": "from torch.distributed.fsdp import fully_shard",
    "Replicate": "from torch.distributed.tensor import Replicate",
    "implicit_replication": "from torch.distributed.tensor.experimental import implicit_replication",
}
_CONTEXT = (
    "# heads are DTensors, the masks that they meet plain tensors: of the forward and the backward pass",
    "step_context = implicit_replication  # with step_context(): loss(model(x)).backward()",
)
_LOSS_CONTEXT = '''
@contextmanager
def step_context():
    """Goes around model, cross_entropy and backward pass: each device has scores of some classes."""
    with implicit_replication(), loss_parallel():
        yield

'''
_PART = '''
def part_of_batch(tensor, dimension=0):
    """Returns the part of the whole batch that this device passes to the model, and computes its loss of."""
    for axis in {axes}:
        tensor = tensor.chunk(mesh[axis].size(), dimension)[mesh[axis].get_local_rank()]
    return tensor
'''


@dataclass(frozen=True)
class TorchInput:
    """An input with the batch. batch: its dimension. spec: the axes of each dimension."""

    name: str
    batch: int
    spec: Spec


@dataclass(frozen=True)
class _TorchMesh:
    """The mesh of the code: axes of the batch that are always used together are one.

    axes: with their sizes. replicas: that along which weights are replicated; shards: sharded, of one device
    if they are not; "" where there is none.
    """

    axes: Mapping[str, int]
    replicas: str
    shards: str

    @property
    def batch(self) -> tuple[str, ...]:
        """The axes along which inputs are divided."""
        return tuple(each for each in (self.replicas, self.shards) if self.axes.get(each, 1) > 1)


def torch_lines(
    code: Code, data: Sequence[TorchInput], model: TorchModel, experts: Collection[str] = ()
) -> Iterator[str]:
    """Returns calls for PyTorch, and what they cannot say.

    data: the inputs with the batch. experts: weights whose first dimension is that of experts.

    Raises:
        ShardyError: no argument has the name of a weight of a module.
    """
    weights = [row for row in code.arguments if _TORCH_NAME.fullmatch(row.label)]
    if not weights:
        got = ", ".join(row.label or row.name for row in code.arguments[:3])
        expected = "arguments with the names of weights, as layers.0.weight"
        raise ShardyError.unexpected("code for torch", expected=expected, got=got)
    names = [axis.name for axis in code.mesh.axes]
    batch = list(
        dict.fromkeys(
            axis for each in data for axis in each.spec[each.batch : each.batch + 1] for axis in axis
        )
    )
    calls, said, styles = list[str](), set[tuple[str, str]](), list[StyledLayers]()
    layers = model.layers
    left = [row for row in weights if row.label.removesuffix(_WEIGHT) in layers]
    for axis in (name for name in names if name not in batch):
        held = {row.label.removesuffix(_WEIGHT): row for row in left if _dimension(row, axis) is not None}
        if held:
            styles.append(_styles(axis, held, model, code.mesh.sizes[axis]))
            calls += _parallelized(axis, held, styles[-1], model)
            said |= {(row.label, axis) for row in held.values()}
            left = [row for row in left if row.label.removesuffix(_WEIGHT) not in held]
    mesh = _mesh_of_batch(code.mesh.sizes, weights, batch)
    calls += _context(styles)
    wrapped = [*_wrapped(weights, batch, mesh, model.uncalled)]
    yield from _head(mesh, [*calls, *wrapped])
    yield from calls
    yield from _unsaid(code.arguments, batch, said, data, model.refused)
    yield from _kept_experts(code.arguments, batch, experts)
    yield from wrapped
    yield from _inputs(data, mesh.batch)
    yield from _constrained(code)


def _head(mesh: _TorchMesh, calls: Sequence[str]) -> Iterator[str]:
    """The imports of what the calls use, and the mesh."""
    used = {name for line in calls if not line.startswith("#") for name in re.findall(r"\b\w+", line)}
    if "contextmanager" in used:
        yield from ("from contextlib import contextmanager", "")
    yield "from torch.distributed.device_mesh import init_device_mesh"
    yield from (line for name, line in _IMPORTS.items() if name in used)
    styles = sorted(name for name in used if name.endswith("Parallel"))
    if styles:
        names = [*styles, *(name for name in ("loss_parallel", "parallelize_module") if name in used)]
        yield f"from torch.distributed.tensor.parallel import {', '.join(names)}"
    yield ""
    yield "device = next(model.parameters()).device.type"
    sizes, names = tuple(mesh.axes.values()), tuple(mesh.axes)
    yield f"mesh = init_device_mesh(device, {sizes}, mesh_dim_names={names})"


def _styles(axis: str, held: Mapping[str, Row], model: TorchModel, size: int) -> StyledLayers:
    """The styles of the layers whose weights an axis shards."""
    layers = model.layers
    rows = {path for path, row in held.items() if _dimension(row, axis) == layers[path].row_dimension}
    columns = [path for path in held if path not in rows]
    return styled(columns, [*filter(rows.__contains__, held)], layers, size, model.scores)


def _parallelized(
    axis: str, held: Mapping[str, Row], style: StyledLayers, model: TorchModel
) -> Iterator[str]:
    """The call for an axis; layers alike share a line."""
    texts: dict[Spec | None, str] = {((style.text(path),),): style.text(path) for path in held}
    by_style = [
        replace(row, label=path, path=row.path.removesuffix(_WEIGHT), spec=((style.text(path),),))
        for path, row in held.items()
    ]
    whole = [(path, _needing(path, model)) for path in style.columns if path not in style.kept]
    for path, reason in dict.fromkeys((_pattern(path), _pattern(reason)) for path, reason in whole if reason):
        yield f"# {path} returns whole features: {reason} needs them"
    yield from by_path(f"styles_along_{_identifier(axis)}", by_style, texts)
    yield f'parallelize_module(model, mesh["{axis}"], styles_along_{_identifier(axis)})'


def _needing(path: str, model: TorchModel) -> str:
    """The op that needs whole features of a layer, where another layer or a loss reads them; "" elsewhere."""
    if path in model.scores:
        return model.scores[path].ends
    return model.layers[path].ends if model.layers[path].readers else ""


def _context(styles: Iterable[StyledLayers]) -> Iterable[str]:
    """The context of a step, in which DTensors meet plain tensors, and the loss takes parts of scores."""
    if any(each.scored for each in styles):
        return _LOSS_CONTEXT.split("\n")[:-1]
    return _CONTEXT if any(each.distributed for each in styles) else ()


def _mesh_of_batch(sizes: Mapping[str, int], weights: Sequence[Row], batch: Collection[str]) -> _TorchMesh:
    held = {axis for row in weights for axes in row.spec or () for axis in axes}
    along = [[axis for axis in sizes if axis in batch and (axis in held) is each] for each in (False, True)]
    taken = sizes.keys() - {*batch}
    replicas, shards = (_free("_".join(group), taken) if group else "" for group in along)
    shards = shards or (_free(_WHOLE, {*taken, replicas}) if replicas else "")
    of_batch = zip((replicas, shards), along, strict=True)
    ours = {name: prod(sizes[axis] for axis in group) for name, group in of_batch if name}
    axes = dict[str, int]()
    for axis, size in sizes.items():
        axes |= ours if axis in batch else {axis: size}
    return _TorchMesh(axes, replicas, shards)


def _free(name: str, taken: Collection[str]) -> str:
    """A name that no other axis has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _wrapped(
    weights: Sequence[Row], batch: Collection[str], mesh: _TorchMesh, uncalled: Collection[str]
) -> Iterator[str]:
    """The calls by which weights are gathered, and gradients averaged, along the axes of the batch."""
    if not mesh.batch:
        return
    if mesh.shards in mesh.batch:
        own = [row for row in weights if any(axis in batch for axes in row.spec or () for axis in axes)]
        yield f"# {len(own)} weights are gathered along {mesh.shards} where they are used"
        if len(own) < len(weights):
            more = len(weights) - len(own)
            yield f"# so are {more} that the plan replicates, so that gradients are averaged"
    if mesh.replicas:
        yield f"# weights are replicated along {mesh.replicas}, and their gradients averaged"
    names = ", ".join(f'"{axis}"' for axis in (mesh.replicas, mesh.shards) if axis)
    paths = [row.label.removesuffix(_WEIGHT) for row in weights]
    for pattern, indices in blocks_of(paths, uncalled).items():
        is_range = indices == (*range(len(indices)),)
        yield f"for index in {f'range({len(indices)})' if is_range else indices}:"
        path = pattern.replace("*", "{index}")
        yield f'    fully_shard(model.get_submodule(f"{path}"), mesh=mesh[{names}])'
    yield f"fully_shard(model, mesh=mesh[{names}])"


def blocks_of(paths: Iterable[str], uncalled: Collection[str] = ()) -> dict[str, tuple[int, ...]]:
    """Returns the blocks of a model: their indices by pattern.

    paths: of the modules of weights. uncalled: modules whose forward pass is never called. A block is the
    outermost module with an index that has modules by name, beside at least one other. Neither a layer nor a
    list of blocks, which has no forward pass, is a block; of one that is not called, what is called in it is.

    >>> blocks_of(["embed", "layers.0.up", "layers.0.down", "layers.1.up", "head.0", "head.2"])
    {'layers.*': (0, 1)}
    >>> blocks_of(["layers.0.0.up", "layers.0.1.up", "layers.1.0.up", "layers.1.1.up"])
    {'layers.0.*': (0, 1), 'layers.1.*': (0, 1)}
    >>> blocks_of(["layers.0.mlp.up", "layers.1.mlp.up"], {"layers.0", "layers.1"})
    {'layers.*.mlp': (0, 1)}
    """
    inside: dict[tuple[str, ...], set[str]] = {}
    parts = [tuple(path.split(".")) for path in paths]
    for path in parts:
        for depth, name in enumerate(path[:-1]):
            if name.isdecimal():
                inside.setdefault(path[: depth + 1], set()).add(path[depth + 1])
    named = {path for path, names in inside.items() if not any(map(str.isdecimal, names))}
    found: dict[str, set[int]] = {}
    for path in parts:
        prefixes = [path[:end] for end in range(1, len(path) + 1)]
        block = next((each for each in prefixes[:-1] if each in named), None)
        around = prefixes[len(block) - 1 :] if block else []
        called = next((each for each in around if ".".join(each) not in uncalled), None)
        if block and called:
            pattern = ".".join((*block[:-1], "*", *called[len(block) :]))
            found.setdefault(pattern, set()).add(int(block[-1]))
    return {pattern: (*sorted(own),) for pattern, own in found.items() if len(own) > 1}


def _unsaid(
    rows: Sequence[Row],
    batch: Sequence[str],
    said: set[tuple[str, str]],
    data: Sequence[TorchInput],
    refused: Mapping[str, str],
) -> Iterator[str]:
    """Parameters that stay whole along an axis, as no style shards them so."""
    inputs = {each.name for each in data}
    modules = {(label.removesuffix(_WEIGHT), axis) for label, axis in said}
    found = dict[str, str]()
    for row in rows:
        is_state = not _PARAMETER.fullmatch(row.label) or row.label in inputs
        along = [a for axes in row.spec or () for a in axes if a not in batch]
        own = [
            a
            for a in along
            if (row.label, a) not in said and (row.label.rpartition(".")[0], a) not in modules
        ]
        if own and not is_state:
            kind = refused.get(row.label.removesuffix(_WEIGHT), "")
            of_kind = f", of {kind.rpartition('.')[2]}, which is not an nn.Linear" if kind else ""
            found[row.path] = f"#   {row.path}: {spec_text(row.spec)} of {row.type}{of_kind}"
    if found:
        yield "# not sharded, as no style of parallelize_module shards them so:"
        yield from [*found.values()][:_MOST_LISTED]
        if len(found) > _MOST_LISTED:
            yield f"#   and {len(found) - _MOST_LISTED} more"


def _kept_experts(rows: Sequence[Row], batch: Sequence[str], experts: Collection[str]) -> Iterator[str]:
    """Experts that stay on their devices along axes of the batch, whose samples are sent to them.

    No style of torch does so: torchtitan's `ExpertParallel` does, for modules that take rows by expert.
    """
    found = dict[str, tuple[str, str]]()
    for row in rows:
        spec: Spec = row.spec if row.spec and row.label in experts else ((),)
        along = [axis for axis in spec[0] if axis in batch]
        if along and len(spec) > _OF_ROUTER and "." in row.label and _PARAMETER.fullmatch(row.label):
            found[_pattern(row.label.rpartition(".")[0])] = ", ".join(along), row.type
    if found:
        yield "# experts of the plan stay on their devices, to which samples go; these calls gather them."
        yield "# A style of torchtitan keeps them, for modules that take rows in the order of experts:"
        for path, (axes, kind) in [*found.items()][:_MOST_LISTED]:
            yield f'#   along {axes}: {{"{path}": ExpertParallel()}}  # {kind}'


def _inputs(data: Sequence[TorchInput], batch: Sequence[str]) -> Iterator[str]:
    """How inputs are passed."""
    if batch:
        yield from _PART.replace("{axes}", repr(tuple(batch))).rstrip().split("\n")
        yield ""
        for each in data:
            more = f", {each.batch}" if each.batch else ""
            yield f"# {each.name} = part_of_batch({each.name}{more})"
        yield "# losses are means of parts; statistics of batches, as of BatchNorm, are of the part"
    others = {a for each in data for d, axes in enumerate(each.spec) for a in axes if d != each.batch}
    if others:
        yield f"# inputs are whole along {', '.join(sorted(others))}: modules take whole tensors"


def _dimension(row: Row, axis: str) -> int | None:
    """The dimension of a weight that an axis shards."""
    return next((d for d, axes in enumerate(row.spec or ()) if axis in axes), None)


def _identifier(axis: str) -> str:
    return re.sub(r"\W", "_", axis)


def _pattern(path: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=[./]|$)", "*", path)


def _constrained(code: Code) -> Iterable[str]:
    count = sum(len(each.values) for each in (*code.constraints, *(own for own, _ in code.changed)))
    return [f"# and {count} constraints on values inside, which the code for JAX lists"] if count else []
