"""The shardings of a plan as calls of PyTorch: a mesh, styles of `parallelize_module`, `fully_shard`.

    parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    for index in range(2):
        fully_shard(model.get_submodule(f"layers.{index}"), mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])

Weights sharded along axes of the batch are gathered where they are used, so that is FSDP; along other axes
their modules have styles. `fully_shard` is called on each block of a container of blocks, whose weights are
gathered together and freed after its forward pass, then on the rest. Between modules with styles are plain
tensors, whole on every device, except where all that reads what a layer returns keeps its features apart.
What no call says is a comment.

Not here: where what a layer returns goes (`advice/torch_layers.py`), code for JAX (`code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.search.advice.torch_layers import TorchLayer, styled
from shardy_py.search.suggest.code import Code, Row, by_path, spec_text
from shardy_py.search.suggest.schemes import Spec

_WEIGHT = ".weight"
_TORCH_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*\.weight")
_PARAMETER = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
_MOST_LISTED = 8
"""Weights that are listed as not sharded, at most."""
_IMPORTS = {
    "fully_shard": "from torch.distributed.fsdp import fully_shard",
    "replicate": "from torch.distributed._composable.replicate_with_fsdp import replicate",
    "implicit_replication": "from torch.distributed.tensor.experimental import implicit_replication",
}
_CONTEXT = (
    "# heads are DTensors, the masks that they meet plain tensors: of the forward and the backward pass",
    "step_context = implicit_replication  # with step_context(): loss(model(x)).backward()",
)
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


def torch_lines(code: Code, data: Sequence[TorchInput], layers: Mapping[str, TorchLayer]) -> Iterator[str]:
    """Returns calls for PyTorch, and what they cannot say.

    data: the inputs with the batch. layers: of the model, by path.

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
    calls, said = list[str](), set[tuple[str, str]]()
    left = [row for row in weights if row.label.removesuffix(_WEIGHT) in layers]
    for axis in (name for name in names if name not in batch):
        held = {row.label.removesuffix(_WEIGHT): row for row in left if _dimension(row, axis) is not None}
        if held:
            calls += _parallelized(axis, held, layers, code.mesh.sizes[axis])
            said |= {(row.label, axis) for row in held.values()}
            left = [row for row in left if row.label.removesuffix(_WEIGHT) not in held]
    function, wrapped = _wrapped(weights, batch, names)
    calls += _CONTEXT if any("use_local_output" in line for line in calls) else ()
    functions = [function, *(["implicit_replication"] if _CONTEXT[0] in calls else [])]
    styles = sorted({each for line in calls for each in re.findall(r"\b(\w+Parallel)\(", line)})
    yield from _head(code, styles, functions, uses_replicate=any("Replicate()" in line for line in calls))
    yield from calls
    yield from _unsaid(code.arguments, batch, names, said, data)
    yield from wrapped
    yield from _inputs(data, batch)
    yield from _constrained(code)


def _head(
    code: Code, styles: Sequence[str], functions: Sequence[str], *, uses_replicate: bool
) -> Iterator[str]:
    yield "from torch.distributed.device_mesh import init_device_mesh"
    yield from (line for name, line in _IMPORTS.items() if name in functions)
    if uses_replicate:
        yield "from torch.distributed.tensor import Replicate"
    if styles:
        yield f"from torch.distributed.tensor.parallel import {', '.join(styles)}, parallelize_module"
    yield ""
    sizes, names = tuple(axis.size for axis in code.mesh.axes), tuple(axis.name for axis in code.mesh.axes)
    yield "device = next(model.parameters()).device.type"
    yield f"mesh = init_device_mesh(device, {sizes}, mesh_dim_names={names})"


