"""Pastes the plans of suggestions for JAX functions, and compares what XLA compiles with what was promised.

`python -m tests.search.suggest.pasting [NAME...]` prints a line for each plan. What the code says is
followed as it is printed: constraints of the program are removed at their places, new ones are added around
the expressions of theirs, and the function is traced with shardings made from its own arguments.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"

import jax

from shardy_py import Program
from shardy_py.search.suggest import Plan
from shardy_py.xla.spmd.model import CollectivePlan as Sent
from tests.xla.spmd.compiled import Hlo, partitioned

HEAD = """
import dataclasses, functools
import jax, jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
def pin(x, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))
def S(*shape, kind=jnp.float32):
    return jax.ShapeDtypeStruct(shape, kind)
"""
CASES = {
    "tuple": """
def f(w, x):
    h = jax.nn.relu(x @ w[0])
    return h @ w[1]
arguments = (S(256, 1024), S(1024, 256)), S(512, 256)
""",
    "layers": """
def f(layers, x):
    for each in layers:
        h = jax.nn.gelu(x @ each['up'] + each['bias'])
        x = x + h @ each['down']
    return {'y': x, 'mean': x.mean()}
layer = {'up': S(256, 1024), 'bias': S(1024), 'down': S(1024, 256), 'unused': S(3, 5)}
arguments = [layer] * 3, S(512, 256)
""",
    "train": """
def loss(w, x):
    h = pin(jax.nn.relu(x @ w['up']), None, 'model')
    y = pin(h @ w['down'], 'data')
    return (y ** 2).mean()
def f(w, x, unused):
    value, g = jax.value_and_grad(loss)(w, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, w, g), value
arguments = {'up': S(512, 2048), 'down': S(2048, 512)}, S(256, 512), S(7)
donated = (0,)
""",
    "moe": """
def f(w, x):
    gates = jax.nn.softmax(jnp.einsum('td,de->te', x, w['gate']), -1)
    h = jnp.einsum('td,edf->etf', x, w['up'])
    h = lax.with_sharding_constraint(h, NamedSharding(mesh, P('data', None, 'model')))
    y = pin(jnp.einsum('etf,efd->etd', jax.nn.silu(h), w['down']), None, 'data')
    return jnp.einsum('te,etd->td', gates, y)
arguments = {'gate': S(128, 8), 'up': S(8, 128, 512), 'down': S(8, 512, 128)}, S(512, 128)
""",
    "dataclass": """
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    up: object
    down: object
    scale: object
def f(model, x, flag, *more, power=2):
    h = jnp.tanh(x @ model.up) ** power
    return h @ model.down * more[0]
arguments = Model(S(256, 1024), S(1024, 256), S(9)), S(512, 256), 'static', S(256), S(4)
static = (2,)
""",
    "scan": """
def f(w, x):
    def layer(x, w):
        h = pin(jnp.tanh(x @ w['up']), 'data', 'model')
        return x + h @ w['down'], None
    return lax.scan(layer, x, w)[0]
arguments = {'up': S(4, 256, 1024), 'down': S(4, 1024, 256)}, S(512, 256)
""",
    "node": """
@jax.tree_util.register_pytree_node_class
class Node:
    def __init__(self, *children):
        self.children = children
    def tree_flatten(self):
        return self.children, None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
def f(node, x):
    return Node(jax.nn.relu(x @ node.children[0]) @ node.children[1])
arguments = Node(S(256, 1024), S(1024, 256), S(2, 2)), S(512, 256)
""",
    "remat": """
@jax.checkpoint
def layer(w, x):
    h = jax.nn.gelu(x @ w['up'])
    h = pin(h, 'data', 'model')
    return x + h @ w['down']
def loss(ws, x):
    for w in ws:
        x = layer(w, x)
    return (x ** 2).mean()
def f(state, x):
    value, g = jax.value_and_grad(loss)(state['w'], x)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, state['m'], g)
    w = jax.tree.map(lambda p, m: p - 0.1 * m, state['w'], m)
    return {'w': w, 'm': m, 'step': state['step'] + 1}, value
ws = [{'up': S(256, 1024), 'down': S(1024, 256)}] * 2
arguments = {'w': ws, 'm': ws, 'step': S(kind=jnp.int32)}, S(512, 256)
donated = (0,)
""",
    "given": """
def f(w, ids):
    x = w['table'][ids]
    @jax.jit
    def inner(x):
        q, k = x @ w['q'], x @ w['k']
        s = jnp.einsum('bqd,bkd->bqk', q, k)
        return lax.with_sharding_constraint(jax.nn.softmax(s, -1) @ x, NamedSharding(mesh, P(None, 'data')))
    x = inner(x)
    return x @ w['table'].T
def A(shape, *spec, kind=jnp.float32):
    return jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(mesh, P(*spec)))
