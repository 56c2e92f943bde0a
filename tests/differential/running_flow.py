"""Control flow and communication of random programs that run: `family(writer, scope)` adds one op.

Trip counts and branches that run-time values decide, sums whose terms are on several devices, collectives in
manual computations.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tests.differential.flow_ops import body
from tests.differential.writer import INDEX, SCALAR, Kind, Scope, Value, Writer, dims, table


def run_time_loop(w: Writer, scope: Scope) -> None:
    """A loop over two tensors, which may change places, as often as an argument says."""
    first = w.tensor(scope)
    second = w.operand(scope, first.kind) if w.chance(0.6) else w.tensor(scope)
    count, zero, made = w.operand(scope, INDEX), w.zero(scope, "i32"), w.name()
    most, step = (w.constant(scope, INDEX, number).name for number in ("3", "1"))
    mark, pad = w.count, scope.indent
    names = [f"%{letter}{mark}" for letter in "xyi"]
    kinds = [first.kind, second.kind, INDEX]
    carried = [Value(*pair) for pair in zip(names, kinds, strict=True)]
    starts = ", ".join(
        f"{own.name} = {given}"
        for own, given in zip(carried, (first.name, second.name, zero.name), strict=True)
    )
    types = ", ".join(map(str, kinds))
    w.lines += [
        f"{pad}{made}:3 = stablehlo.while({starts}) : {types} cond {{",
        f"{pad}  %m{mark} = stablehlo.minimum {count.name}, {most} : {INDEX}",
        f"{pad}  %p{mark} = stablehlo.compare LT, {names[2]}, %m{mark} : ({INDEX}, {INDEX}) -> tensor<i1>",
        f"{pad}  stablehlo.return %p{mark} : tensor<i1>\n{pad}}} do {{",
    ]
    last = body(w, scope, [*scope.values, *carried[:2] * 2], first.kind)
    following = [last, names[1]]
    if first.kind == second.kind and w.chance(0.5):
        following.reverse()
    w.lines += [
        f"{pad}  %j{mark} = stablehlo.add {names[2]}, {step} : {INDEX}",
        f"{pad}  stablehlo.return {', '.join(following)}, %j{mark} : {types}\n{pad}}}",
    ]
    scope.values += [Value(f"{made}#0", first.kind), Value(f"{made}#1", second.kind)]


def run_time_branches(w: Writer, scope: Scope) -> None:
    """Branches by an argument, or by a comparison of values."""
    value = w.tensor(scope)
    made, pad = w.name(), scope.indent
    if w.chance(0.5):
        op, index, count = "case", w.operand(scope, INDEX), w.rng.randint(2, 3)
    else:
        sides = [w.operand(scope, SCALAR).name for _ in range(2)]
        flag = f"%g{w.count}"
        w.line(
            scope, f"{flag} = stablehlo.compare LT, {', '.join(sides)} : ({SCALAR}, {SCALAR}) -> tensor<i1>"
        )
        op, index, count = "if", Value(flag, Kind((), "i1")), 2
    w.lines.append(f'{pad}{made} = "stablehlo.{op}"({index.name}) ({{')
    for end in (*["}, {"] * (count - 1), f"}}) : ({index.kind}) -> {value.kind}"):
        last = body(w, scope, [*scope.values, *[value] * 3], value.kind)
        w.lines.append(f"{pad}  stablehlo.return {last} : {value.kind}\n{pad}{end}")
    scope.values.append(Value(made, value.kind))


def partial_sums(w: Writer, scope: Scope) -> None:
    """Sums or maxima whose terms are on several devices, and their reshard."""
    axes = [name for name, size in scope.axes if size > 1]
    if not axes:
        return
    axis, value = w.rng.choice(axes), w.tensor(scope, 2, 3)
    rank = value.kind.rank
    whole = ["{}"] * (rank - 1)
    last = "{" + f'"{axis}"' + "}" if w.chance(0.7) else "{}"
    value = _resharded(w, scope, value, [*whole, last])
    *rows, size = value.kind.shape
    sort = w.rng.randrange(4)
    kind = Kind((*rows, w.size())) if sort == 0 else Kind(tuple(rows)) if sort == 1 else value.kind
    reduction = "max" if sort == 1 and w.chance(0.4) else ""
    terms = f'<@mesh, [{", ".join(["{?}"] * kind.rank)}], unreduced={reduction}{{"{axis}"}}>'
    given = f"{{sdy.sharding = #sdy.sharding_per_value<[{terms}]>}}"
    match sort:
        case 0:
            other = _resharded(w, scope, w.operand(scope, Kind((size, kind.shape[-1]))), [last, "{}"])
            numbers = (
                f"lhs_contracting_dimensions = [{value.kind.rank - 1}], rhs_contracting_dimensions = [0]"
            )
            text = f"<{{dot_dimension_numbers = #stablehlo.dot<{numbers}>}}>"
            call = f'"stablehlo.dot_general"({value.name}, {other.name}) {text} {given}'
            call += f" : ({value.kind}, {other.kind}) -> {kind}"
        case 1:
            start = w.constant(scope, SCALAR, "0xFF800000" if reduction else "0.0")
            region = w.combiner(["f32"], "stablehlo.maximum" if reduction else "stablehlo.add")
            text = f"<{{dimensions = {dims([value.kind.rank - 1])}}}> ({region})"
            call = f'"stablehlo.reduce"({value.name}, {start.name}) {text} {given}'
            call += f" : ({value.kind}, {SCALAR}) -> {kind}"
        case 2:
            call = f"stablehlo.add {value.name}, {value.name} {given} : {kind}"
        case _:
            call = f"sdy.reshard {value.name} {terms} : {kind}"
    name = w.name()
    w.line(scope, f"{name} = {call}")
    if not reduction and w.chance(0.5):
        before, name = name, w.name()
        op = w.rng.choice(("negate", "sine"))
        w.line(scope, f"{name} = stablehlo.{op} {before} {given} : {kind}")
    before, name = name, w.name()
    target = w.shardings.text(kind.rank, scope.axes, may_be_unreduced=False, has_priorities=False)
    w.line(scope, f"{name} = sdy.reshard {before} {target.replace('@turned', '@mesh')} : {kind}")
    scope.values.append(Value(name, kind))


def _resharded(w: Writer, scope: Scope, value: Value, dimensions: list[str]) -> Value:
    """The value sharded so, which no other op reads."""
    name = w.name()
    w.line(scope, f"{name} = sdy.reshard {value.name} <@mesh, [{', '.join(dimensions)}]> : {value.kind}")
    return Value(name, value.kind)


def manual_collectives(w: Writer, scope: Scope) -> None:
    """A collective in a manual computation over all axes."""
    value = w.tensor(scope, 1, 3)
    sizes = [size for _, size in w.mesh]
    at, parts = w.dimension(value.kind), prod(sizes)
    if w.shardings.has_device_ids or scope.axes != w.mesh or value.kind.shape[at] % parts:
        return
    names = ", ".join(f'"{name}"' for name, _ in w.mesh)
    mine = value.kind.resized(at, value.kind.shape[at] // parts)
    chosen = w.rng.sample(range(len(sizes)), w.rng.randint(1, len(sizes)))
    order = [i for i in range(len(sizes)) if i not in chosen] + sorted(chosen)
    many = prod(sizes[i] for i in chosen)
    groups = np.arange(parts).reshape(sizes).transpose(order).reshape(-1, many).tolist()
    made, pad = w.name(), scope.indent
    argument = Value(f"%b{w.count}", mine)
    inner = Scope([argument], (), None, scope.depth + 1)
    lines, w.lines = w.lines, []
    last = _collective(w, inner, argument, groups, many)
    own, w.lines = w.lines, lines
    out = last.kind.resized(at, last.kind.shape[at] * parts)
    sharding = ", ".join("{" + names + "}" if d == at else "{}" for d in range(value.kind.rank))
    border = f"[<@mesh, [{sharding}]>]"
    w.lines += [
        f"{pad}{made} = sdy.manual_computation({value.name}) in_shardings={border} "
        f"out_shardings={border} manual_axes={{{names}}} ({argument.name}: {mine}) {{",
        *own,
        f"{pad}  sdy.return {last.name} : {last.kind}",
        f"{pad}}} : ({value.kind}) -> {out}",
    ]
    scope.values.append(Value(made, out))


def _collective(w: Writer, scope: Scope, value: Value, groups: list[list[int]], many: int) -> Value:
    kind = value.kind
    d, e = w.dimension(kind), w.dimension(kind)
    channel = f"channel_handle = #stablehlo.channel_handle<handle = {w.count}, type = 1>"
    text = f"replica_groups = {table(groups)}, {channel}"
    world = f"{text}, use_global_device_ids"
    pairs = [(group[i], group[i - 1]) for group in groups for i in range(many)]
    sorts = ["all_reduce", "all_gather", "collective_permute"]
    if kind.shape[d] % many == 0:
        sorts += ["reduce_scatter", "all_to_all"]
    sort = w.rng.choice(sorts)
    to, regions = kind, list[str]()
    match sort:
        case "all_reduce":
            text, regions = world, [w.combiner(["f32"], w.rng.choice(("stablehlo.add", "stablehlo.maximum")))]
        case "all_gather":
            text, to = f"all_gather_dim = {d} : i64, {world}", kind.resized(d, kind.shape[d] * many)
        case "reduce_scatter":
            to = kind.resized(d, kind.shape[d] // many)
            text, regions = f"scatter_dimension = {d} : i64, {world}", [w.combiner(["f32"])]
        case "all_to_all":
            to = kind.resized(d, kind.shape[d] // many)
            to = to.resized(e, to.shape[e] * many)
            numbers = f"split_dimension = {d} : i64, concat_dimension = {e} : i64, split_count = {many} : i64"
            text = f"{numbers}, {text}"
        case _:
            text = f"source_target_pairs = {table(pairs)}, {channel}"
    (name,) = w.op(scope, f"stablehlo.{sort}", [value], [to], text, regions=regions)
    return Value(name, to)


IN_REGIONS = {partial_sums: (5, ("sdy.reshard",))}
"""Weight, and the rows of the op table that a family adds ops of."""
AT_TOP = {
    run_time_loop: (6, ("stablehlo.while",)),
    run_time_branches: (6, ("stablehlo.case", "stablehlo.if")),
    manual_collectives: (5, ("sdy.manual_computation", "stablehlo.all_reduce", "stablehlo.all_to_all")),
}
"""The same, for families with regions of their own."""
