"""More programs of which one quantity grows, with the ops that partitioners change: see `families.py`."""

from __future__ import annotations

from collections.abc import Callable

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
ACTIVATION, INNER = "tensor<8x16xf32>", "tensor<8x32xf32>"
UP, DOWN = "tensor<16x32xf32>", "tensor<32x16xf32>"
UNEVEN = "tensor<7x16xf32>"


def _sharding(*dims: str) -> str:
    listed = ", ".join(f"{{{', '.join(f'{chr(34)}{axis}{chr(34)}' for axis in dim)}}}" for dim in dims)
    return f"{{sdy.sharding = #sdy.sharding<@mesh, [{listed}]>}}"


def _function(arguments: list[str], body: list[str], results: str, types: str) -> str:
    lines = "\n".join(f"  {line}" for line in body)
    return (
        f"{MESH}func.func @main({', '.join(arguments)}) -> ({types}) {{\n{lines}\n"
        f"  return {results} : {types}\n}}\n"
    )


_WEIGHTS = [f"%u: {UP} {_sharding('', 'y')}", f"%d: {DOWN} {_sharding('y', '')}"]
_INPUT = f"%a: {ACTIVATION} {_sharding('x', '')}"


def _dot(result: str, left: str, right: str, types: str, dims: str = "[1] x [0]") -> str:
    return f"{result} = stablehlo.dot_general {left}, {right}, contracting_dims = {dims} : {types}"


