"""Op records as MLIR text in generic form: a module with one function for each record.

The op itself carries `test.number`, so that it is found again among the ops that surround it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.reads import names

INTEGERS = names(
    """all_gather_dim batch_group_count concat_dimension dimension feature_group_count feature_index
    scatter_dimension split_count split_dimension"""
)
ARRAYS = names(
    """base_dilations broadcast_dimensions dimensions edge_padding_high edge_padding_low fft_length
    interior_padding lhs_dilation limit_indices permutation rhs_dilation slice_sizes start_indices
    strides window_dilations window_dimensions window_strides"""
)
DENSE = ["padding", "replica_groups", "source_target_pairs"]
FLAGS = ["is_stable", "left_side", "lower", "unit_diagonal"]
STRUCTS = {"dot_dimension_numbers": "dot", "scatter_dimension_numbers": "scatter"}
ENUMS = {
    "transpose_a": "transpose",
    "fft_type": "fft_type",
    "rng_algorithm": "rng_algorithm",
    "comparison_direction": "comparison_direction",
}


def program(records: Sequence[OpRecord]) -> str:
    """A module with a function for each record, its operands the arguments."""
    return "\n".join(["module {", *(_function(i, record) for i, record in enumerate(records)), "}"])


def type_text(kind: TensorType | None) -> str:
    if kind is None:
        return "!stablehlo.token"
    return f"tensor<{''.join(f'{size}x' for size in kind.shape)}{kind.element}>"


def attribute_text(record: OpRecord, name: str, value: Any) -> str:
    if name in INTEGERS:
        return f"{value} : i64"
    if name in ARRAYS:
        return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"
    if name in DENSE:
        rows = ", ".join(f"[{', '.join(map(str, row))}]" for row in value)
        columns = len(value[0]) if value else 2
        body = f"dense<[{rows}]>" if value else "dense<>"
        return f"{body} : tensor<{len(value)}x{columns}xi64>"
    if name in FLAGS:
        return str(value).lower()
    if name == "window_reversal":
        return f"array<i1: {', '.join(str(v).lower() for v in value)}>"
    if name in ENUMS:
        return f"#stablehlo<{ENUMS[name]} {value}>"
    if name == "dimension_numbers" and record.name == "stablehlo.convolution":
        return convolution_text(value)
    if name in STRUCTS or name == "dimension_numbers":
        fields = (f"{f} = {list(v) if isinstance(v, tuple) else v}" for f, v in value.items() if v != ())
        return f"#stablehlo.{STRUCTS.get(name, 'gather')}<{', '.join(fields)}>"
    if name == "epsilon":
        return f"{value} : f32"
    if name in ("exponent_bits", "mantissa_bits"):
        return f"{value} : i32"
    if name == "call_target_name":
        return f'"{value}"'
    raise NotImplementedError(name)


def convolution_text(numbers: dict[str, Any]) -> str:
    sides: list[str] = []
    letters = {"input": "bf", "kernel": "io", "output": "bf"}
    fields = {"b": "batch", "f": "feature", "i": "input_feature", "o": "output_feature"}
    for side, pair in letters.items():
        places = {numbers[f"{side}_{fields[letter]}_dimension"]: letter for letter in pair}
        places.update((d, str(i)) for i, d in enumerate(numbers[f"{side}_spatial_dimensions"]))
        sides.append("[" + ", ".join(places[i] for i in range(len(places))) + "]")
    return f"#stablehlo.conv<{sides[0]}x{sides[1]}->{sides[2]}>"


def region_text(record: OpRecord, op: str, pairs: Sequence[str], returned: int) -> str:
    """A region that combines arguments i and i + n by `op`; "" returns the second of them."""
    count = len(pairs)
    arguments = ", ".join(f"%r{i}: tensor<{pairs[i % count]}>" for i in range(2 * count))
    lines = [f"^bb0({arguments}):"]
    results: list[str] = []
    for i in range(returned):
        kind = f"tensor<{pairs[i]}>"
        if not op:
            results.append(f"%r{i + count}")
            continue
        out = "tensor<i1>" if "compare" in op else kind
        compared = " {comparison_direction = #stablehlo<comparison_direction GT>}" if "compare" in op else ""
        lines.append(f'%q{i} = "{op}"(%r{i}, %r{i + count}){compared} : ({kind}, {kind}) -> {out}')
        results.append(f"%q{i}")
    kinds = ["tensor<i1>" if "compare" in op else f"tensor<{pairs[i]}>" for i in range(returned)]
    lines.append(f'"stablehlo.return"({", ".join(results)}) : ({", ".join(kinds)}) -> ()')
    return "{\n" + "\n".join(lines) + "\n}"


def regions_text(record: OpRecord) -> str:
    elements = [t.element if t else "" for t in record.operands]
    name = record.name.removeprefix("stablehlo.")
    if name in ("reduce", "reduce_window"):
        pairs = elements[: len(elements) // 2]
        return f" ({region_text(record, 'stablehlo.add', pairs, len(pairs))})"
    if name in ("all_reduce", "reduce_scatter"):
        return f" ({region_text(record, 'stablehlo.add', elements[:1], 1)})"
    if name == "scatter":
        pairs = elements[: len(elements) // 2]
        combiner = record.attributes.get("context.combiner") or ""
        return f" ({region_text(record, combiner, pairs, len(pairs))})"
    if name == "select_and_scatter":
        select = region_text(record, "stablehlo.compare", elements[:1], 1)
        return f" ({select}, {region_text(record, 'stablehlo.add', elements[:1], 1)})"
    if name == "sort":
        kinds = [e for e in elements for _ in range(2)]
        arguments = ", ".join(f"%r{i}: tensor<{kind}>" for i, kind in enumerate(kinds))
        compared = "comparison_direction = #stablehlo<comparison_direction GT>"
        kind = f"tensor<{kinds[0]}>"
        return (
            f' ({{\n^bb0({arguments}):\n%q = "stablehlo.compare"(%r0, %r1) {{{compared}}} : '
            f'({kind}, {kind}) -> tensor<i1>\n"stablehlo.return"(%q) : (tensor<i1>) -> ()\n}})'
        )
    return ""


def _function(number: int, record: OpRecord) -> str:
    kinds = [type_text(t) for t in record.operands]
    names = [f"%a{i}" for i in range(len(kinds))]
    arguments = list(zip(names, kinds, strict=True))
    before: list[str] = []
    after: list[str] = []
    if record.attributes.get("context.concatenates_slices"):
        names, arguments = _sliced(record, before)
    if record.attributes.get("context.constant_indices"):
        names = [*names[:2], *(f"%c{i}" for i in range(2, len(names)))]
        before += [
            f'{n} = "stablehlo.constant"() {{value = dense<0> : {kinds[2]}}} : () -> {kinds[2]}'
            for n in names[2:]
        ]
        arguments = arguments[:2]
    results = [type_text(t) for t in record.results]
    if record.attributes.get("context.feeds_rng_bit_generator"):
        after.append(
            '%z:2 = "stablehlo.rng_bit_generator"(%v) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}'
            f" : ({results[0]}) -> ({results[0]}, tensor<4xui32>)"
        )
    attributes = [
        f"{name} = {attribute_text(record, name, value)}"
        for name, value in record.attributes.items()
        if not name.startswith("context.")
    ]
    attributes.append(f"test.number = {number} : i64")
    left = f"%v{f':{len(results)}' if len(results) > 1 else ''} = " if results else ""
    op = (
        f'{left}"{record.name}"({", ".join(names)}){regions_text(record)} {{{", ".join(attributes)}}}'
        f" : ({', '.join(kinds)}) -> ({', '.join(results)})"
    )
    header = ", ".join(f"{name}: {kind}" for name, kind in arguments)
    return "\n".join([f"func.func @f{number}({header}) {{", *before, op, *after, "return", "}"])


def _sliced(record: OpRecord, before: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    names: list[str] = []
    arguments: list[tuple[str, str]] = []
    for i, operand in enumerate(record.operands):
        assert operand is not None
        sizes = tuple(size for size in operand.shape if size is not None)
        kind = type_text(operand)
        starts, ones = [0] * operand.rank, [1] * operand.rank
        before.append(
            f'%t{i} = "stablehlo.slice"(%a{i}) {{start_indices = array<i64: {str(starts)[1:-1]}>, '
            f"limit_indices = array<i64: {str(list(sizes))[1:-1]}>, strides = array<i64: {str(ones)[1:-1]}>}}"
            f" : ({kind}) -> {kind}"
        )
        names.append(f"%t{i}")
        arguments.append((f"%a{i}", kind))
    return names, arguments
