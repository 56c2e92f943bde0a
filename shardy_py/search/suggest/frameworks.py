"""The shardings of a plan as partition rules of flax, and as calls of PyTorch.

    rules = ((r"params\\['layers_\\d+'\\]\\['up'\\]", P(None, 'model')), ...)
    parallelize_module(model, mesh["model"], plan)
    fully_shard(model, mesh=mesh["data"])

Not here: code for JAX (`code.py`), which has all that a plan says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from shardy_py.base.errors import ShardyError
from shardy_py.search.suggest.code import Code, Row, by_path, mesh_lines, spec_text
from shardy_py.search.suggest.schemes import Spec

_RULES = r'''
def partition_specs(rules, **trees):
    """Returns trees with the spec of each leaf: that of the first rule that matches its path, else P()."""

    def spec(name, path):
        key = name + jax.tree_util.keystr(path)
        return next((own for pattern, own in rules if re.fullmatch(pattern, key)), P())

    with_path = jax.tree_util.tree_map_with_path
    return tuple(with_path(lambda path, _: spec(name, path), tree) for name, tree in trees.items())


# Of linen's variables, or of nnx.state(model), under the name that the argument of the step has:
# (specs,) = partition_specs(rules, {name}={name})
# shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)'''
_TORCH_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*\.weight")
_HEAD_OF_TORCH = (
    "import torch",
    "from torch.distributed.device_mesh import init_device_mesh",
    "from torch.distributed.fsdp import fully_shard",
    "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module",
    "",
)
_STYLE = '''
def style(path, dimension):
    """Returns what shards that dimension of a weight: those of embeddings are stored the other way round."""
    is_embedding = isinstance(model.get_submodule(path), torch.nn.Embedding)
    return RowwiseParallel() if (dimension == 0) == is_embedding else ColwiseParallel()

'''


def flax_lines(code: Code) -> Iterator[str]:
    """Returns rules for flax: a pattern of paths with the spec of what it matches, the most special first."""
    yield "import re"
    yield ""
    yield from mesh_lines(code)
    yield "rules = ("
    grouped: dict[str, list[Row]] = {}
    for row in code.arguments:
        grouped.setdefault(row.path or row.label or row.name, []).append(row)
    for path, rows in grouped.items():
        alike = len({row.spec for row in rows}) == 1
        patterns = [(_pattern(path), rows[0].spec)] if alike else [(re.escape(r.label), r.spec) for r in rows]
        yield from (f"    ({_raw(pattern)}, {spec_text(spec)})," for pattern, spec in patterns)
    yield ")"
    names = [re.split(r"[\[.]", row.label or row.name)[0] for row in code.arguments]
    yield from _RULES.replace("{name}", next(iter(names), "params")).split("\n")
    yield from _constrained(code)


def torch_lines(code: Code, data: Sequence[Spec]) -> Iterator[str]:
    """Returns calls for PyTorch, and what they cannot say.

    data: the shardings of inputs, along whose axes weights are gathered before they are used.

    Raises:
        ShardyError: no argument has the name of a weight of a module.
    """
    weights = [row for row in code.arguments if _TORCH_NAME.fullmatch(row.label)]
    if not weights:
        got = ", ".join(row.label or row.name for row in code.arguments[:3])
        expected = "arguments with the names of weights, as layers.0.weight"
        raise ShardyError.unexpected("code for torch", expected=expected, got=got)
    names = [axis.name for axis in code.mesh.axes]
    along_data = {axis for own in data for axes in own for axis in axes}
    used = {axis for row in weights for axes in row.spec or () for axis in axes}
    yield from _HEAD_OF_TORCH
    sizes = tuple(axis.size for axis in code.mesh.axes)
    yield f'mesh = init_device_mesh("cuda", {sizes}, mesh_dim_names={tuple(names)})'
    for axis in (name for name in names if name in used - along_data):
        held = [(row, d) for row in weights if (d := _dimension(row, axis)) is not None]
        yield from _STYLE.split("\n")
        yield from by_path(f"sharded_along_{axis}", [_module(row) for row, _ in held], _text_of(held))
        plan = f"{{path: style(path, dimension) for path, dimension in sharded_along_{axis}.items()}}"
        yield f'parallelize_module(model, mesh["{axis}"], {plan})'
    fully = [name for name in names if name in used & along_data]
    if fully:
        count = sum(any(axis in fully for axes in row.spec or () for axis in axes) for row in weights)
        flat = "._flatten()" if len(fully) > 1 else ""  # a mesh of two axes would be that of HSDP
        yield f"# {count} weights are gathered along {', '.join(fully)} where they are used"
        yield f"fully_shard(model, mesh=mesh[{', '.join(map(repr, fully))}]{flat})"
    inputs = ", ".join(dict.fromkeys(map(spec_text, data)))
    yield f"# inputs: {inputs or 'P()'}"
    yield from _constrained(code)


def _pattern(path: str) -> str:
    return re.escape(path).replace(r"\*", r"\d+")


def _raw(pattern: str) -> str:
    return repr(pattern) if '"' in pattern else f'r"{pattern}"'


def _dimension(row: Row, axis: str) -> int | None:
    """The dimension of a weight that an axis shards."""
    return next((d for d, axes in enumerate(row.spec or ()) if axis in axes), None)


def _module(row: Row) -> Row:
    """The row of the module that has a weight."""
    label, path = row.label.removesuffix(".weight"), row.path.removesuffix(".weight")
    return Row(row.name, path, label, row.type, row.spec)


def _text_of(held: Sequence[tuple[Row, int]]) -> dict[Spec | None, str]:
    return {row.spec: str(dimension) for row, dimension in held}


def _constrained(code: Code) -> Iterable[str]:
    count = sum(len(each.values) for each in (*code.constraints, *(own for own, _ in code.changed)))
    return [f"# and {count} constraints on values inside, which the code for JAX lists"] if count else []
