"""Follows remedies in JAX functions, and compares what XLA compiles before and after.

`python -m tests.search.advice.follow_remedies` prints a line a remedy: edits of arguments and results by
their place, constraints by wrapping the expression that the remedy shows in the source text.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from shardy_py import Program, propagate
from shardy_py.mlir.text.source import stretch_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice import Edit, ExpressionSite, Remedy, group_key, spec_text
from shardy_py.sharding import AxisRef
from shardy_py.xla.spmd.model import CollectivePlan, PlannedCollective
from tests.xla.spmd.compiled import Hlo, partitioned

HEAD = """
import jax, jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint as constrain
from jax.sharding import PartitionSpec as P
"""
# Each: source of `f`, the shapes and specs of its arguments; batches of 64 and 4096 rows.
MLP = "def f(w, x):\n    h = jax.nn.relu(x @ w['up'])\n    return h @ w['down']\n"
TRAIN = (
    "def loss(w, x):\n    h = jax.nn.relu(x @ w['up'])\n    y = h @ w['down']\n    return (y**2).mean()\n"
    "def f(w, x):\n    g = jax.grad(loss)(w, x)\n    return jax.tree.map(lambda p, g: p - 0.1 * g, w, g)\n"
)
SCAN = (
    "def f(w, x):\n    def layer(x, w):\n        h = jnp.tanh(x @ w['up'])\n"
    "        return h @ w['down'], None\n"
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
MOE = (
    "def f(w, x):\n    h = jnp.einsum('ecd,edf->ecf', x, w['up'])\n"
    "    return jnp.einsum('ecf,efd->ecd', h, w['down'])\n"
)

HEADS = (
    "def f(w, x):\n    q = jnp.einsum('btd,dhk->bthk', x, w['q'])\n"
    "    k = jnp.einsum('btd,dhk->bthk', x, w['k'])\n"
    "    v = jnp.einsum('btd,dhk->bthk', x, w['v'])\n    s = jnp.einsum('bqhk,bthk->bhqt', q, k)\n"
    "    p = jax.nn.softmax(s, -1)\n    o = jnp.einsum('bhqt,bthk->bqhk', p, v)\n"
    "    return jnp.einsum('bqhk,hkd->bqd', o, w['o'])\n"
)
REMAT = TRAIN.replace("def f", "loss = jax.checkpoint(loss)\ndef f")
DEEP = (
    "def loss(w, x):\n    for i in range(4):\n        h = jax.nn.gelu(x @ w['up'][i])\n"
    "        x = x + h @ w['down'][i]\n"
    "    return (x**2).mean()\n" + TRAIN[TRAIN.index("def f") :]
)
CONV = (
    "def f(w, x):\n    c = lax.conv_general_dilated(x, w['conv'], (1, 1), 'SAME')\n"
    "    return jax.nn.relu(c) * w['scale']\n"
)
PINNED = "def f(w, x):\n    h = constrain(x @ w['up'], jax.P(None, 'x'))\n    return h @ w['down']\n"

TOP_K = "def f(w, x):\n    v, i = lax.top_k(x @ w['up'], 4)\n    return v.sum(-1) * 2\n"
ROUTER = (
    "def f(w, x):\n    p = jax.nn.softmax(jnp.einsum('btd,de->bte', x, w['gate']), -1)\n"
    "    v, i = lax.top_k(p, 2)\n    return v / v.sum(-1, keepdims=True)\n"
)
SAMPLES = "def f(w, x):\n    s = jnp.fft.fft(x @ w['up'])\n    return jnp.abs(s) @ w['down']\n"
GROUPED = (
    "def f(w, x):\n    c = lax.conv_general_dilated(x, w['conv'], (1, 1), 'SAME', feature_group_count=8)\n"
    "    return jax.nn.relu(c)\n"
)

SAMPLED = "def f(w, x):\n    v, i = lax.top_k(x @ w['up'], 8)\n    return jax.nn.softmax(v, -1)\n"
SPECTRA = "def f(w, x):\n    s = jnp.fft.rfft(x * w['up'])\n    return jnp.abs(s)\n"
DEPTHWISE = GROUPED.replace("feature_group_count=8", "feature_group_count=32").replace("relu", "tanh")

PADDED = (
    "N = 6\ndef f(w, x):\n    b, t, _ = x.shape\n"
    "    q, k, v = ((x @ w[n]).reshape(b, t, N, -1) for n in 'qkv')\n"
    "    p = jax.nn.softmax(jnp.einsum('bqhk,bthk->bhqt', q, k), -1)\n"
    "    o = jnp.einsum('bhqt,bthk->bqhk', p, v)\n    return o.reshape(b, t, -1) @ w['o']\n"
)
RESIDUAL = (
    "def norm(x):\n    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)\n"
    "def loss(w, x):\n    for i in range(3):\n        h = jax.nn.gelu(norm(x) @ w['up'][i])\n"
    "        x = x + h @ w['down'][i]\n    return (norm(x)**2).mean()\n"
)
REDUCED = "def f(w, x):\n    z = jnp.tanh(x @ w['up'])\n    return z.sum(0), jnp.exp(z).max(-1)\n"
SCORES = (
    "def f(w, x):\n    z = x @ w['up']\n    p = jax.nn.log_softmax(z, -1)\n"
    "    return (p * z).sum(-1).mean()\n"
)
LINEAR = (
    "def f(w, x):\n    def linear(x, weight):\n        return x @ weight.T\n"
    "    gate = jax.nn.silu(linear(x, w['gate']))\n    h = gate * linear(x, w['up'])\n"
    "    return x + linear(h, w['down'])\n"
)
GROUPED_HEADS = (
    "def f(w, x):\n    b, t, _ = x.shape\n    q = (x @ w['q'].T).reshape(b, t, 8, -1)\n"
    "    k, v = ((x @ w[n].T).reshape(b, t, 2, -1) for n in 'kv')\n"
    "    k, v = (jnp.repeat(each, 4, axis=2) for each in (k, v))\n"
    "    p = jax.nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', q, k), -1)\n"
    "    o = jnp.einsum('bhqk,bkhd->bqhd', p, v).reshape(b, t, -1)\n    return o @ w['o'].T\n"
)
REPEATED = (
    "def f(w, x):\n    h = jnp.concatenate([x] * 8)\n    h = h.reshape(8, *x.shape)\n"
    "    return jnp.einsum('emk,ekn->emn', h, w['up'])\n"
)
EXPERTS = (
    "def f(w, x):\n    h = jax.nn.relu(lax.ragged_dot(x, w['up'], w['sizes']))\n"
    "    return lax.ragged_dot(h, w['down'], w['sizes'])\n"
)

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
    megatron = {"up": (UP, (None, "y")), "down": (DOWN, ("y",))}
    table = {"table": ((8192, 128), ("y",)), "out": ((128, 512), ("y",))}
    found["embedding"] = EMBED, table, ((64, 16), ("x",))
    found["norm"] = NORM, {"up": (UP, (None, "y"))}, ((1024, 128), ("x", "y"))
    heads = {"q": ((128, 128), (None, "y")), "k": ((128, 128), ("y",))}
    found["attention"] = ATTENTION, heads, ((16, 64, 128), ("x",))
    experts = {"up": ((8, *UP), ("x",)), "down": ((8, *DOWN), (None, "x"))}
    found["moe"] = MOE, experts, ((8, 256, 128), ("x",))
    rows = {"up": (UP, ("y",)), "down": (DOWN, ("y",))}
    for batch in (64, 4096):
        found[f"remat_{batch}"] = REMAT, rows, ((batch, 128), ("x",))
        found[f"results_{batch}"] = TRAIN, megatron, ((batch, 128), ("x",)), {"up": ("y",), "down": ("y",)}
        found[f"results_of_axes_{batch}"] = (
            TRAIN,
            megatron,
            ((batch, 128), ("x",)),
            {"up": ("x",), "down": ("x",)},
        )
        found[f"pinned_{batch}"] = PINNED, megatron, ((batch, 128), ("x",))
    found["deep"] = DEEP, {k: ((4, *s), (None, *p)) for k, (s, p) in rows.items()}, ((1024, 128), ("x",))
    qkv = dict.fromkeys("qkv", ((128, 8, 16), (None, "y")))
    found["heads_wrong_output"] = (
        HEADS,
        {**qkv, "o": ((8, 16, 128), (None, None, "y"))},
        ((16, 64, 128), ("x",)),
    )
    found["heads_wrong_key"] = (
        HEADS,
        {**qkv, "k": ((128, 8, 16), ("y",)), "o": ((8, 16, 128), ("y",))},
        ((16, 64, 128), ("x",)),
    )
    found["conv"] = (
        CONV,
        {"conv": ((32, 16, 3, 3), (None, "y")), "scale": ((32, 1, 1), ("y",))},
        ((16, 16, 32, 32), ("x",)),
    )
    for batch in (64, 4096):
        found[f"top_k_{batch}"] = TOP_K, {"up": (UP, ())}, ((batch, 128), ("x",))
        found[f"top_k_of_both_{batch}"] = TOP_K, {"up": (UP, ())}, ((batch, 128), (("x", "y"),))
        found[f"router_{batch}"] = ROUTER, {"gate": ((64, 16), ())}, ((batch, 32, 64), ("x", "y"))
        weights = {"up": (UP, ()), "down": (DOWN, ())}
        found[f"fft_{batch}"] = SAMPLES, weights, ((batch, 128), ("x",))
    for name, axes in {"x": ("x",), "y": ("y",), "xy": (("x", "y"),)}.items():
        kernel = {"conv": ((64, 4, 3, 3), axes)}
        found[f"grouped_{name}"] = GROUPED, kernel, ((16, 32, 16, 16), (None, *axes))
        depthwise = {"conv": ((32, 1, 3, 3), axes)}
        found[f"depthwise_{name}"] = DEPTHWISE, depthwise, ((16, 32, 16, 16), (None, *axes))
        found[f"sampled_{name}"] = SAMPLED, {"up": (UP, ())}, ((512, 128), axes)
        found[f"spectra_{name}"] = SPECTRA, {"up": ((128,), ())}, ((512, 128), axes)
    for dimension in (16, 32):
        columns = ((128, 6 * dimension), (None, "x"))
        attention = {**dict.fromkeys("qkv", columns), "o": ((6 * dimension, 128), ("x",))}
        found[f"padded_{dimension}"] = PADDED, attention, ((16, 256, 128), ("y",))
        found[f"padded_rows_{dimension}"] = (
            PADDED,
            {**attention, "o": ((6 * dimension, 128), ())},
            (
                (16, 256, 128),
                ("y",),
            ),
        )
    layers = {"up": ((3, *UP), (None, None, "x")), "down": ((3, *DOWN), (None, "x"))}
    wide = {"up": ((3, 512, 1024), (None, None, "x")), "down": ((3, 1024, 512), (None, "x"))}
    found["memory"] = RESIDUAL + "f = loss\n", wide, ((8, 512, 512), ("y",))
    found["sequence"] = RESIDUAL + "f = loss\n", layers, ((16, 256, 128), ("y",))
    found["sequence_train"] = RESIDUAL + TRAIN[TRAIN.index("def f") :], layers, ((16, 256, 128), ("y",))
    for style, (rows, columns) in {
        "rows": (("x",), ()),
        "both": (("x",), ("x",)),
        "cross": ((), ("x",)),
    }.items():
        reduced = {"up": (UP, (*columns,) if style != "cross" else (None, "y"))}
        found[f"reduced_{style}"] = (
            REDUCED,
            reduced,
            ((4096, 128), (*rows, "y") if style == "cross" else rows),
        )
        found[f"scores_{style}"] = SCORES, reduced, ((4096, 128), rows or (None, "x"))
    for style, (outer, inner) in {"rows": ("x", None), "columns": (None, "x"), "mixed": ("y", "x")}.items():
        gated = dict.fromkeys(("gate", "up"), ((512, 128), (outer, inner)))
        gated["down"] = (DOWN[::-1], (outer, inner))
        found[f"linear_{style}"] = LINEAR, gated, ((16, 64, 128), ("y",))
        shared = {"q": ((256, 128), (outer,)), "o": ((128, 256), (inner,))}
        shared |= dict.fromkeys("kv", ((64, 128), (outer, inner)))
        found[f"grouped_heads_{style}"] = GROUPED_HEADS, shared, ((16, 64, 128), ("y",))
    for axes in ("x", "y"):
        repeated = {"up": ((8, *UP), (axes,))}
        found[f"repeated_{axes}"] = REPEATED, repeated, ((64, 128), ())
    for name, rows in {"": ("x",), "_of_data": (("y", "x"),), "_whole": ()}.items():
        experts = {
            "up": ((8, 128, 256), ("x",)),
            "down": ((8, 256, 128), ("x",)),
            "sizes": ((8,), ()),
        }
        found[f"experts{name}"] = EXPERTS, experts, ((4096, 128), rows)
    return found


@dataclass(frozen=True)
class Followed:
    """A remedy of a program, followed.

    use: the collective. before, after: StableHLO; after is "" if this script cannot follow the remedy.
    """

    name: str
    use: CollectiveUse
    remedy: Remedy
    before: str
    after: str


@dataclass(frozen=True)
class Function:
    """The source of `f`, with its arguments and the shardings of its results by their names."""

    source: str
    weights: dict[str, Any]
    data: Any
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    platform: str = "cpu"

    def lowered(self, folder: Path) -> Any:
        """Returns what `jax.jit` lowers, with locations in a file of the source."""
        file = folder / f"p{abs(hash(self.source))}.py"
        file.write_text(self.source)
        names: dict[str, Any] = {}
        exec(compile(self.source, str(file), "exec"), names)
        given = {"out_shardings": {k: self.results.get(k) for k in self.weights}} if self.results else {}
        traced = jax.jit(names["f"], **given).trace(self.weights, self.data)
        return traced.lower(lowering_platforms=(self.platform,))

    def after(self, edit: Edit) -> Function | None:
        """Returns the function after an edit; None if this script cannot follow it."""
        sharding = edit.sharding
        if edit.rewrite is not None:
            return self._rewritten(edit)
        if edit.kind == "constraint":
            spec = None if sharding is None else f"jax.{spec_text(sharding)}"
            return (
                self._changed(edit.values[0], spec)
                if edit.site is None
                else self._constrained(edit.site, spec)
            )
        spec = (
            None if sharding is None else P(*(tuple(map(_name, d.axes)) or None for d in sharding.dimensions))
        )
        return self._with_boundary(edit.values, spec)

    def _constrained(self, site: ExpressionSite, spec: str | None) -> Function | None:
        if not site.text or spec is None:
            return None
        lines, line = self.source.splitlines(keepends=True), site.place.line - 1
        start, text = site.place.column, site.text
        assert lines[line][start:].startswith(text), (lines[line], site)
        lines[line] = f"{lines[line][:start]}constrain({text}, {spec}){lines[line][start + len(text) :]}"
        return replace(self, source="".join(lines))

    def _rewritten(self, edit: Edit) -> Function | None:
        """Replaces the expression of a rewritten op by the code that the rewrite gives."""
        stretch = stretch_of(edit.values[0].location)
        if stretch is None or edit.rewrite is None:
            return None
        if edit.rewrite.name.startswith("pad "):
            return self._padded(edit.words("jax"))
        (start, end), lines = stretch, self.source.splitlines(keepends=True)
        line = lines[start.line - 1]
        code = edit.rewrite.code(line[start.column : end.column])
        lines[start.line - 1] = f"{line[: start.column]}{code}{line[end.column :]}"
        return replace(self, source="".join((*lines, edit.rewrite.definition))) if code else None

    def _padded(self, words: str) -> Function:
        """Makes the number `N` of the source, and weights, as large as the remedy says."""
        (sizes,) = re.findall(r"pad (\d+) to (\d+)", words)
        weights = dict(self.weights)
        for name, _, new in re.findall(r"w\['(\w+)'\] ([\dx]+) -> ([\dx]+)", words):
            like = weights[name]
            shape = tuple(map(int, new.split("x")))
            weights[name] = jax.ShapeDtypeStruct(shape, like.dtype, sharding=like.sharding)
        source = self.source.replace(f"N = {sizes[0]}\n", f"N = {sizes[1]}\n")
        return replace(self, source=source, weights=weights)

    def _changed(self, constraint: ValueEntry, spec: str | None) -> Function | None:
        """Changes or removes a constraint of the source."""
        stretch = stretch_of(constraint.location)
        assert stretch is not None
        (start, end), lines = stretch, self.source.splitlines(keepends=True)
        line = lines[start.line - 1]
        call = ast.parse(line[start.column : end.column], mode="eval").body
        assert isinstance(call, ast.Call), line
        given = ast.unparse(call.args[0])
        text = given if spec is None else f"constrain({given}, {spec})"
        lines[start.line - 1] = f"{line[: start.column]}{text}{line[end.column :]}"
        return replace(self, source="".join(lines))

    def _with_boundary(self, values: Sequence[ValueEntry], spec: P | None) -> Function | None:
        function = self
        for entry in values:
            name = re.search(r"\['(\w+)'\]", entry.label)
            if entry.role == "argument" and entry.label == "x" and spec is not None:
                function = replace(function, data=array(self.data, spec))
            elif name is None or (spec is None and entry.role == "argument"):
                return None
            elif entry.role == "argument":
                weights = {**function.weights, name[1]: array(self.weights[name[1]], spec)}
                function = replace(function, weights=weights)
            else:
                sharding = None if spec is None else NamedSharding(mesh(), spec)
                function = replace(function, results={**function.results, name[1]: sharding})
        return function


@cache
def mesh() -> Mesh:
    """The mesh of all programs."""
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)


def array(like: Any, spec: P) -> Any:
    """Returns an abstract array with another sharding."""
    return jax.ShapeDtypeStruct(like.shape, like.dtype, sharding=NamedSharding(mesh(), spec))


def made(name: str) -> Function:
    """Returns the function of a program."""
    source, weights, (shape, spec), *given = programs()[name]
    kind = jnp.int32 if name.startswith("embedding") else jnp.float32
    kinds = {"sizes": jnp.int32}
    w = {k: array(jax.ShapeDtypeStruct(s, kinds.get(k, jnp.float32)), P(*p)) for k, (s, p) in weights.items()}
    data = array(jax.ShapeDtypeStruct(shape, kind), P(*spec))
    results = {k: NamedSharding(mesh(), P(*p)) for each in given for k, p in each.items()}
    platform = "tpu" if "ragged_dot" in source else "cpu"  # which other compilers get as a dense product
    return Function(HEAD + source, w, data, results, platform)


def followed(name: str, folder: Path) -> Iterator[Followed]:
    """Returns the remedies of a program's report, each once, followed."""
    function = made(name)
    before = function.lowered(folder)
    result = propagate(Program.from_jax(before))
    report = result.communication(partitioner="xla")
    done: set[str] = set()
    for use in {group_key(use): use for use in report.sending}.values():
        for remedy in result.remedies(use):
            if remedy.words in done:
                continue
            done.add(remedy.words)
            edited: Function | None = function
            # From the end of the text, so that columns hold.
            for edit in sorted(remedy.edits, key=_from_the_end):
                edited = None if edited is None else edited.after(edit)
            after = "" if edited is None else edited.lowered(folder).as_text()
            yield Followed(name, use, remedy, before.as_text(), after)


