"""HLO modules as modules of StableHLO: `stablehlo_module`.

The entry computation becomes `@main`, without tuples; called computations become private functions. Shardings
and frontend attributes stay as XLA has them: `mhlo.sharding`, `mhlo.frontend_attributes`. Not here: their
import as shardings of sdy (`xla/gspmd/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i1,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region

from shardy_py.base.errors import ShardyError, located
from shardy_py.hlo.text import OPCODES, Computation, HloModule, Instruction
from shardy_py.hlo.text.frontend import listed
from shardy_py.hlo.to_stablehlo import custom_calls, special, unlike
from shardy_py.hlo.to_stablehlo.body import (
    FRONTEND,
    SHARDING,
    ComputationOps,
    Conversion,
    Handler,
    argument_block,
    entries_of,
    frontend_of,
    sharding_text,
)
from shardy_py.hlo.to_stablehlo.emitter import Emitter, Entries
from shardy_py.hlo.to_stablehlo.limits import check_size
from shardy_py.hlo.to_stablehlo.locations import Locations, place_of
from shardy_py.hlo.to_stablehlo.shardings import leaf_shardings
from shardy_py.hlo.to_stablehlo.types import leaves_of
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.holders import OPENED
from shardy_py.mlir.ir import build_operation, set_location
from shardy_py.mlir.text.location_syntax import UNKNOWN

_COUNTS = {"num_partitions": "mhlo.num_partitions", "replica_count": "mhlo.num_replicas"}
"""The attributes of a module's header that are numbers."""
OF_XLA = "mhlo.use_auto_spmd_partitioning"
"""An attribute of modules that XLA's importer of HLO makes: it tells that XLA compiles them."""


def _handlers() -> dict[str, Handler]:
    found = {**special.HANDLERS, **unlike.HANDLERS, **custom_calls.HANDLERS}
    for opcode in OPCODES:
        found.setdefault(f"{opcode}-start", special.start)
        found.setdefault(f"{opcode}-update", special.same)
        found.setdefault(f"{opcode}-done", special.same)
    return found


HANDLERS = _handlers()
"""The opcodes that become something else than the op of their row."""


def stablehlo_module(module: HloModule) -> ModuleOp:
    """Returns the module as one of StableHLO, verified.

    Raises:
        ShardyError: it has what StableHLO has not, or is invalid, with the position in its text.
    """
    check_size(module)
    program = Conversion(module, Locations(module), HANDLERS)
    block = Block()
    main = _function(program, module.entry_computation, "main", is_entry=True)
    functions: list[FuncOp] = []
    done: set[str] = set()
    while waiting := [name for name in program.functions if name not in done]:
        for name in waiting:
            done.add(name)
            symbol = program.functions[name]
            functions.append(_function(program, program.computation(name), symbol, is_entry=False))
    for function in (*functions, main):
        block.add_op(function)
    attributes = _module_attributes(module)
    made = ModuleOp(Region(block), attributes, StringAttr(module.name))
    set_location(made, UNKNOWN)
    _verify(made, program)
    return made


def _verify(module: ModuleOp, program: Conversion) -> None:
    """Verifies a module; errors are at the instruction that an op was made of."""
    try:
        verify_module(module)
    except ShardyError:
        for op, instruction in program.places:
            if (place := place_of(instruction)) is not None:
                set_location(op, place)
        verify_module(module)
        raise


def _module_attributes(module: HloModule) -> dict[str, Attribute]:
    made: dict[str, Attribute] = {OF_XLA: IntegerAttr(0, i1)}
    for key, name in _COUNTS.items():
        text = module.attributes.get(key, "")
        if text.isdecimal() and len(text) < 10:
            made[name] = IntegerAttr(int(text), i32)
    if (found := frontend_of(module.attributes.get("frontend_attributes", ""))) is not None:
        made[FRONTEND] = found
    return made | _opened(module)


def _opened(module: HloModule) -> dict[str, Attribute]:
    """Which shardings of GSPMD propagation may extend; of modules with meshes of sdy those themselves say it.

    Raises:
        ShardyError: there are flags of another number of values.
    """
    entry = module.entry_computation
    root = entry.by_name[entry.root]
    if special.MESHES in module.attributes.get("frontend_attributes", ""):
        return {}
    made: dict[str, Attribute] = {}
    for place, owners in (("arg_attrs", entry.parameters), ("res_attrs", (root,))):
        name = OPENED[place]
        flags = [word == "true" for word in listed(module.attributes.get(name.removeprefix("mhlo."), ""))]
        if not any(flags) or not any(map(sharding_text, owners)):
            continue
        count = sum(1 for owner in owners for _ in owner.shape.leaves())
        if len(flags) not in (1, count):
            with located(root.position):
                expected = f"one flag, or {count}"
                raise ShardyError.unexpected(
                    name.removeprefix("mhlo."), expected=expected, got=f"{len(flags)}"
                )
        made[name] = DenseArrayBase.from_list(i1, flags)
    return made


def _function(program: Conversion, computation: Computation, symbol: str, *, is_entry: bool) -> FuncOp:
    block, arguments = argument_block(program, computation)
    location = program.locations.of(computation.by_name[computation.root])
    emitter = Emitter(block, location)
    root = ComputationOps(program, computation, emitter).run(arguments)
    results = leaves_of([root])
    emitter.emit("func.return", results, ())
    inputs = [argument.type for argument in block.args]
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(symbol),
        "function_type": FunctionType.from_lists(inputs, [result.type for result in results]),
    }
    if not is_entry:
        properties["sym_visibility"] = StringAttr("private")
    given = [entry for parameter in computation.parameters for entry in _argument_entries(parameter)]
    _set_entries(properties, "arg_attrs", given)
    if is_entry:
        root_instruction = computation.by_name[computation.root]
        with located(root_instruction.position):
            shardings = leaf_shardings(sharding_text(root_instruction), len(results))
        _set_entries(properties, "res_attrs", [_sharded(text) for text in shardings])
    place = place_of(computation.instructions[0]) or UNKNOWN
    op = build_operation(FuncOp, (), (), properties, {}, place, regions=[Region(block)])
    assert isinstance(op, FuncOp)
    return op


def _argument_entries(parameter: Instruction) -> list[Entries]:
    """The attributes of each leaf of a parameter."""
    count = sum(1 for _ in parameter.shape.leaves())
    with located(parameter.position):
        shardings = leaf_shardings(sharding_text(parameter), count)
    frontend = entries_of(parameter).get(FRONTEND) if count == 1 else None
    return [_sharded(text) | ({} if frontend is None else {FRONTEND: frontend}) for text in shardings]


def _sharded(text: str) -> Entries:
    return {SHARDING: StringAttr(text)} if text else {}


def _set_entries(properties: dict[str, Attribute], name: str, entries: Sequence[Entries]) -> None:
    if any(entries):
        properties[name] = ArrayAttr([DictionaryAttr(each) for each in entries])
