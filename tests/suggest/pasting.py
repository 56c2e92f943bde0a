"""Pastes the plans of suggestions for JAX functions, and compares what XLA compiles with what was promised.

`python -m tests.suggest.pasting [NAME...]` prints a line for each plan. What the code says is followed as it is
printed: constraints of the program are removed at their places, new ones are added around the expressions of
theirs, and the function is traced with shardings made from its own arguments.
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
import jax.numpy as jnp

from shardy_py import Program
from shardy_py.spmd.model import Plan as Sent
from shardy_py.suggest import Plan
from tests.spmd.compiled import Hlo, partitioned

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
    h = pin(jnp.einsum('td,edf->etf', x, w['up']), 'data', None, 'model')
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
    return (h @ model.down * more[0], flag)
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
}
"""Functions by name, with `arguments`; the numbers of the arguments that are `static` and `donated`."""


@dataclass(frozen=True)
class Pasted:
    """A plan, and the program with it; why it could not be pasted, "" if it could."""

    case: str
    plan: Plan
    text: str
    fault: str


def pasted(name: str, source: str, folder: Path, tries: int = 24) -> Iterator[Pasted]:
    """Returns the plans of a function and its named schemes, pasted."""
    names = _module(HEAD + source, folder / f"{name}.py")
    static, donated = names.get("static", ()), names.get("donated", ())
    lowered = jax.jit(names["f"], static_argnums=static, donate_argnums=donated).lower(*names["arguments"])
    program = Program.from_jax(lowered)
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
    own = [each for n, each in enumerate(arguments) if n not in static]
    parameters = [p for n, p in enumerate(inspect.signature(function).parameters.values()) if n not in static]
    positional = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    count = min(len(positional), len(own))
    trees = dict(zip(positional[:count], own, strict=False))
    others = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    shardings = given["sharded"](given["in_specs"], **trees)
    if others and own[count:]:
        shardings += given["sharded"](given["in_specs"], **{others[0]: tuple(own[count:])})[0]
    options: dict[str, Any] = {"static_argnums": static, "donate_argnums": edited.get("donated", ())}
    if "out_specs" in given:
        made = jax.eval_shape(lambda *a: function(*_with_static(a, arguments, static)), *own)
        (options["out_shardings"],) = given["sharded"](given["out_specs"], result=made)
    return jax.jit(function, in_shardings=shardings, **options).lower(*arguments).as_text()


def _with_static(given: Sequence[Any], arguments: Sequence[Any], static: Sequence[int]) -> list[Any]:
    rest = iter(given)
    return [each if n in static else next(rest) for n, each in enumerate(arguments)]


_PLACE = re.compile(r"#   (\S+):(\d+):(\d+)")


def _edited(source: str, code: str, file: str) -> str:
    """The source after the comments of the code: constraints removed and added, from the end of each line."""
    edits: list[tuple[int, int, str]] = []
    spec: str | None = None
    for line in code.splitlines():
        if line.startswith("# remove from the program"):
            spec = ""
        elif line.startswith("# add to the program"):
            spec = line[line.index("P(") : -2] if line.endswith("))") else None
            assert spec is not None, line
        elif line.startswith("# ") and not line.startswith("#  "):
            spec = None
        elif (match := _PLACE.match(line)) and spec is not None:
            assert match[1] == file, line
            edits.append((int(match[2]), int(match[3]), spec))
    lines = source.splitlines()
    for number, column, new in sorted(edits, key=lambda edit: (edit[0], -edit[1], edit[2] == ""), reverse=False):
        lines[number - 1] = _line_edited(lines[number - 1], column, new)
    return "\n".join(lines)


def _line_edited(line: str, column: int, spec: str) -> str:
    """Removes the constraint of the expression at a column, or adds one around it."""
    stripped = line.lstrip()
    indent = len(line) - len(stripped)
    tree = ast.parse(stripped)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and n.col_offset + indent == column]
    assert found, (line, column)
    if not spec:
        call = next(n for n in found if isinstance(n, ast.Call) and ast.unparse(n.func) == "pin")
        end = call.end_col_offset or 0
        kept = ast.unparse(call.args[0])
        return line[:column] + kept + line[indent + end :]
    outer = max(found, key=lambda n: n.end_col_offset or 0)
    end = indent + (outer.end_col_offset or 0)
    return f"{line[:column]}lax.with_sharding_constraint({line[column:end]}, NamedSharding(mesh, {spec})){line[end:]}"


def compared(names: Sequence[str]) -> Iterator[tuple[Pasted, int]]:
    """Returns the plans with the bytes that XLA sends; -1 where they cannot be pasted."""
    with tempfile.TemporaryDirectory() as folder:
        found = [each for name in names for each in pasted(name, CASES[name], Path(folder))]
    texts = list(dict.fromkeys(each.text for each in found if each.text))
    sent = dict(zip(texts, (Sent(tuple(Hlo(m.after).collectives())).bytes for m in partitioned(texts)), strict=True))
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