def memory_saved(name: str, folder: Path) -> tuple[int, int] | None:
    """Returns the temporary bytes that XLA allocates without and with the change for memory of the verdict.

    None: the verdict has none.
    """
    function = made(name)
    before = function.lowered(folder)
    verdict = propagate(Program.from_jax(before)).verdict(partitioner="xla")
    (*_, change) = verdict.changes or (None,)
    if change is None or not change.is_for_memory or len(verdict.changes) > 1:
        return None
    lines = function.source.splitlines(keepends=True)
    for fix in sorted(change.fixes, key=lambda each: -each.start.column):
        line = lines[fix.start.line - 1]
        lines[fix.start.line - 1] = f"{line[: fix.start.column]}{fix.new}{line[fix.end.column :]}"
    after = replace(function, source="".join(lines)).lowered(folder)
    sizes = [each.compile().memory_analysis().temp_size_in_bytes for each in (before, after)]
    return sizes[0], sizes[1]


def _name(axis: AxisRef) -> str:
    return axis.name


def _from_the_end(edit: Edit) -> tuple[int, int]:
    place = None if edit.site is None else edit.site.place
    return (0, 0) if place is None else (-place.line, -place.column)


def sent(texts: Iterable[str]) -> dict[str, CollectivePlan]:
    """Returns what XLA sends for each program."""
    distinct = list(dict.fromkeys(texts))
    return {
        text: CollectivePlan(tuple(Hlo(each.after).collectives()))
        for text, each in zip(distinct, partitioned(distinct), strict=True)
    }


