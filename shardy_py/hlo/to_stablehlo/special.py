"""Opcodes that become something else than the op of their row: values without ops, control flow, calls.

Each function makes the ops of an instruction and returns its value. Not here: opcodes with ops of their own
(`unlike.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, SymbolRefAttr

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import Instruction
from shardy_py.hlo.text.frontend import entries
from shardy_py.hlo.to_stablehlo.body import FRONTEND, ComputationOps, Handler, entries_of, sharding_text
from shardy_py.hlo.to_stablehlo.emitter import Entries
from shardy_py.hlo.to_stablehlo.types import Tree, leaf_types, tree_of
from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.source import Source

MESHES, SHARDINGS = "xla.sdy.meshes", "xla.sdy.sharding"
"""The frontend attributes of a module with the meshes of sdy, and of an instruction with its shardings."""


def same(body: ComputationOps, instruction: Instruction) -> Tree:
    """The first operand: layouts and dependencies have no meaning in StableHLO."""
    return body.operand(instruction.operands[0])


def copy(body: ComputationOps, instruction: Instruction) -> Tree:
    """The operand; with a sharding, a constraint, which XLA writes so.

    In programs with meshes of sdy, shardings of GSPMD count for nothing.
    """
    operand = body.operand(instruction.operands[0])
    is_encoded = MESHES in body.program.module.attributes.get("frontend_attributes", "")
    has_any = SHARDINGS in str(instruction.attributes.get("frontend_attributes", ""))
    if isinstance(operand, tuple) or not (has_any if is_encoded else sharding_text(instruction)):
        return operand
    return body.emitter.emit(
        "stablehlo.custom_call",
        (operand,),
        (operand.type,),
        {"call_target_name": "Sharding"},
        entries=entries_of(instruction),
    )[0]


def make_tuple(body: ComputationOps, instruction: Instruction) -> Tree:
    """The operands."""
    return tuple(body.operands(instruction))


def element(body: ComputationOps, instruction: Instruction) -> Tree:
    """An element of a tuple."""
    operand, index = body.operand(instruction.operands[0]), instruction.attributes["index"]
    if not isinstance(operand, tuple) or not isinstance(index, int) or not 0 <= index < len(operand):
        count = len(operand) if isinstance(operand, tuple) else 0
        raise ShardyError.unexpected("index", expected=f"an index below {count}", got=str(index))
    return operand[index]


def barrier(body: ComputationOps, instruction: Instruction) -> Tree:
    """`optimization_barrier` of all leaves."""
    operands = body.leaves(instruction)
    types = [operand.type for operand in operands]
    results = body.emitter.emit(
        "stablehlo.optimization_barrier", operands, types, entries=entries_of(instruction)
    )
    return tree_of(instruction.shape, iter(results))


# ---------------------------------------------------------------------- control flow


def loop(body: ComputationOps, instruction: Instruction) -> Tree:
    """`while` of the leaves of its state."""
    operands = body.leaves(instruction)
    regions = [body.region(instruction.attributes[name]) for name in ("condition", "body")]
    types = [operand.type for operand in operands]
    results = body.emitter.emit(
        "stablehlo.while", operands, types, regions=regions, entries=entries_of(instruction)
    )
    return tree_of(instruction.shape, iter(results))


def conditional(body: ComputationOps, instruction: Instruction) -> Tree:
    """`if` of a predicate, the true branch first; `case` of an index."""
    attributes = instruction.attributes
    names = attributes.get("branch_computations") or tuple(
        attributes[name] for name in ("true_computation", "false_computation")
    )
    index, *operands = body.operands(instruction)
    if isinstance(index, tuple) or len(operands) != len(names):
        expected = f"an index and {len(names)} operands"
        raise ShardyError.unexpected("", expected=expected, got=f"{len(operands) + 1} operands")
    regions = [body.region(name, [operand]) for name, operand in zip(names, operands, strict=True)]
    is_pair = body.shapes(instruction)[0].element == "pred"
    if is_pair and len(regions) != 2:
        raise ShardyError.unexpected("", expected="two branches of a predicate", got=f"{len(regions)}")
    types, name = leaf_types(instruction.shape), "stablehlo.if" if is_pair else "stablehlo.case"
    results = body.emitter.emit(name, (index,), types, regions=regions, entries=entries_of(instruction))
    return tree_of(instruction.shape, iter(results))


# ---------------------------------------------------------------------- calls


def call(body: ComputationOps, instruction: Instruction) -> Tree:
    """A call of a function; of a composite, whose name and attributes are frontend attributes."""
    name, operands = instruction.attributes["to_apply"], body.leaves(instruction)
    types, callee = leaf_types(instruction.shape), body.program.function(name)
    if instruction.attributes.get("is_composite"):
        results = body.emitter.emit("stablehlo.composite", operands, types, *_composite(instruction, callee))
    else:
        attributes = {"callee": SymbolRefAttr(callee)}
        results = body.emitter.emit("func.call", operands, types, attributes, entries=entries_of(instruction))
    return tree_of(instruction.shape, iter(results))


def _composite(instruction: Instruction, callee: str) -> tuple[dict[str, object], tuple[()], Entries]:
    """The attributes of a composite, its regions, and its other attributes."""
    found = entries(str(instruction.attributes.get("frontend_attributes", "")))
    version = found.pop("composite.version", "0")
    attributes: dict[str, object] = {
        "name": found.pop("composite.name", callee),
        "decomposition": callee,
        "version": int(version) if version.isdecimal() and len(version) < 9 else 0,
    }
    if text := found.pop("composite.attributes", ""):
        attributes["composite_attributes"] = spelled(text)
    made = entries_of(instruction)
    made.pop(FRONTEND, None)
    if found:
        made[FRONTEND] = DictionaryAttr({name: StringAttr(value) for name, value in found.items()})
    return attributes, (), made


def spelled(text: str) -> object:
    """The attribute of MLIR that a string spells.

    Raises:
        ShardyError: it spells none.
    """
    cursor = Cursor(Source(text, "-"), syntax_table())
    try:
        with deep_stack():
            return cursor.attribute()
    except ShardyError as error:
        raise ShardyError(f"invalid attribute '{text[:80]}': {error.first.message}") from None


def fusion(body: ComputationOps, instruction: Instruction) -> Tree:
    """The ops of the fused computation."""
    (name,) = _names(instruction, "calls")
    return body.inlined(name, body.operands(instruction))


def _names(instruction: Instruction, key: str) -> tuple[str, ...]:
    found = instruction.attributes.get(key, ())
    return (found,) if isinstance(found, str) else found


# ---------------------------------------------------------------------- asynchronous ops


def start(body: ComputationOps, instruction: Instruction) -> Tree:
    """The whole op, whose value `X-done` has.

    The tuple that `X-start` returns holds operands and buffers, too: what the op returns is the shape of
    `X-done`.
    """
    opcode = instruction.opcode.removesuffix("-start")
    shape = body.done_shapes.get(instruction.name)
    if shape is None:
        raise ShardyError.unexpected("", expected=f"'{opcode}-done' of it in its computation", got="none")
    if opcode == "async":
        return fusion(body, instruction)
    plain = Instruction(
        instruction.name,
        opcode,
        shape,
        instruction.operands,
        instruction.attributes,
        position=instruction.position,
    )
    if opcode == "copy":
        return same(body, plain)
    return body.value(plain)


HANDLERS: dict[str, Handler] = {
    "copy": copy,
    "domain": same,
    "add-dependency": same,
    "tuple": make_tuple,
    "get-tuple-element": element,
    "opt-barrier": barrier,
    "while": loop,
    "conditional": conditional,
    "call": call,
    "fusion": fusion,
}
"""The functions of opcodes."""
