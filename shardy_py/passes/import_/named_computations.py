"""The passes that convert calls to named computations before propagation, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import count

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, Region

from shardy_py.base.errors import Diagnostic, ShardyError, warn_once
from shardy_py.mlir.calls import ORIGINAL_NAME, FunctionCopies, bottom_up, calls_by_function, original_name
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.data_flow import EDGE_NAME, argument_owners
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import build_operation, erase, find_ops, operands_of
from shardy_py.mlir.movements import note_moved, replace_op
from shardy_py.mlir.nesting import innermost_first
from shardy_py.mlir.sharding_walk import survey
from shardy_py.mlir.symbols import Symbols, function_name
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import property_of
from shardy_py.mlir.value_shardings import function_argument_shardings
from shardy_py.passes.import_.data_flow_edges import edge_shardings, insert_edges, remove_edges
from shardy_py.passes.options import CopyOptions, ImportFuncCallsOptions
from shardy_py.sharding import TensorSharding


def import_func_calls(module: ModuleOp, options: ImportFuncCallsOptions) -> None:
    """`sdy-import-func-calls`: replaces calls by named computations with the body of the callee.

    Shardings then propagate through calls as if they were inlined. The callees are erased; each further call
    of a function gets a copy of its body.

    before  %0 = call @f(%a)                               func.func private @f(%b) { ... return %c }
    after   %0 = sdy.named_computation<"f">(%a) (%b) { ... sdy.return %c }
    """
    is_changed = import_calls(module, options)
    wants_edges = options.add_data_flow_edges_on_named_computations
    computations = find_ops(module, NAMED, MANUAL) if is_changed or wants_edges else []
    if is_changed and any(_binds_an_axis_twice(each) for each in computations if each.name == MANUAL):
        verify_module(module)
    for computation in computations if wants_edges else ():
        if computation.name == NAMED:
            insert_edges(argument_owners(computation))
            insert_edges(computation.results)


_SEVERAL_CALLS = "function @{} has multiple call ops, we need to clone the function body for each call"
THREAD = "execution_thread"
"""The attribute with the thread that a function runs on; it moves with the body."""


def import_calls(module: ModuleOp, options: CopyOptions) -> bool:
    """Replaces all calls by named computations, and erases the callees; returns whether there were any."""
    symbols = Symbols(module)
    calls = calls_by_function(module)
    FunctionCopies(symbols, options.max_copied_ops, options.remedy).check(calls)
    separate_names(module, symbols)
    bodies = _Bodies()
    for function in bottom_up(calls):
        for call in calls[function]:
            _import_call(call, bodies, symbols)
    for name in bodies.used:
        symbols.erase(symbols.function(name))
    return bool(bodies.used)


def _binds_an_axis_twice(computation: Operation) -> bool:
    """Returns whether a manual computation holds a sharding along its manual axes."""
    axes = frozenset(manual_axes(computation))
    return bool(axes) and survey(computation, include_root=False).any_sharding(partial(_uses_any, axes))


def _uses_any(names: frozenset[str], sharding: TensorSharding) -> bool:
    return any(axis.name in names for _, axes in sharding.axis_lists for axis in axes)


class _Bodies:
    """The bodies of functions: the first call gets the body itself, further calls get copies.

    used: by the name of a function, the body that was taken from it.
    """

    def __init__(self) -> None:
        self.used: dict[str, Region] = {}

    def take(self, function: Operation, call: Operation) -> Region:
        """The body of `function` for `call`; the first copy causes a warning."""
        name = function_name(function)
        if name not in self.used:
            region = self.used[name] = function.detach_region(0)
            function.add_region(Region())
            replace_terminators(region, sdy.ReturnOp)
            return region
        warn_once("several calls", _SEVERAL_CALLS.format(name), position_of(call.location))
        copy = Region()
        clone_region_into(self.used[name], copy, {})
        return copy


def _import_call(call: Operation, bodies: _Bodies, symbols: Symbols) -> None:
    function = symbols.callee(call)
    name = function_name(function)
    body = bodies.used.get(name, function.regions[0])
    if body.first_block is None:
        return  # a declaration has no body
    if body.first_block is not body.last_block:
        what = f"'{sdy.NamedComputationOp.name}' op expects region #0 to have 0 or 1 blocks"
        raise ShardyError(Diagnostic(what, position_of(call.location)))
    properties: dict[str, Attribute] = {"name": original_name(function)}
    shardings = function_argument_shardings(function, symbols)
    if shardings is not None:
        properties["in_shardings"] = sdy.TensorShardingPerValueAttr(shardings)
    attributes = dict(call.attributes)
    given = attributes.pop(SHARDING, None)
    if given is not None:
        properties["out_shardings"] = given
    if THREAD in function.attributes:
        attributes[THREAD] = function.attributes[THREAD]
    types, body = [result.type for result in call.results], [bodies.take(function, call)]
    computation = build_operation(
        sdy.NamedComputationOp, operands_of(call), types, properties, attributes, call.location, regions=body
    )
    replace_op(call, computation)
    note_moved(computation.results, call.results, "sdy-import-func-calls", call)


def replace_terminators(region: Region, terminator: type[Operation]) -> None:
    """Replace the terminator of each block by an op of class `terminator`."""
    for block in region.blocks:
        old = block.last_op
        assert old is not None
        build_operation(terminator, operands_of(old), (), {}, {}, old.location, block)
        erase(old)


NAMED, MANUAL = sdy.NamedComputationOp.name, sdy.ManualComputationOp.name


def separate_names(module: ModuleOp, symbols: Symbols) -> None:
    """Rename computations that differ from another computation, or a function, of the same name.

    Functions exported from computations with one name count as copies of one function, which must be equal:

    before  sdy.named_computation<"f">(%a) (%b) { abs }     sdy.named_computation<"f">(%c) (%d) { negate }
    after   sdy.named_computation<"f">(%a) (%b) { abs }     sdy.named_computation<"f_0">(%c) (%d) { negate }
    """
    computations = find_ops(module, NAMED)
    if not computations:
        return
    bodies: dict[str, Region | tuple[Hashable, ...]] = {}
    for function in find_ops(module, FuncOp.name):
        bodies.setdefault(original_name(function).data, function.regions[0])
    for computation in computations:
        wanted = property_of(computation, "name", StringAttr).data
        mine = tuple(_content(computation.regions[0], symbols))
        name, number = wanted, 0
        while not _is_free(name, mine, bodies, symbols):
            name, number = f"{wanted}_{number}", number + 1
        bodies[name] = mine
        if name != wanted:
            computation.properties["name"] = StringAttr(name)


def _is_free(
    name: str, mine: tuple[Hashable, ...], bodies: dict[str, Region | tuple[Hashable, ...]], symbols: Symbols
) -> bool:
    body = bodies.get(name)
    if isinstance(body, Region):
        body = bodies[name] = tuple(_content(body, symbols))
    return body is None or body == mine


def _content(region: Region, symbols: Symbols) -> Iterator[Hashable]:
    """A description of a region that is equal for copies, also for those that call copies of functions."""
    numbers: dict[int, int] = {}
    fresh = count()

    def visit(region: Region) -> Iterator[Hashable]:
        for block in region.blocks:
            for argument in block.args:
                numbers[id(argument)] = next(fresh)
                yield argument.type
            for op in block.ops:
                if op.name == EDGE_NAME:  # functions have no edges yet, computations have
                    numbers[id(op.results[0])] = numbers.get(id(operands_of(op)[0]), -1)
                    continue
                yield from (None if is_terminator(op) else op.name, *_entries(op, symbols))
                yield tuple(numbers.get(id(operand), -1) for operand in operands_of(op))
                yield tuple(result.type for result in op.results)
                for result in op.results:
                    numbers[id(result)] = next(fresh)
                for inner in op.regions:
                    yield from visit(inner)
            yield "end of block"
        yield "end of region"

    return visit(region)


def _entries(op: Operation, symbols: Symbols) -> Iterator[Hashable]:
    yield frozenset(op.attributes.items())
    if isinstance(op, CallOp):
        yield original_name(symbols.callee(op))
    else:
        yield frozenset(op.properties.items())


def export_named_computations(module: ModuleOp) -> None:
    """`sdy-export-named-computations`: converts named computations back to private functions and calls.

    Functions and calls get the shardings that propagation left on the data-flow edges of the named
    computation; names already in use get a number.

    before  %0 = sdy.named_computation<"f">(%a) in_shardings=[...] out_shardings=[...] (%b) { sdy.return %c }
    after   %0 = call @f(%a) {sdy.sharding = ...}
        func.func private @f(%b {sdy.sharding = ...}) { return %c }

    The name before numbering is kept in `sdy.original_func_name`.
    """
    symbols = Symbols(module)
    calls = [_export(op, symbols) for op in innermost_first(find_ops(module, sdy.NamedComputationOp.name))]
    for call in calls:
        remove_edges(call.results)


def _export(computation: Operation, symbols: Symbols) -> Operation:
    properties = computation.properties
    for owners, name in (
        (argument_owners(computation), "in_shardings"),
        (computation.results, "out_shardings"),
    ):
        shardings = edge_shardings(owners)
        if shardings:
            properties[name] = sdy.TensorShardingPerValueAttr(tuple(shardings))
    result_types = [result.type for result in computation.results]
    attributes = dict(computation.attributes)
    thread = attributes.pop(THREAD, None)
    function = _outline(computation, result_types, thread)
    name = symbols.insert(function)
    if (shardings := properties.get("out_shardings")) is not None:
        attributes[SHARDING] = shardings
    callee: dict[str, Attribute] = {"callee": SymbolRefAttr(name)}
    operands, location = operands_of(computation), computation.location
    call = build_operation(CallOp, operands, result_types, callee, attributes, location)
    replace_op(computation, call)
    note_moved(call.results, computation.results, "sdy-export-named-computations")
    return call


def _outline(computation: Operation, result_types: list[Attribute], thread: Attribute | None) -> Operation:
    """Returns a function with the body of a named computation, which is left without."""
    name = property_of(computation, "name", StringAttr)
    in_shardings = computation.properties.get("in_shardings")
    region = computation.detach_region(0)
    computation.add_region(Region())
    replace_terminators(region, FuncReturnOp)
    remove_edges(region.blocks[0].args)
    function = private_function(name, region, result_types, computation.location)
    if isinstance(in_shardings, sdy.TensorShardingPerValueAttr) and in_shardings.data:
        function.properties["arg_attrs"] = ArrayAttr(
            [DictionaryAttr({SHARDING: sdy.TensorShardingAttr(sharding)}) for sharding in in_shardings.data]
        )
    function.attributes[ORIGINAL_NAME] = name
    if thread is not None:
        function.attributes[THREAD] = thread
    return function


def private_function(
    name: StringAttr, body: Region, result_types: Sequence[Attribute], location: Attribute
) -> Operation:
    """Returns a private function with this body, in no module."""
    types = [argument.type for argument in body.blocks[0].args]
    properties: dict[str, Attribute] = {
        "sym_name": name,
        "function_type": FunctionType.from_lists(types, result_types),
        "sym_visibility": StringAttr("private"),
    }
    return build_operation(FuncOp, (), (), properties, {}, location, regions=[body])
