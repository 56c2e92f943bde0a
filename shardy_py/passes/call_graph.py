"""The passes that copy functions for each call, merge the copies again, and order functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.calls import (
    ORIGINAL_NAME,
    calls_in,
    copy_function,
    functions_bottom_up,
    functions_top_down,
    original_name,
)
from shardy_py.graph.movements import Merger, is_recording, note
from shardy_py.graph.symbols import Symbols, function_name, set_callee
from shardy_py.graph.value_shardings import function_argument_shardings, function_result_shardings
from shardy_py.ir import find_ops, place_at_end, take_out, walk_pre_order
from shardy_py.passes.options import UnflattenCallGraphOptions


def flatten_call_graph(module: ModuleOp) -> None:
    """`sdy-flatten-call-graph`: clones functions, and their callees, until each has a single call.

    Clones keep the name of the original as an attribute.

    before  call @f   call @f   func.func private @f
    after   call @f   call @f_0   func.func private @f   func.func private @f_0 {sdy.original_func_name = "f"}
    """
    symbols = Symbols(module)
    called: set[str] = set()
    for function in functions_bottom_up(module):
        for call in calls_in(function):
            callee = symbols.callee(call)
            name = function_name(callee)
            if name in called:
                set_callee(call, symbols.insert(copy_function(callee, symbols)))
            called.add(name)


def pre_order_funcs(module: ModuleOp) -> None:
    """`sdy-pre-order-funcs`: moves functions to the end of the module, callers before callees.

    Propagation visits functions in the order of the module; this is the order in which it would visit them
    if they were inlined.

    before  func.func private @f   func.func @main { call @f }   sdy.mesh @mesh
    after   sdy.mesh @mesh   func.func @main { call @f }   func.func private @f
    """
    for function in functions_top_down(module):
        take_out(function)
        place_at_end(function, module.body.block)


MANUAL_AXES = "sdy.func_manual_axes"
"""The attribute for the manual axes of a function."""


def unflatten_call_graph(module: ModuleOp, options: UnflattenCallGraphOptions) -> None:
    """`sdy-unflatten-call-graph`: merges clones of a function whose shardings agree.

    Clones agree if they have the same original, the same manual axes and the same shardings of arguments and
    results. `symbol-dce` erases the clones that are no longer called.

    before  call @f   call @f_0                     @f_0 {sdy.original_func_name = "f"}, sharded as @f
    after   call @f   call @f

    `dedup_functions_fully` ignores shardings: all calls use the clone with the shardings with which the
    function is called most often.
    """
    symbols = Symbols(module)
    callees = [(call, symbols.callee(call)) for call in calls_in(module)]
    choose = most_called if options.dedup_functions_fully else first_called
    mergers: dict[int, tuple[Operation, Operation]] = {}
    for (call, old), function in zip(callees, choose([f for _, f in callees], symbols), strict=True):
        set_callee(call, function_name(function))
        if old is not function:
            mergers[id(old)] = (old, function)
    if is_recording():
        note_mergers(mergers.values())
    for function in find_ops(module, FuncOp.name):
        function.attributes.pop(ORIGINAL_NAME, None)
        function.attributes.pop(MANUAL_AXES, None)


def note_mergers(mergers: Iterable[tuple[Operation, Operation]]) -> None:
    """Records which values replace those of functions that are no longer called."""
    values: dict[int, tuple[SSAValue, ...]] = {}
    for pair in mergers:
        for function in pair:
            if id(function) not in values:
                values[id(function)] = tuple(values_in(function))
        old, new = (values[id(function)] for function in pair)
        if len(old) == len(new):
            note(Merger(old, new))


def values_in(function: Operation) -> Iterator[SSAValue]:
    """The arguments of a function and all values defined in it."""
    for op in walk_pre_order(function):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def first_called(functions: list[Operation], symbols: Symbols) -> list[Operation]:
    """For each function, the first one that agrees with it."""
    first: dict[Hashable, Operation] = {}
    return [first.setdefault(_key(function, symbols), function) for function in functions]


def most_called(functions: list[Operation], symbols: Symbols) -> list[Operation]:
    """For each function, its clone that is called most often; the first one of several."""
    chosen: dict[Hashable, Operation] = {}
    for function in functions:
        chosen.setdefault(_origin(function), function)
    counts: Counter[Hashable] = Counter()
    for function in functions:
        counts[_key(function, symbols)] += 1
        if counts[_key(function, symbols)] > counts[_key(chosen[_origin(function)], symbols)]:
            chosen[_origin(function)] = function
    return [chosen[_origin(function)] for function in functions]


def _origin(function: Operation) -> Hashable:
    return original_name(function), function.attributes.get(MANUAL_AXES)


def _key(function: Operation, symbols: Symbols) -> Hashable:
    return (
        _origin(function),
        function_argument_shardings(function, symbols),
        function_result_shardings(function, symbols),
    )