def all_followed(names: Iterable[str]) -> list[tuple[Followed, CollectivePlan | None, CollectivePlan]]:
    """Returns the remedies of programs with what XLA sends after (None: not followed), and before."""
    with tempfile.TemporaryDirectory() as folder, jax.set_mesh(mesh()):
        found = [each for name in names for each in followed(name, Path(folder))]
    plans = sent(text for each in found for text in (each.before, each.after) if text)
    return [(each, plans.get(each.after), plans[each.before]) for each in found]


def own_bytes(use: CollectiveUse, plan: CollectivePlan) -> int:
    """Returns the bytes that collectives of the kind and cost of one send in a plan."""

    def is_alike(each: PlannedCollective) -> bool:
        return each.kind == use.kind and each.bytes == each.times * use.cost.bytes

    return sum(each.bytes for each in plan.collectives if is_alike(each))


def helps(each: Followed, before: CollectivePlan, after: CollectivePlan) -> bool:
    """Returns whether less is sent in all, and the collective is gone or smaller."""
    kind = each.use.kind
    of_kind = [plan.bytes_by_kind.get(kind, 0) for plan in (before, after)]
    own = [own_bytes(each.use, plan) for plan in (before, after)]
    return after.bytes < before.bytes and (of_kind[1] < of_kind[0] or own[1] < own[0])


