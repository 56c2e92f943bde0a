"""Programs of which one quantity grows: `FAMILIES[name][0](n)` is the text of a program with n of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
ROW = "tensor<8xf32>"
SQUARE = "tensor<8x8xf32>"
SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
ARGUMENT = f"%a: {ROW} {SHARDED}"


def _function(
    arguments: Iterable[str], body: Iterable[str], results: str, types: str = ROW, *, before: str = MESH
) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    signature = ", ".join(arguments)
    return (
        f"{before}func.func @main({signature}) -> ({types}) {{\n{lines}\n  return {results} : {types}\n}}\n"
    )


def _repeated(n: int, type_: str = ROW) -> str:
    return ", ".join([type_] * n)


def _names(n: int, name: str = "%") -> str:
    return ", ".join(f"{name}{i}" for i in range(n))


def arguments(n: int) -> str:
    """A function of n arguments, of which one is used."""
    names = [f"%a{i}: {ROW} {SHARDED if i % 3 == 0 else ''}" for i in range(n)]
    return _function(names, [], "%a0")


def function_results(n: int) -> str:
    """A function of n results."""
    body = (f"%{i} = stablehlo.tanh %a : {ROW}" for i in range(n))
    return _function([ARGUMENT], body, _names(n), _repeated(n))


def rank(n: int) -> str:
    """A chain of element-wise ops on tensors of rank n."""
    type_ = f"tensor<{'2x' * n}f32>"
    dims = ", ".join('{"x"}' if i == 0 else "{?}" for i in range(n))
    body = [
        "%0 = stablehlo.add %a, %a : " + type_,
        *(f"%{i} = stablehlo.tanh %{i - 1} : {type_}" for i in range(1, 5)),
    ]
    return _function([f"%a: {type_} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}"], body, "%4", type_)


def transposed_rank(n: int) -> str:
    """A transpose, a broadcast and a reduction of a tensor of rank n."""
    type_ = f"tensor<{'1x' * (n - 1)}8xf32>"
    turned = f"tensor<8x{'1x' * (n - 1)}f32>"
    order = ", ".join(map(str, [n - 1, *range(n - 1)]))
    rest = ", ".join(map(str, range(1, n)))
    dims = ", ".join('{"x"}' if i == n - 1 else "{}" for i in range(n))
    body = [
        f"%0 = stablehlo.transpose %a, dims = [{order}] : ({type_}) -> {turned}",
        "%c = stablehlo.constant dense<0.0> : tensor<f32>",
        f"%1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [{rest}]"
        f" : ({turned}, tensor<f32>) -> {ROW}",
        f"%2 = stablehlo.broadcast_in_dim %1, dims = [0] : ({ROW}) -> {turned}",
        f"%3 = stablehlo.reshape %2 : ({turned}) -> {type_}",
    ]
    return _function([f"%a: {type_} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}"], body, "%3", type_)


def constant_uses(n: int) -> str:
    """One constant with n uses."""
    body = [f"%c = stablehlo.constant dense<1.0> : {ROW}", f"%0 = stablehlo.add %a, %c : {ROW}"]
    body += (f"%{i} = stablehlo.add %{i - 1}, %c : {ROW}" for i in range(1, n))
    return _function([ARGUMENT], body, f"%{n - 1}")


def constants(n: int) -> str:
    """n different constants."""
    body = [f"%c{i} = stablehlo.constant dense<{i}.0> : {ROW}" for i in range(n)]
    body += ["%0 = stablehlo.add %a, %c0 : " + ROW]
    body += (f"%{i} = stablehlo.add %{i - 1}, %c{i} : {ROW}" for i in range(1, n))
    return _function([ARGUMENT], body, f"%{n - 1}")


def results(n: int) -> str:
    """An op with n operands and n results."""
    body = [f"%0:{n} = stablehlo.optimization_barrier {', '.join(['%a'] * n)} : {_repeated(n)}"]
    return _function([ARGUMENT], body, "%0#0")


def concatenation(n: int) -> str:
    """A concatenate of n operands."""
    whole = f"tensor<{8 * n}xf32>"
    body = [f"%0 = stablehlo.concatenate {', '.join(['%a'] * n)}, dim = 0 : ({_repeated(n)}) -> {whole}"]
    return _function([ARGUMENT], body, "%0", whole)


def custom_call(n: int) -> str:
    """A custom call with n operands and n results."""
    body = [
        f"%0:{n} = stablehlo.custom_call @f({', '.join(['%a'] * n)}) : ({_repeated(n)}) -> ({_repeated(n)})"
    ]
    return _function([ARGUMENT], body, "%0#0")


def tuple_members(n: int) -> str:
    """A tuple of n members, each read."""
    type_ = f"tuple<{_repeated(n)}>"
    body = [f"%t = stablehlo.custom_call @f(%a) : ({ROW}) -> {type_}"]
    body += (f"%{i} = stablehlo.get_tuple_element %t[{i}] : ({type_}) -> {ROW}" for i in range(min(n, 8)))
    return _function([ARGUMENT], body, "%0")


def reduced(n: int) -> str:
    """A reduction of n tensors at once."""
    names, rows, scalars = ", ".join(["%a"] * n), _repeated(n), _repeated(n, "tensor<f32>")
    body = [
        "%c = stablehlo.constant dense<0.0> : tensor<f32>",
        f'%0:{n} = "stablehlo.reduce"({names}, {", ".join(["%c"] * n)}) <{{dimensions = array<i64: 0>}}> ({{',
        f"^bb0({', '.join(f'%x{i}: tensor<f32>' for i in range(2 * n))}):",
        *(f"  %s{i} = stablehlo.add %x{i}, %x{i + n} : tensor<f32>" for i in range(n)),
        f"  stablehlo.return {_names(n, '%s')} : {scalars}",
        f"}}) : ({rows}, {scalars}) -> ({scalars})",
    ]
    return _function([ARGUMENT], body, "%0#0", "tensor<f32>")


def dead_users(n: int) -> str:
    """A value with n unused users."""
    return _function([ARGUMENT], (f"%{i} = stablehlo.tanh %a : {ROW}" for i in range(n)), "%a")


def one_group(n: int) -> str:
    """n values in one sharding group."""
    body = [
        line
        for i in range(n)
        for line in (f"%{i} = stablehlo.tanh %a : {ROW}", f"sdy.sharding_group %{i} group_id=0 : {ROW}")
    ]
    return _function([ARGUMENT], body, "%0")


def groups(n: int) -> str:
    """n groups of two values."""
    body = [
        line
        for i in range(n)
        for line in (
            f"%{i} = stablehlo.tanh %a : {ROW}",
            f"sdy.sharding_group %{i} group_id={i} : {ROW}",
            f"%b{i} = stablehlo.negate %a : {ROW}",
            f"sdy.sharding_group %b{i} group_id={i} : {ROW}",
        )
    ]
    return _function([ARGUMENT], body, "%0")


def loop_values(n: int) -> str:
    """A loop that carries n values."""
    types = ", ".join(["tensor<i32>", *[ROW] * n])
    starts = ", ".join(["%i = %c", *(f"%v{i} = %a" for i in range(n))])
    body = [
        "%c = stablehlo.constant dense<0> : tensor<i32>",
        f"%r:{n + 1} = stablehlo.while({starts}) : {types}",
        "cond {",
        "  %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %p : tensor<i1>",
        "} do {",
        *(f"  %w{i} = stablehlo.tanh %v{i} : {ROW}" for i in range(n)),
        f"  stablehlo.return {', '.join(['%i', *(f'%w{i}' for i in range(n))])} : {types}",
        "}",
    ]
    return _function([ARGUMENT], body, "%r#1")


def nested_loops(n: int) -> str:
    """n loops, each in the one before."""
    types = f"tensor<i32>, {ROW}"
    heads, tails = list[str](), list[str]()
    for depth in range(n):
        outer = f"%v{depth - 1}" if depth else "%a"
        heads += [
            f"%r{depth}:2 = stablehlo.while(%i{depth} = %c, %v{depth} = {outer}) : {types}",
            "cond {",
            f"  %p = stablehlo.compare LT, %i{depth}, %i{depth} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  stablehlo.return %p : tensor<i1>",
            "} do {",
        ]
    for depth in reversed(range(n)):
        last = f"%v{depth}" if depth == n - 1 else f"%r{depth + 1}#1"
        tails += [
            f"%w{depth} = stablehlo.tanh {last} : {ROW}",
            f"stablehlo.return %i{depth}, %w{depth} : {types}",
            "}",
        ]
    return _function([ARGUMENT], ["%c = stablehlo.constant dense<0> : tensor<i32>", *heads, *tails], "%r0#1")


def loops(n: int) -> str:
    """n loops, one after the other."""
    body = ["%c = stablehlo.constant dense<0> : tensor<i32>"]
    for i in range(n):
        value = f"%r{i - 1}#1" if i else "%a"
        body += [
            f"%r{i}:2 = stablehlo.while(%i = %c, %v = {value}) : tensor<i32>, {ROW}",
            "cond {",
            "  %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  stablehlo.return %p : tensor<i1>",
            "} do {",
            f"  %w = stablehlo.tanh %v : {ROW}",
            f"  stablehlo.return %i, %w : tensor<i32>, {ROW}",
            "}",
        ]
    return _function([ARGUMENT], body, f"%r{n - 1}#1")


def branches(n: int) -> str:
    """A case with n branches."""
    regions = ", ".join(
        f"{{ %w = stablehlo.tanh %a : {ROW}\n stablehlo.return %w : {ROW} }}" for _ in range(n)
    )
    body = [
        "%c = stablehlo.constant dense<0> : tensor<i32>",
        f'%0 = "stablehlo.case"(%c) ({regions}) : (tensor<i32>) -> {ROW}',
    ]
    return _function([ARGUMENT], body, "%0")


def priorities(n: int) -> str:
    """n arguments, each sharded with a priority of its own, and an op each."""
    names = [f'%a{i}: {ROW} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}p{i}]>}}' for i in range(n)]
    return _function(names, (f"%{i} = stablehlo.tanh %a{i} : {ROW}" for i in range(n)), "%0")


def chain(n: int) -> str:
    """n ops, each used by the next."""
    body = [
        f"%0 = stablehlo.tanh %a : {ROW}",
        *(f"%{i} = stablehlo.tanh %{i - 1} : {ROW}" for i in range(1, n)),
    ]
    return _function([ARGUMENT], body, f"%{n - 1}")


def late_annotation(n: int) -> str:
    """A chain whose end has the only sharding, another along the other axis in the middle."""
    body = [
        f"%0 = stablehlo.tanh %a : {SQUARE}",
        *(f"%{i} = stablehlo.tanh %{i - 1} : {SQUARE}" for i in range(1, n)),
        f'%s = sdy.sharding_constraint %{n // 2} <@mesh, [{{?}}, {{"y", ?}}]> : {SQUARE}',
        f'%t = sdy.sharding_constraint %{n - 1} <@mesh, [{{"x", ?}}, {{?}}]> : {SQUARE}',
    ]
    return _function([f"%a: {SQUARE}"], body, "%t", SQUARE)


def matmuls(n: int) -> str:
    """n products of a value with n sharded weights, as in a deep network."""
    weights = [
        f'%w{i}: {SQUARE} {{sdy.sharding = #sdy.sharding<@mesh, [{{"{"xy"[i % 2]}"}}, {{}}]>}}'
        for i in range(n)
    ]
    body = (
        f"%{i} = stablehlo.dot_general %{i - 1 if i else 'a'}, %w{i}, contracting_dims = [1] x [0]"
        f" : ({SQUARE}, {SQUARE}) -> {SQUARE}"
        for i in range(n)
    )
    return _function([f"%a: {SQUARE}", *weights], body, f"%{n - 1}", SQUARE)


def reshards(n: int) -> str:
    """A chain of n constraints, each along another axis than the one before."""
    body = (
        f'%{i} = sdy.sharding_constraint %{i - 1 if i else "a"} <@mesh, [{{"{"xy"[i % 2]}"}}]> : {ROW}'
        for i in range(n)
    )
    return _function([ARGUMENT], body, f"%{n - 1}")


def constraints(n: int) -> str:
    """n constraints on one value."""
    body = [f"%v = stablehlo.tanh %a : {ROW}"]
    body += (f'%{i} = sdy.sharding_constraint %v <@mesh, [{{"{"xy"[i % 2]}"}}]> : {ROW}' for i in range(n))
    return _function([ARGUMENT], body, _names(n), _repeated(n))


def barriers(n: int) -> str:
    """A chain of n propagation barriers."""
    body = (
        f"%{i} = sdy.propagation_barrier %{i - 1 if i else 'a'} allowed_direction=FORWARD : {ROW}"
        for i in range(n)
    )
    return _function([ARGUMENT], body, f"%{n - 1}")


def calls(n: int) -> str:
    """n functions, each of which calls the next one."""
    functions = "".join(
        f"func.func private @f{i}(%x: {ROW}) -> {ROW} {{\n"
        + (
            f"  %0 = call @f{i + 1}(%x) : ({ROW}) -> {ROW}\n  return %0 : {ROW}\n}}\n"
            if i < n - 1
            else f"  return %x : {ROW}\n}}\n"
        )
        for i in range(n)
    )
    return _function([ARGUMENT], [f"%0 = call @f0(%a) : ({ROW}) -> {ROW}"], "%0") + functions


def functions(n: int) -> str:
    """n functions, each called once, one after the other."""
    body = (f"%{i} = call @f{i}(%{i - 1 if i else 'a'}) : ({ROW}) -> {ROW}" for i in range(n))
    return _function([ARGUMENT], body, f"%{n - 1}") + "".join(_tanh(f"@f{i}") for i in range(n))


def _tanh(name: str) -> str:
    return (
        f"func.func private {name}(%x: {ROW}) -> {ROW} {{\n"
        f"  %0 = stablehlo.tanh %x : {ROW}\n  return %0 : {ROW}\n}}\n"
    )


def callers(n: int) -> str:
    """One function, called n times."""
    body = (f"%{i} = call @f(%{i - 1 if i else 'a'}) : ({ROW}) -> {ROW}" for i in range(n))
    return _function([ARGUMENT], body, f"%{n - 1}") + _tanh("@f")


def roots(n: int) -> str:
    """n public functions."""
    return MESH + "".join(_tanh(f"@f{i}").replace(" private", "") for i in range(n))


def meshes(n: int) -> str:
    """n meshes, each of which shards an argument."""
    before = "".join(f'sdy.mesh @m{i} = <["x"={i + 1}]>\n' for i in range(n))
    names = [f'%a{i}: {ROW} {{sdy.sharding = #sdy.sharding<@m{i}, [{{"x"}}]>}}' for i in range(n)]
    body = (f"%{i} = stablehlo.tanh %a{i} : {ROW}" for i in range(n))
    return _function(names, body, _names(n), _repeated(n), before=before)


def named_computations(n: int) -> str:
    """n named computations, one after the other."""
    body: list[str] = []
    for i in range(n):
        body += [
            f'%{i} = sdy.named_computation<"f{i}">(%{i - 1 if i else "a"}) (%x: {ROW}) {{',
            f"  %t = stablehlo.tanh %x : {ROW}",
            f"  sdy.return %t : {ROW}",
            f"}} : ({ROW}) -> {ROW}",
        ]
    return _function([ARGUMENT], body, f"%{n - 1}")


def manual_computations(n: int) -> str:
    """n manual computations, one after the other."""
    body: list[str] = []
    for i in range(n):
        body += [
            f'%{i} = sdy.manual_computation(%{i - 1 if i else "a"}) in_shardings=[<@mesh, [{{"x"}}]>]'
            ' out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<4xf32>) {',
            "  %t = stablehlo.tanh %x : tensor<4xf32>",
            "  sdy.return %t : tensor<4xf32>",
            f"}} : ({ROW}) -> {ROW}",
        ]
    return _function([ARGUMENT], body, f"%{n - 1}")


def manual_operands(n: int) -> str:
    """A manual computation with n operands and n results."""
    shardings = ", ".join(['<@mesh, [{"x"}]>'] * n)
    body = [
        f"%0:{n} = sdy.manual_computation({', '.join(['%a'] * n)}) in_shardings=[{shardings}]"
        f' out_shardings=[{shardings}] manual_axes={{"x"}}'
        f" ({', '.join(f'%x{i}: tensor<4xf32>' for i in range(n))}) {{",
        *(f"  %t{i} = stablehlo.tanh %x{i} : tensor<4xf32>" for i in range(n)),
        f"  sdy.return {_names(n, '%t')} : {_repeated(n, 'tensor<4xf32>')}",
        f"}} : ({_repeated(n)}) -> ({_repeated(n)})",
    ]
    return _function([ARGUMENT], body, "%0#0")


FAMILIES: dict[str, tuple[Callable[[int], str], int]] = {
    "arguments": (arguments, 12_500),
    "function results": (function_results, 3_000),
    "rank": (rank, 2_500),
    "transposed rank": (transposed_rank, 500),
    "constant uses": (constant_uses, 6_250),
    "constants": (constants, 3_000),
    "results": (results, 10_000),
    "concatenation": (concatenation, 5_000),
    "custom call": (custom_call, 5_000),
    "tuple members": (tuple_members, 5_000),
    "reduced": (reduced, 2_000),
    "dead users": (dead_users, 10_000),
    "one group": (one_group, 5_000),
    "groups": (groups, 2_500),
    "loop values": (loop_values, 25_000),
    "nested loops": (nested_loops, 15),
    "loops": (loops, 500),
    "branches": (branches, 1_000),
    "priorities": (priorities, 1_000),
    "chain": (chain, 6_000),
    "late annotation": (late_annotation, 3_000),
    "matmuls": (matmuls, 1_500),
    "reshards": (reshards, 3_000),
    "constraints": (constraints, 2_000),
    "barriers": (barriers, 3_000),
    "calls": (calls, 250),
    "functions": (functions, 500),
    "callers": (callers, 500),
    "roots": (roots, 1_000),
    "meshes": (meshes, 1_000),
    "named computations": (named_computations, 500),
    "manual computations": (manual_computations, 500),
    "manual operands": (manual_operands, 2_000),
}
"""The programs, and the smaller of the two sizes that are compared."""
