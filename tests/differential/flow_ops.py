"""Ops of random programs with regions, calls, and those of sdy: `family(writer, scope)` adds one op."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tests.differential.writer import INDEX, Kind, Scope, Value, Writer

Family = Callable[[Writer, Scope], None]
add_any: list[Family] = []
"""Filled in by `op_families`: what adds any op to a region."""


def constraint(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    name = w.name()
    text = w.shardings.text(value.kind.rank, scope.axes, has_priorities=scope.depth == 1 or w.chance(0.1))
    op = "reshard" if w.chance(0.15) else "sharding_constraint"
    w.line(scope, f"{name} = sdy.{op} {value.name} {text} : {value.kind}")
    scope.values.append(Value(name, value.kind))


def barrier(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    name, direction = w.name(), w.rng.choice(("NONE", "FORWARD", "BACKWARD"))
    text = f"sdy.propagation_barrier {value.name} allowed_direction={direction}"
    w.line(scope, f"{name} = {text} : {value.kind}")
    scope.values.append(Value(name, value.kind))


def group(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    number = w.groups.setdefault(value.kind, len(w.groups))
    w.line(scope, f"sdy.sharding_group {value.name} group_id={number} : {value.kind}")


def call(w: Writer, scope: Scope) -> None:
    if not w.functions:
        return
    function, takes, gives = w.rng.choice(w.functions)
    operands = [w.operand(scope, kind) for kind in takes]
    w.op(scope, "func.call", operands, gives, f"callee = @{function}")


def optimization_barrier(w: Writer, scope: Scope) -> None:
    values = [w.tensor(scope) for _ in range(w.rng.randint(1, 2))]
    w.op(scope, "stablehlo.optimization_barrier", values, [value.kind for value in values])


def loop(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    zero, made = w.zero(scope, "i32"), w.name()
    x, i, p = (
        Value(f"%{letter}{w.count}", kind)
        for letter, kind in zip("xip", (value.kind, INDEX, INDEX), strict=True)
    )
    pad, type_ = scope.indent, str(value.kind)
    end, following = zero.name, i.name
    if w.width.runs:
        end, step = (w.constant(scope, INDEX, number).name for number in ("2", "1"))
        following = f"%j{w.count}"
    head = f"stablehlo.while({x.name} = {value.name}, {i.name} = {zero.name}) : {type_}, tensor<i32>"
    w.lines += [
        f"{pad}{made}:2 = {head} cond {{",
        f"{pad}  {p.name} = stablehlo.compare LT, {i.name}, {end} : ({INDEX}, {INDEX}) -> tensor<i1>",
        f"{pad}  stablehlo.return {p.name} : tensor<i1>\n{pad}}} do {{",
    ]
    last = body(w, scope, [*scope.values, *[x] * 3], value.kind)
    if w.width.runs:
        w.lines.append(f"{pad}  {following} = stablehlo.add {i.name}, {step} : {INDEX}")
    w.lines.append(f"{pad}  stablehlo.return {last}, {following} : {type_}, tensor<i32>\n{pad}}}")
    scope.values.append(Value(f"{made}#0", value.kind))


def branches(w: Writer, scope: Scope) -> None:
    """A case of one to three branches, or an if."""
    value = w.tensor(scope)
    count = w.rng.randint(1, 3)
    op, index = ("case", w.zero(scope, "i32")) if w.chance(0.7) else ("if", w.zero(scope, "i1"))
    if w.width.runs and op == "case":
        index = w.constant(scope, INDEX, str(w.rng.randrange(count)))
    made, pad = w.name(), scope.indent
    ends = ["}, {"] * ((count if op == "case" else 2) - 1)
    w.lines.append(f'{pad}{made} = "stablehlo.{op}"({index.name}) ({{')
    for end in (*ends, f"}}) : ({index.kind}) -> {value.kind}"):
        last = body(w, scope, [*scope.values, *[value] * 3], value.kind)
        w.lines.append(f"{pad}  stablehlo.return {last} : {value.kind}\n{pad}{end}")
    scope.values.append(Value(made, value.kind))


def manual(w: Writer, scope: Scope) -> None:
    """A manual computation over one or two axes, that shard one dimension or nothing."""
    value = w.tensor(scope, 1)
    kind = value.kind
    axes = [axis for axis in scope.axes if w.chance(0.5)][:2]
    at, parts = w.dimension(kind), prod(size for _, size in axes)
    replicated = w.chance(0.2)
    if not axes or (kind.shape[at] % parts and not replicated):
        return
    rest = tuple(axis for axis in scope.axes if axis not in axes)
    inner = kind if replicated else kind.resized(at, kind.shape[at] // parts)
    made, pad = w.name(), scope.indent
    argument, names = Value(f"%b{w.count}", inner), [f'"{n}"' for n, _ in axes]

    def border() -> str:
        free = [f'"{n}"' for n, _ in rest if w.chance(0.3)]
        manual_here = [] if replicated else names
        dimensions = [[*manual_here, *free] if d == at else list[str]() for d in range(kind.rank)]
        texts = ("{" + ", ".join([*d, *["?"] * w.chance(0.7)]) + "}" for d in dimensions)
        whole = f", replicated={{{', '.join(names)}}}" if replicated else ""
        return f"[<@mesh, [{', '.join(texts)}]{whole}>]"

    w.lines.append(
        f"{pad}{made} = sdy.manual_computation({value.name}) in_shardings={border()} "
        f"out_shardings={border()} manual_axes={{{', '.join(names)}}} ({argument.name}: {inner}) {{"
    )
    last = body(w, scope, [argument], inner, rest)
    w.lines.append(f"{pad}  sdy.return {last} : {inner}")
    w.lines.append(f"{pad}}} : ({kind}) -> {kind}")
    scope.values.append(Value(made, kind))


def named(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    made, pad = w.name(), scope.indent
    argument, kind = Value(f"%n{w.count}", value.kind), value.kind
    shardings = ""
    if w.chance(0.3):
        texts = [f"[{w.shardings.text(kind.rank, scope.axes)}]" for _ in range(2)]
        shardings = f" in_shardings={texts[0]} out_shardings={texts[1]}"
    head = f'{made} = sdy.named_computation<"part{w.count}">({value.name}){shardings}'
    w.lines.append(f"{pad}{head} ({argument.name}: {kind}) {{")
    last = body(w, scope, [argument], kind)
    w.lines.append(f"{pad}  sdy.return {last} : {kind}")
    w.lines.append(f"{pad}}} : ({kind}) -> {kind}")
    scope.values.append(Value(made, kind))


def scan(w: Writer, scope: Scope) -> None:
    """A scan over the first dimension, its body a sum."""
    value = w.tensor(scope, 2, 2)
    start = w.operand(scope, Kind(value.kind.shape[1:]))
    kind, mark = str(start.kind), w.name()[1:]
    text = (
        "dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
    )
    region = (
        f"{{\n^bb0(%i{mark}: {kind}, %c{mark}: {kind}):\n"
        f"%s{mark} = stablehlo.add %i{mark}, %c{mark} : {kind}\n"
        f"stablehlo.return %s{mark}, %s{mark} : {kind}, {kind}\n}}"
    )
    w.op(scope, "chlo.scan", [value, start], [value.kind, start.kind], text, regions=[region])


def asynchronous(w: Writer, scope: Scope) -> None:
    """An op started and awaited."""
    value = w.tensor(scope)
    kind, mark = str(value.kind), w.name()[1:]
    region = (
        f'{{\n^bb0(%s{mark}: {kind}):\n%t{mark} = "stablehlo.all_reduce"(%s{mark}) '
        f"<{{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> ({w.combiner(['f32'])}) "
        f": ({kind}) -> {kind}\n"
        f"stablehlo.return %t{mark} : {kind}\n}}"
    )
    future = f"!stablehlo.future<{kind}>"
    made = w.op(scope, "stablehlo.async_start", [value], [future], regions=[region])
    w.op(scope, "stablehlo.async_done", made, [value.kind], operand_types=[future])


def body(
    w: Writer,
    scope: Scope,
    values: list[Value],
    kind: Kind,
    axes: tuple[tuple[str, int], ...] | None = None,
) -> str:
    """Ops in a region; the last value of the kind that is to be returned."""
    free = scope.axes if axes is None else axes
    inner = Scope(values, free, None, scope.depth + 1)
    for _ in range(w.rng.randint(1, 4) if free else 0):
        add_any[0](w, inner)
    last = next(value for value in reversed(inner.values) if value.kind == kind)
    w.uses.add(last.name)
    return last.name


IN_REGIONS = {
    constraint: (9, ("sdy.sharding_constraint", "sdy.reshard")),
    barrier: (4, ("sdy.propagation_barrier",)),
}
"""Weight, and the rows of the op table that a family adds ops of."""
AT_TOP = {
    optimization_barrier: (5, ("stablehlo.optimization_barrier",)),
    loop: (8, ("stablehlo.while",)),
    branches: (6, ("stablehlo.case", "stablehlo.if", "stablehlo.return")),
    manual: (14, ("sdy.manual_computation", "sdy.return")),
    scan: (1, ("chlo.scan",)),
    asynchronous: (1, ("stablehlo.async_start", "stablehlo.async_done")),
}
"""The same, for families with regions of their own."""
OPTIONAL = {
    group: ("groups", 4, ("sdy.sharding_group",)),
    call: ("calls", 8, ("func.call",)),
    named: ("named", 6, ("sdy.named_computation",)),
}
"""The same, for what a width may lack."""