def main(names: Sequence[str]) -> int:
    """Prints a line a remedy, and how many help. Returns 0 if all do."""
    rows = all_followed(names or list(programs()))
    good = 0
    for each, after, before in rows:
        remedy, kind = each.remedy, each.use.kind
        if after is None:
            print(f"--- {each.name}: {remedy.words}")
            continue
        good += helps(each, before, after)
        planned = remedy.before.total.bytes, remedy.after.total.bytes
        is_exact = planned == (before.bytes, after.bytes)
        text = "as planned" if is_exact else f"planned {planned[0]} -> {planned[1]}"
        mark = "ok " if helps(each, before, after) else "BAD"
        print(f"{mark} {each.name}: {remedy.words}: {before.bytes} -> {after.bytes} ({text}), for {kind}")
    total = sum(after is not None for _, after, _ in rows)
    of = len({each.name for each, after, _ in rows if after is not None})
    rewritten = sum(
        after is not None and any(e.rewrite for e in each.remedy.edits) for each, after, _ in rows
    )
    print(f"{good} of {total} remedies of {of} programs help in what XLA compiles", end="; ")
    print(f"{rewritten} of them rewrites; {len(rows) - total} not followed")
    saved = True
    if "memory" in (names or ["memory"]):
        with tempfile.TemporaryDirectory() as folder, jax.set_mesh(mesh()):
            sizes = memory_saved("memory", Path(folder))
        saved = sizes is not None and sizes[1] < 0.9 * sizes[0]
        print(f"{'ok ' if saved else 'BAD'} memory: temporaries {sizes}")
    return int(good < len(rows) or not saved)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