def layers(n: int) -> str:
    """n ops: products with sharded weights, activations, reductions, broadcasts, transposes, reshapes."""
    body = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    last, turned = "%a", "tensor<16x8xf32>"
    for i in range(max(1, n // 12)):
        body += [
            _dot(f"%h{i}", last, "%u", f"({ACTIVATION}, {UP}) -> {INNER}"),
            f"%t{i} = stablehlo.tanh %h{i} : {INNER}",
            _dot(f"%o{i}", f"%t{i}", "%d", f"({INNER}, {DOWN}) -> {ACTIVATION}"),
            f"%s{i} = stablehlo.add %o{i}, {last} : {ACTIVATION}",
            f"%m{i} = stablehlo.reduce(%s{i} init: %zero) applies stablehlo.add across dimensions = [1]"
            f" : ({ACTIVATION}, tensor<f32>) -> tensor<8xf32>",
            f"%b{i} = stablehlo.broadcast_in_dim %m{i}, dims = [0] : (tensor<8xf32>) -> {ACTIVATION}",
            f"%c{i} = stablehlo.constant dense<{i}.0> : {ACTIVATION}",
            f"%n{i} = stablehlo.subtract %s{i}, %b{i} : {ACTIVATION}",
            f"%p{i} = stablehlo.multiply %n{i}, %c{i} : {ACTIVATION}",
            f"%q{i} = stablehlo.transpose %p{i}, dims = [1, 0] : ({ACTIVATION}) -> {turned}",
            f"%r{i} = stablehlo.reshape %q{i} : ({turned}) -> tensor<4x4x8xf32>",
            f"%v{i} = stablehlo.reshape %r{i} : (tensor<4x4x8xf32>) -> {turned}",
            f"%w{i} = stablehlo.transpose %v{i}, dims = [1, 0] : ({turned}) -> {ACTIVATION}",
        ]
        last = f"%w{i}"
    return _function([_INPUT, *_WEIGHTS], body, last, ACTIVATION)


def training(n: int) -> str:
    """n ops forward whose values are all used again in reverse order."""
    body, half = list[str](), max(1, n // 2)
    for i in range(half):
        last = f"%f{i - 1}" if i else "%a"
        body.append(
            _dot(f"%f{i}", last, "%w", f"({ACTIVATION}, tensor<16x16xf32>) -> {ACTIVATION}")
            if i % 4 == 3
            else f"%f{i} = stablehlo.tanh {last} : {ACTIVATION}"
        )
    for i in range(half):
        gradient = f"%g{i - 1}" if i else f"%f{half - 1}"
        body.append(f"%g{i} = stablehlo.multiply {gradient}, %f{half - 1 - i} : {ACTIVATION}")
    weight = f"%w: tensor<16x16xf32> {_sharding('y', '')}"
    return _function([_INPUT, weight], body, f"%g{half - 1}", ACTIVATION)


def uneven(n: int) -> str:
    """n ops on dimensions that axes do not divide: masks, halo exchanges, pads, slices, concatenations."""
    body = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    last, wide = "%a", "tensor<14x16xf32>"
    for i in range(max(1, n // 6)):
        body += [
            f"%t{i} = stablehlo.tanh {last} : {UNEVEN}",
            f"%p{i} = stablehlo.pad %t{i}, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0]"
            f" : ({UNEVEN}, tensor<f32>) -> {UNEVEN}",
            f"%s{i} = stablehlo.reverse %p{i}, dims = [0] : {UNEVEN}",
            f"%c{i} = stablehlo.concatenate %s{i}, %t{i}, dim = 0 : ({UNEVEN}, {UNEVEN}) -> {wide}",
            f"%l{i} = stablehlo.slice %c{i} [3:10, 0:16] : ({wide}) -> {UNEVEN}",
            f"%m{i} = stablehlo.add %l{i}, {last} : {UNEVEN}",
        ]
        last = f"%m{i}"
    return _function([f"%a: {UNEVEN} {_sharding('x', 'y')}"], body, last, UNEVEN)


def indexed(n: int) -> str:
    """n ops that read or write a part: dynamic slices and updates, gathers, scatters, sorts, windows."""
    key = "tensor<i32>"
    body = [
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        f"%k = stablehlo.constant dense<1> : {key}",
        "%ids = stablehlo.iota dim = 0 : tensor<8x1xi32>",
    ]
    last = "%a"
    for i in range(max(1, n // 5)):
        body += [
            f"%s{i} = stablehlo.dynamic_slice {last}, %k, %k, sizes = [4, 16]"
            f" : ({ACTIVATION}, {key}, {key}) -> tensor<4x16xf32>",
            f"%u{i} = stablehlo.dynamic_update_slice {last}, %s{i}, %k, %k"
            f" : ({ACTIVATION}, tensor<4x16xf32>, {key}, {key}) -> {ACTIVATION}",
            f'%g{i} = "stablehlo.gather"(%u{i}, %ids) <{{dimension_numbers ='
            " #stablehlo.gather<offset_dims = [1],"
            " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,"
            " slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}>"
            f" : ({ACTIVATION}, tensor<8x1xi32>) -> {ACTIVATION}",
            f'%o{i} = "stablehlo.sort"(%g{i}) <{{dimension = 0 : i64, is_stable = true}}> ({{',
            "^bb0(%x: tensor<f32>, %y: tensor<f32>):",
            "  %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            "  stablehlo.return %p : tensor<i1>",
            f"}}) : ({ACTIVATION}) -> {ACTIVATION}",
            f'%w{i} = "stablehlo.reduce_window"(%o{i}, %zero) <{{window_dimensions = array<i64: 3, 1>,'
            " padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({",
            "^bb0(%x: tensor<f32>, %y: tensor<f32>):",
            "  %p = stablehlo.add %x, %y : tensor<f32>",
            "  stablehlo.return %p : tensor<f32>",
            f"}}) : ({ACTIVATION}, tensor<f32>) -> {ACTIVATION}",
        ]
        last = f"%w{i}"
    return _function([_INPUT], body, last, ACTIVATION)


def counted_loops(n: int) -> str:
    """n loops of three iterations, each with a product that is reduced over an axis."""
    types = f"tensor<i32>, {ACTIVATION}"
    body = [
        f"%{name} = stablehlo.constant dense<{value}> : tensor<i32>"
        for name, value in zip("cks", (0, 3, 1), strict=True)
    ]
    for i in range(n):
        value = f"%r{i - 1}#1" if i else "%a"
        body += [
            f"%r{i}:2 = stablehlo.while(%i = %c, %v = {value}) : {types}",
            "cond {",
            "  %p = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  stablehlo.return %p : tensor<i1>",
            "} do {",
            "  " + _dot("%h", "%v", "%u", f"({ACTIVATION}, {UP}) -> {INNER}"),
            "  " + _dot("%o", "%h", "%d", f"({INNER}, {DOWN}) -> {ACTIVATION}"),
            "  %j = stablehlo.add %i, %s : tensor<i32>",
            f"  stablehlo.return %j, %o : {types}",
            "}",
        ]
    return _function([_INPUT, *_WEIGHTS], body, f"%r{n - 1}#1", ACTIVATION)


def carried(n: int) -> str:
    """A loop that carries n values, sharded two ways, each of which is resharded in the body."""
    types = ", ".join(["tensor<i32>", *[ACTIVATION] * n])
    starts = ", ".join(["%i = %c", *(f"%v{i} = %{'ab'[i % 2]}" for i in range(n))])
    body = [
        f"%{name} = stablehlo.constant dense<{value}> : tensor<i32>"
        for name, value in zip("cks", (0, 3, 1), strict=True)
    ]
    body += [
        f"%r:{n + 1} = stablehlo.while({starts}) : {types}",
        "cond {",
        "  %p = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %p : tensor<i1>",
        "} do {",
        *(f"  %w{i} = stablehlo.add %v{i}, %v{(i + 1) % n} : {ACTIVATION}" for i in range(n)),
        "  %j = stablehlo.add %i, %s : tensor<i32>",
        f"  stablehlo.return {', '.join(['%j', *(f'%w{i}' for i in range(n))])} : {types}",
        "}",
    ]
    other = f"%b: {ACTIVATION} {_sharding('', 'x')}"
    results = ", ".join(f"%r#{i + 1}" for i in range(n))
    return _function([_INPUT, other], body, results, ", ".join([ACTIVATION] * n))


def fan_out(n: int) -> str:
    """One value in n products that each need it gathered, and n sums of the results."""
    body = ["%s0 = stablehlo.tanh %a : " + ACTIVATION]
    weight = f"%w: tensor<16x16xf32> {_sharding('y', '')}"
    for i in range(max(1, n // 2)):
        body += [
            _dot(f"%h{i}", "%a", "%w", f"({ACTIVATION}, tensor<16x16xf32>) -> {ACTIVATION}"),
            f"%s{i + 1} = stablehlo.add %s{i}, %h{i} : {ACTIVATION}",
        ]
    return _function([_INPUT, weight], body, f"%s{max(1, n // 2)}", ACTIVATION)


def equal_reshards(n: int) -> str:
    """n equal constraints on one value, each used."""
    body = ["%s0 = stablehlo.tanh %a : " + ACTIVATION]
    for i in range(max(1, n // 2)):
        body += [
            f'%c{i} = sdy.sharding_constraint %a <@mesh, [{{}}, {{"y"}}]> : {ACTIVATION}',
            f"%s{i + 1} = stablehlo.add %s{i}, %c{i} : {ACTIVATION}",
        ]
    return _function([_INPUT], body, f"%s{max(1, n // 2)}", ACTIVATION)


def collectives(n: int) -> str:
    """A chain of n collectives of sdy."""
    body = list[str]()
    for i in range(max(1, n // 3)):
        body += [
            f'%g{i} = sdy.all_gather [{{"x"}}, {{}}] {f"%t{i - 1}" if i else "%a"}'
            f" out_sharding=<@mesh, [{{}}, {{}}]> : {ACTIVATION}",
            f'%s{i} = sdy.all_slice [{{}}, {{"x"}}] %g{i}'
            f' out_sharding=<@mesh, [{{}}, {{"x"}}]> : {ACTIVATION}',
            f'%t{i} = sdy.all_to_all [{{"x"}}: 1->0] %s{i}'
            f' out_sharding=<@mesh, [{{"x"}}, {{}}]> : {ACTIVATION}',
        ]
    return _function([_INPUT], body, f"%t{max(1, n // 3) - 1}", ACTIVATION)


def manual_sums(n: int) -> str:
    """n manual computations, each with a sum over its axis, between products."""
    body, local = list[str](), "tensor<4x16xf32>"
    for i in range(max(1, n // 3)):
        body += [
            f'%{i} = sdy.manual_computation(%{i - 1 if i else "a"}) in_shardings=[<@mesh, [{{"x"}}, {{}}]>]'
            f' out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%p: {local}) {{',
            f'  %t = "stablehlo.all_reduce"(%p) <{{replica_groups ='
            " dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>,"
            f" channel_handle = #stablehlo.channel_handle<handle = {i + 1}, type = 1>,"
            " use_global_device_ids}> ({",
            "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):",
            "    %q = stablehlo.add %x, %y : tensor<f32>",
            "    stablehlo.return %q : tensor<f32>",
            f"  }}) : ({local}) -> {local}",
            f"  sdy.return %t : {local}",
            f"}} : ({ACTIVATION}) -> {ACTIVATION}",
        ]
    return _function([_INPUT], body, f"%{max(1, n // 3) - 1}", ACTIVATION)


def called_layers(n: int) -> str:
    """n private functions, each called twice, with inputs that are sharded differently."""
    body, functions, last = list[str](), list[str](), "%a"
    for i in range(max(1, n // 5)):
        body += [
            f"%p{i} = call @f{i}({last}, %u, %d) : ({ACTIVATION}, {UP}, {DOWN}) -> {ACTIVATION}",
            f"%q{i} = call @f{i}(%p{i}, %u, %d) : ({ACTIVATION}, {UP}, {DOWN}) -> {ACTIVATION}",
        ]
        last = f"%q{i}"
        functions += [
            f"func.func private @f{i}(%x: {ACTIVATION}, %u: {UP}, %d: {DOWN}) -> {ACTIVATION} {{\n  "
            + _dot("%h", "%x", "%u", f"({ACTIVATION}, {UP}) -> {INNER}")
            + "\n  "
            + _dot("%o", "%h", "%d", f"({INNER}, {DOWN}) -> {ACTIVATION}")
            + f"\n  return %o : {ACTIVATION}\n}}\n"
        ]
    return _function([_INPUT, *_WEIGHTS], body, last, ACTIVATION) + "".join(functions)


def wide_call(n: int) -> str:
    """A function of n arguments and n results, called twice."""
    types = ", ".join([ACTIVATION] * n)
    names = ", ".join(f"%x{i}" for i in range(n))
    listed = [f"%x{i}: {ACTIVATION}" for i in range(n)]
    inner = "".join(f"  %y{i} = stablehlo.tanh %x{i} : {ACTIVATION}\n" for i in range(n))
    function = (
        f"func.func private @f({', '.join(listed)}) -> ({types}) {{\n{inner}"
        f"  return {', '.join(f'%y{i}' for i in range(n))} : {types}\n}}\n"
    )
    body = [
        f"%0:{n} = call @f({names}) : ({types}) -> ({types})",
        f"%1:{n} = call @f({', '.join(f'%0#{i}' for i in range(n))}) : ({types}) -> ({types})",
    ]
    arguments = [f"%x{i}: {ACTIVATION} {_sharding(*('x', ''), *()) if i % 2 else ''}" for i in range(n)]
    return _function(arguments, body, ", ".join(f"%1#{i}" for i in range(n)), types) + function


def nested_branches(n: int) -> str:
    """n conditionals, each in a branch of the one before."""
    body = ["%c = stablehlo.constant dense<true> : tensor<i1>"]
    for depth in range(n):
        body += [f'%r{depth} = "stablehlo.if"(%c) ({{', f"  %t{depth} = stablehlo.tanh %a : {ACTIVATION}"]
    for depth in reversed(range(n)):
        last = f"%r{depth + 1}" if depth < n - 1 else f"%t{depth}"
        body += [
            f"  %s{depth} = stablehlo.add {last}, %t{depth} : {ACTIVATION}",
            f"  stablehlo.return %s{depth} : {ACTIVATION}",
            "}, {",
            f"  stablehlo.return %a : {ACTIVATION}",
            f"}}) : (tensor<i1>) -> {ACTIVATION}",
        ]
    return _function([_INPUT], body, "%r0", ACTIVATION)


def sharded_results(n: int) -> str:
    """n arguments and n results, each a product with a sharding of its own."""
    arguments = [f"%a{i}: {ACTIVATION} {_sharding('x' * (i % 2), 'y' * (i % 3 == 0))}" for i in range(n)]
    body = [
        _dot(f"%h{i}", f"%a{i}", "%w", f"({ACTIVATION}, tensor<16x16xf32>) -> {ACTIVATION}") for i in range(n)
    ]
    weight = f"%w: tensor<16x16xf32> {_sharding('y', '')}"
    return _function(
        [*arguments, weight], body, ", ".join(f"%h{i}" for i in range(n)), ", ".join([ACTIVATION] * n)
    )


SHARDED_FAMILIES: dict[str, tuple[Callable[[int], str], int]] = {
    "layers": (layers, 2_000),
    "training": (training, 2_000),
    "uneven": (uneven, 500),
    "indexed": (indexed, 500),
    "counted loops": (counted_loops, 300),
    "carried": (carried, 500),
    "fan-out": (fan_out, 1_000),
    "equal reshards": (equal_reshards, 1_000),
    "collectives": (collectives, 1_000),
    "manual sums": (manual_sums, 500),
    "called layers": (called_layers, 500),
    "wide call": (wide_call, 500),
    "nested branches": (nested_branches, 15),
    "sharded results": (sharded_results, 1_000),
}
"""The programs, and the smaller of the two sizes that are compared."""