arguments = {'table': A((4096, 128), 'model'), 'q': A((128, 128)), 'k': A((128, 128))}, A(
    (16, 64), 'data', kind=jnp.int32)
""",
    "accumulated": """
def loss(w, x):
    return (pin(jnp.tanh(pin(x @ w[0], 'data', 'model')) @ w[1], 'data') ** 2).mean()
def f(w, batches, rng):
    def body(total, x):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(w, x)), None
    g, _ = lax.scan(body, jax.tree.map(jnp.zeros_like, w), batches)
    noise = jax.random.normal(rng, w[0].shape)
    return (w[0] - 0.1 * g[0] + noise, w[1] - 0.1 * g[1])
arguments = (S(256, 1024), S(1024, 256)), S(4, 512, 256), S(2, kind=jnp.uint32)
""",
    "mapped": """
def f(w, x):
    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(P('data'),), out_specs=P('data'))
    def normal(x):
        return x / jnp.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6)
    h = normal(x) @ w['up']
    return normal(pin(h, 'data', 'model')) @ w['down']
arguments = {'up': S(256, 1024), 'down': S(1024, 256)}, S(512, 256)
""",
}
CASES["constrained"] = """
def f(w, x):
    h = lax.with_sharding_constraint(jnp.tanh(x @ w['up']), NamedSharding(mesh, P(None, 'data')))
    y = lax.with_sharding_constraint(h @ w['down'], NamedSharding(mesh, P('data', 'model')))
    z = lax.with_sharding_constraint(y @ w['up'], NamedSharding(mesh, P(('data', 'model'))))
    return z @ w['down']
arguments = {'up': S(1024, 4096), 'down': S(4096, 1024)}, S(4096, 1024)
"""
CASES["keywords"] = """
def f(x, *, up, down, scale=1.0, unused=None):
    return jax.nn.relu(x @ up) @ down * scale
arguments = (S(512, 256),)
keywords = {'up': S(256, 1024), 'down': S(1024, 256), 'unused': [S(3), S(4)]}
"""
CASES["without names"] = f"{CASES['tuple']}is_plain = True\n"
"""Functions by name, with `arguments`; the numbers of the arguments that are `static` and `donated`;
`keywords`.

