"""Follows remedies in JAX functions, and compares what XLA compiles before and after.

`python -m tests.advice.follow_remedies` prints a line a remedy: edits of arguments and results by their
place, constraints by wrapping the expression that the remedy shows in the source text.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

HEAD = """
import jax, jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint as constrain
"""
# Each: source of `f`, the shapes and specs of its arguments; batches of 64 and 4096 rows.
MLP = "def f(w, x):\n    h = jax.nn.relu(x @ w['up'])\n    return h @ w['down']\n"
TRAIN = (
    "def loss(w, x):\n    h = jax.nn.relu(x @ w['up'])\n    y = h @ w['down']\n    return (y**2).mean()\n"
    "def f(w, x):\n    g = jax.grad(loss)(w, x)\n    return jax.tree.map(lambda p, g: p - 0.1 * g, w, g)\n"
)
SCAN = (
    "def f(w, x):\n    def layer(x, w):\n        h = jnp.tanh(x @ w['up'])\n        return h @ w['down'], None\n"
    "    return lax.scan(layer, x, w)[0]\n"
)
EMBED = "def f(w, x):\n    e = w['table'][x]\n    return e @ w['out']\n"
NORM = (
    "def f(w, x):\n    n = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)\n"
    "    return n @ w['up']\n"
)
ATTENTION = (
    "def f(w, x):\n    q = x @ w['q']\n    k = x @ w['k']\n    s = jnp.einsum('bqd,bkd->bqk', q, k)\n"
    "    return jax.nn.softmax(s, -1) @ x\n"
)
MOE = "def f(w, x):\n    h = jnp.einsum('ecd,edf->ecf', x, w['up'])\n    return jnp.einsum('ecf,efd->ecd', h, w['down'])\n"

UP, DOWN = (128, 512), (512, 128)
Spec = tuple[Any, ...]


def programs() -> dict[
    str, tuple[str, dict[str, tuple[tuple[int, ...], Spec]], tuple[tuple[int, ...], Spec]]
]:
    """By name: source, the shapes and specs of `w`, and of `x`."""
    found: dict[str, Any] = {}
    styles = {
        "wrong_down": ((None, "y"), (None, "y"), ("x",)),
        "wrong_up": (("y",), ("y",), ("x",)),
        "fsdp": (("x",), ("x",), ("x",)),
        "fsdp_columns": ((None, "x"), (None, "x"), ("x",)),
    }
    for style, (up, down, x) in styles.items():
        for batch in (64, 4096):
            found[f"mlp_{style}_{batch}"] = MLP, {"up": (UP, up), "down": (DOWN, down)}, ((batch, 128), x)
            found[f"train_{style}_{batch}"] = TRAIN, {"up": (UP, up), "down": (DOWN, down)}, ((batch, 128), x)
        stacked = {"up": ((4, *UP), (None, *up)), "down": ((4, *DOWN), (None, *down))}
        found[f"scan_{style}"] = SCAN, stacked, ((1024, 128), x)
    table = {"table": ((8192, 128), ("y",)), "out": ((128, 512), ("y",))}
    found["embedding"] = EMBED, table, ((64, 16), ("x",))
    found["norm"] = NORM, {"up": (UP, (None, "y"))}, ((1024, 128), ("x", "y"))
    heads = {"q": ((128, 128), (None, "y")), "k": ((128, 128), ("y",))}
    found["attention"] = ATTENTION, heads, ((16, 64, 128), ("x",))
    experts = {"up": ((8, *UP), ("x",)), "down": ((8, *DOWN), (None, "x"))}
    found["moe"] = MOE, experts, ((8, 256, 128), ("x",))
    return found


def main() -> None:
    import jax
    import jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    from shardy_py import Program, propagate
    from shardy_py.advice import Remedy, group_key, spec_text
    from shardy_py.spmd.model import Plan
    from tests.spmd.compiled import Hlo, partitioned

    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    folder = Path(tempfile.mkdtemp())

    def lowered(source: str, w: Any, x: Any, results: Any = None) -> Any:
        file = folder / f"p{abs(hash(source))}.py"
        file.write_text(source)
        names: dict[str, Any] = {}
        exec(compile(source, str(file), "exec"), names)
        with jax.set_mesh(mesh):
            shardings = {} if results is None else {"out_shardings": results}
            return jax.jit(names["f"], **shardings).lower(w, x)

    def array(shape: tuple[int, ...], spec: Any, dtype: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

    def spec_of(sharding: Any) -> tuple[Any, ...]:
        return tuple(tuple(a.name for a in d.axes) or None for d in sharding.dimensions)

    def followed(source: str, w: Any, x: Any, remedy: Remedy) -> Any:
        """The lowered function after the remedy; None if this script cannot follow it."""
        lines, w, results = source.splitlines(), dict(w), {}
        for edit in remedy.edits:
            if edit.kind == "constraint":
                if edit.site is None or not edit.site.text or edit.sharding is None:
                    return None
                given, spec = edit.site.text, spec_text(edit.sharding).replace("P(", "jax.P(")
                line = edit.site.place.line - 1
                lines[line] = lines[line].replace(given, f"constrain({given}, {spec})", 1)
                continue
            for entry in edit.values:
                if edit.sharding is None:
                    return None
                spec = spec_of(edit.sharding)
                if entry.role == "argument" and entry.label == "x":
                    x = array(x.shape, spec, x.dtype)
                elif name := re.search(r"\['(\w+)'\]", entry.label):
                    if entry.role == "argument":
                        w[name[1]] = array(w[name[1]].shape, spec, w[name[1]].dtype)
                    else:
                        results[name[1]] = NamedSharding(mesh, P(*spec))
                else:
                    return None
        given_results = {name: results.get(name) for name in w} if results else None
        return lowered("\n".join(lines) + "\n", w, x, given_results)

    def sent(text: str) -> tuple[Counter[str], int]:
        plan = Plan(tuple(Hlo(partitioned([text])[0].after).collectives()))
        return Counter(plan.bytes_by_kind), plan.bytes

    good = total = skipped = 0
    chosen = sys.argv[1:]
    for name, (source, weights, (shape, spec)) in programs().items():
        if chosen and name not in chosen:
            continue
        source = HEAD + source
        w = {key: array(*value, jnp.float32) for key, value in weights.items()}
        x = array(shape, spec, jnp.int32 if name == "embedding" else jnp.float32)
        before = lowered(source, w, x)
        result = propagate(Program.from_jax(before))
        report = result.communication(partitioner="xla")
        kinds_before, bytes_before = sent(before.as_text())
        done: set[str] = set()
        for use in {group_key(use): use for use in report.sending}.values():
            for remedy in result.remedies(use):
                if remedy.words in done:
                    continue
                done.add(remedy.words)
                after = followed(source, w, x, remedy)
                if after is None:
                    skipped += 1
                    continue
                kinds, bytes_after = sent(after.as_text())
                helps = bytes_after < bytes_before
                total, good = total + 1, good + helps
                print(f"{'ok ' if helps else 'BAD'} {name}: {remedy.words}: XLA {bytes_before} -> {bytes_after}, "
                      f"planned {remedy.before.total.bytes} -> {remedy.after.total.bytes}; {use.kind} "
                      f"{kinds_before[use.kind]} -> {kinds[use.kind]}", flush=True)  # fmt: skip
    print(f"{good} of {total} remedies help in what XLA compiles; {skipped} were not followed")


if __name__ == "__main__":
    main()