def _parallelized(
    axis: str, held: Mapping[str, Row], layers: Mapping[str, TorchLayer], size: int
) -> Iterator[str]:
    """The call for an axis; layers alike share a line."""
    rows = {path for path, row in held.items() if _dimension(row, axis) == layers[path].row_dimension}
    style = styled(
        [path for path in held if path not in rows], [*filter(rows.__contains__, held)], layers, size
    )
    texts: dict[Spec | None, str] = {((style.text(path),),): style.text(path) for path in held}
    by_style = [
        replace(row, label=path, path=row.path.removesuffix(_WEIGHT), spec=((style.text(path),),))
        for path, row in held.items()
    ]
    whole = [
        (path, layers[path].ends)
        for path in style.columns
        if path not in style.kept
        if layers[path].readers and layers[path].ends
    ]
    for path, reason in dict.fromkeys((_pattern(path), _pattern(reason)) for path, reason in whole):
        yield f"# {path} returns whole features: {reason} needs them"
    yield from by_path(f"styles_along_{_identifier(axis)}", by_style, texts)
    yield f'parallelize_module(model, mesh["{axis}"], styles_along_{_identifier(axis)})'


def _wrapped(weights: Sequence[Row], batch: Sequence[str], names: Sequence[str]) -> tuple[str, list[str]]:
    """The function that reduces gradients along the axes of the batch, and its call."""
    if not batch:
        return "", []
    own = [row for row in weights if any(axis in batch for axes in row.spec or () for axis in axes)]
    along = sorted({a for row in own for axes in row.spec or () for a in axes if a in batch}, key=names.index)
    every = sorted(batch, key=names.index)
    meshes = ", ".join(f'"{axis}"' for axis in every)
    flat = "._flatten()" if len(every) > 1 else ""
    if not along:
        return "replicate", [
            f"# weights are replicated along {', '.join(every)}, and their gradients averaged",
            f"replicate(model, mesh=mesh[{meshes}]{flat})",
        ]
    lines = [f"# {len(own)} weights are gathered along {', '.join(along)} where they are used"]
    if len(own) < len(weights):
        lines.append(
            f"# so are {len(weights) - len(own)} that the plan replicates, so that gradients are averaged"
        )
    if len(every) == 2 and along == every[1:]:
        flat = ""  # a mesh of two axes is that of HSDP
        lines.append(f"# and replicated along {every[0]}")
    elif len(along) < len(every):
        lines.append(f"# fully_shard shards them along {', '.join(every)}, the axes of the batch")
    given = f"mesh[{meshes}]"
    if flat:
        lines.append(f"mesh_of_batch = {given}{flat}")
        given = "mesh_of_batch"
    for container, indices in blocks_of(row.label.removesuffix(_WEIGHT) for row in weights).items():
        is_range = indices == (*range(len(indices)),)
        prefix = f"{container}." if container else ""
        lines += [
            f"for index in {f'range({len(indices)})' if is_range else indices}:",
            f'    fully_shard(model.get_submodule(f"{prefix}{{index}}"), mesh={given})',
        ]
    return "fully_shard", [*lines, f"fully_shard(model, mesh={given})"]


def blocks_of(paths: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Returns the indices of blocks by the path of their container.

    paths: of the modules of weights. A block is the outermost module with an index that has modules by name,
    beside at least one other. Neither a layer nor a list of blocks, which has no forward pass, is a block.

    >>> blocks_of(["embed", "layers.0.up", "layers.0.down", "layers.1.up", "head.0", "head.2"])
    {'layers': (0, 1)}
    >>> blocks_of(["layers.0.0.up", "layers.0.1.up", "layers.1.0.up", "layers.1.1.up"])
    {'layers.0': (0, 1), 'layers.1': (0, 1)}
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
        prefixes = (path[:end] for end in range(1, len(path)))
        if block := next((each for each in prefixes if each in named), None):
            found.setdefault(".".join(block[:-1]), set()).add(int(block[-1]))
    return {container: (*sorted(own),) for container, own in found.items() if len(own) > 1}


def _unsaid(
    rows: Sequence[Row],
    batch: Sequence[str],
    names: Sequence[str],
    said: set[tuple[str, str]],
    data: Sequence[TorchInput],
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
            found[row.path] = f"#   {row.path}: {spec_text(row.spec)} of {row.type}"
    if found:
        yield "# not sharded, as no style of parallelize_module shards them so:"
        yield from [*found.values()][:_MOST_LISTED]
        if len(found) > _MOST_LISTED:
            yield f"#   and {len(found) - _MOST_LISTED} more"


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