is_plain: whether the program is read from text without locations.
"""


@dataclass(frozen=True)
class Pasted:
    """A plan, and the program with it; why it could not be pasted, "" if it could."""

    case: str
    plan: Plan
    text: str
    fault: str


def pasted(name: str, source: str, folder: Path, tries: int = 16) -> Iterator[Pasted]:
    """Returns the plans of a function and its named schemes, pasted."""
    names = _module(HEAD + source, folder / f"{name}.py")
    static, donated = names.get("static", ()), names.get("donated", ())
    lowered = jax.jit(names["f"], static_argnums=static, donate_argnums=donated).lower(
        *names["arguments"], **names.get("keywords", {})
    )
    is_plain = names.get("is_plain", False)
    program = Program.parse(lowered.as_text(), as_compiled=True) if is_plain else Program.from_jax(lowered)
    mesh = () if program.meshes else ({"data": 4, "model": 2},)
    suggestion = program.suggest(mesh, hardware="cpu", tries=tries, progress=False)
    plans = {plan.code(): plan for plan in (*suggestion.plans, *suggestion.schemes)}
    for number, (code, plan) in enumerate(plans.items()):
        try:
            yield Pasted(name, plan, _followed(code, names, folder / f"{name}_{number}.py"), "")
        except Exception as error:
            yield Pasted(name, plan, "", f"{type(error).__name__}: {error}")


def _module(text: str, file: Path) -> dict[str, Any]:
    file.write_text(text)
    names: dict[str, Any] = {"__file__": str(file)}
    exec(compile(text, str(file), "exec"), names)
    return names


def _followed(code: str, names: dict[str, Any], file: Path) -> str:
    """What JAX lowers the function to with a plan."""
    given: dict[str, Any] = {}
    exec(code, given)
    source = Path(names["__file__"]).read_text()
    edited = _module(_edited(source, code, names["__file__"]), file)
    function, arguments, static = edited["f"], edited["arguments"], edited.get("static", ())
    arguments = jax.tree.map(_without_sharding, arguments)
    own = [each for n, each in enumerate(arguments) if n not in static]
    parameters = [p for n, p in enumerate(inspect.signature(function).parameters.values()) if n not in static]
    positional = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    count = min(len(positional), len(own))
    trees = dict(zip(positional[:count], own, strict=False))
    others = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    if "in_order" in given:
        shardings = given["in_order"](given["in_specs"], tuple(own))
        return jax.jit(function, in_shardings=shardings).lower(*arguments).as_text()
    shardings = given["sharded"](given["in_specs"], **trees)
    if "keywords" in edited:  # which are placed
        placed = [_placed(tree, each) for tree, each in zip(own, shardings, strict=True)]
        trees = {
            name: _placed(each, *given["sharded"](given["in_specs"], **{name: each}))
            for name, each in edited["keywords"].items()
        }
        return jax.jit(function).lower(*placed, **trees).as_text()
    if others and own[count:]:
        shardings += given["sharded"](given["in_specs"], **{others[0]: tuple(own[count:])})[0]
    options: dict[str, Any] = {"static_argnums": static}
    if match := re.search(r"donate_argnames=(\(.*?\))", code):
        options["donate_argnames"] = ast.literal_eval(match[1])
    names_donated = [p.name for n, p in enumerate(parameters) if n in edited.get("donated", ())]
    assert [*options.get("donate_argnames", ())] == names_donated
    if "out_specs" in given:
        made = jax.eval_shape(lambda *a: function(*_with_static(a, arguments, static)), *own)
        (options["out_shardings"],) = given["sharded"](given["out_specs"], result=made)
    return jax.jit(function, in_shardings=shardings, **options).lower(*arguments).as_text()


def _without_sharding(leaf: Any) -> Any:
    """What `jax.device_put` places anew."""
    is_array = isinstance(leaf, jax.ShapeDtypeStruct)
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_array else leaf


def _placed(tree: Any, shardings: Any) -> Any:
    return jax.tree.map(
        lambda leaf, own: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=own), tree, shardings
    )


def _with_static(given: Sequence[Any], arguments: Sequence[Any], static: Sequence[int]) -> list[Any]:
    rest = iter(given)
    return [each if n in static else next(rest) for n, each in enumerate(arguments)]


_PLACE = re.compile(r"#   (\S+):(\d+):(\d+) to :(\d+) ")


def _edited(source: str, code: str, file: str) -> str:
    """The source after the comments of the code: constraints edited and added, from the end of each line."""
    edits: set[tuple[int, int, int, str, bool]] = set()
    is_own = False
    spec: str | None = None
    for line in code.splitlines():
        is_own = is_own if line.startswith("#  ") else not line.startswith("# add")
        if line.startswith("# remove from the program"):
            spec = ""
        elif line.startswith(("# add to the program", "# change in the program")):
            spec = line[line.rindex("NamedSharding(mesh, ") + 20 : -2] if line.endswith("))") else None
            assert spec is not None, line
        elif line.startswith("# ") and not line.startswith("#  "):
            spec = None
        elif (match := _PLACE.match(line)) and spec is not None:
            assert match[1] == file, line
            number, start, end = map(int, match.groups()[1:])
            edits.add((number, start, end, spec, is_own))
    lines = source.splitlines()
    done: list[tuple[int, int, int]] = []
    for number, start, end, new, removes in sorted(edits, key=lambda edit: (edit[0], -edit[1], edit[2])):
        line = lines[number - 1]
        end += sum(more for where, at, more in done if where == number and start <= at < end)
        lines[number - 1] = line[:start] + _replaced(line[start:end], new, removes) + line[end:]
        done.append((number, start, len(lines[number - 1]) - len(line)))
    return "\n".join(lines)


def _replaced(expression: str, spec: str, removes: bool) -> str:
    """The expression without its own constraint if that is removed, with another one if there is any."""
    if removes:
        call = ast.parse(expression, mode="eval").body
        assert isinstance(call, ast.Call), expression
        assert "constraint" in ast.unparse(call.func), expression
        expression = ast.unparse(call.args[0])
    return (
        f"lax.with_sharding_constraint({expression}, NamedSharding(mesh, {spec}))"
        if spec
        else f"({expression})"
    )


def compared(names: Sequence[str]) -> Iterator[tuple[Pasted, int]]:
    """Returns the plans with the bytes that XLA sends; -1 where they cannot be pasted."""
    with tempfile.TemporaryDirectory() as folder:
        found = [each for name in names for each in pasted(name, CASES[name], Path(folder))]
    texts = list(dict.fromkeys(each.text for each in found if each.text))
    sent = dict(
        zip(texts, (Sent(tuple(Hlo(m.after).collectives())).bytes for m in partitioned(texts)), strict=True)
    )
    return ((each, sent.get(each.text, -1)) for each in found)


def main(names: Sequence[str]) -> int:
    """Prints a line a plan; returns 0 if all send what was promised."""
    good = total = 0
    for each, bytes_ in compared(names or [*CASES]):
        promised = each.plan.cost.received_bytes
        total, good = total + 1, good + (bytes_ == promised)
        mark = "ok " if bytes_ == promised else "BAD"
        print(f"{mark} {each.case}: {each.plan.name}: promised {promised}, sends {bytes_} {each.fault[:300]}")
    print(f"{good} of {total} plans of {jax.__version__} send what was promised")
    return int(good < total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
