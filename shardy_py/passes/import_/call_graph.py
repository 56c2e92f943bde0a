"""The passes on functions and calls: erasing unused ones, one copy for each call, merging the copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute, SSAValue, TypeAttribute

from shardy_py.mlir import calls
from shardy_py.mlir.ir import erase, find_ops, ops_in, place_at_end, take_out, walk_pre_order
from shardy_py.mlir.movements import Merger, is_recording, note
from shardy_py.mlir.symbols import Symbols, callee_name, function_name, set_callee, symbol_name, top_level_ops
from shardy_py.mlir.value_shardings import function_argument_shardings, function_result_shardings
from shardy_py.passes.options import CopyOptions, UnflattenCallGraphOptions
from shardy_py.sharding import TensorSharding


def symbol_dce(module: builtin.ModuleOp) -> None:
    """`symbol-dce`: removes private functions and other private symbols that are unreferenced.

    Symbols that only unreferenced symbols refer to are removed too. References inside attributes count.

    before  func.func @main() { return }    func.func private @unused() { return }
    after   func.func @main() { return }
    """
    for nested in (inner for inner in module.body.block.ops if isinstance(inner, builtin.ModuleOp)):
        symbol_dce(nested)
    for symbol in unreferenced_symbols(module):
        erase(symbol)


def unreferenced_symbols(module: builtin.ModuleOp) -> list[Operation]:
    """The private symbols that are not reachable from the other ops of `module`."""
    removable: dict[str, Operation] = {}
    roots: list[Operation] = []
    for op in module.body.block.ops:
        name = symbol_name(op)
        if name is None or _is_public(op):
            roots.append(op)
        else:
            removable[name] = op
    # In most programs, calls alone reach every symbol, and they are found fast.
    if not _unreachable(roots, removable, lambda op: {callee_name(call) for call in calls.calls_in(op)}):
        return []
    return list(_unreachable(roots, removable, _References().of).values())


def _unreachable(
    roots: Iterable[Operation], symbols: dict[str, Operation], references: Callable[[Operation], set[str]]
) -> dict[str, Operation]:
    """The symbols to which neither a root nor a symbol reached from one refers."""
    left = dict(symbols)
    pending = list(roots)
    while left and pending:
        for name in references(pending.pop()):
            if (op := left.pop(name, None)) is not None:
                pending.append(op)
    return left


def _is_public(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    return not isinstance(visibility, builtin.StringAttr) or visibility.data == "public"


class _References:
    """Collects references to symbols; visits each attribute object once."""

    def __init__(self) -> None:
        self._seen: dict[int, Attribute] = {}

    def of(self, root: Operation) -> set[str]:
        """The symbols that `root` and its nested ops refer to and that no earlier root did."""
        held = [held for op in ops_in(root) for held in (op.properties, op.attributes) if held]
        held += root.properties, root.attributes
        attributes = {id(attribute): attribute for entries in held for attribute in entries.values()}
        new = [attribute for identity, attribute in attributes.items() if identity not in self._seen]
        self._seen |= attributes
        return {name for each in new if _parts_of(each.__class__) is not _no_parts for name in _names(each)}


def _names(attribute: Attribute) -> Iterator[str]:
    pending: list[Any] = [attribute]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        else:
            pending += _parts_of(value.__class__)(value)


Parts = Callable[[Any], Iterable[Any]]


def _no_parts(value: object) -> Iterable[object]:
    return ()


_PARTS: tuple[tuple[type, Parts], ...] = (
    (TypeAttribute, _no_parts),
    (builtin.StringAttr, _no_parts),
    (builtin.DenseArrayBase, _no_parts),
    (builtin.DenseIntOrFPElementsAttr, _no_parts),
    (builtin.SymbolRefAttr, lambda value: (value.root_reference.data,)),
    (TensorSharding, lambda value: (value.mesh,)),
    (ParametrizedAttribute, lambda value: value.parameters),
    (Data, lambda value: () if isinstance(value.data, str) else (value.data,)),
    (Mapping, lambda value: value.values()),
    (tuple, lambda value: [part for part in value if not isinstance(part, str)]),
)
"""By class, the nested values to search; the first match counts. A nested string is a symbol."""


@lru_cache(maxsize=4096)
def _parts_of(kind: type) -> Parts:
    known = next((parts for base, parts in _PARTS if issubclass(kind, base)), None)
    if known is not None:
        return known
    if not is_dataclass(kind):
        return _no_parts
    names = [field.name for field in fields(kind)]
    return lambda value: [part for name in names if not isinstance(part := getattr(value, name), str)]


def flatten_call_graph(module: ModuleOp, options: CopyOptions) -> None:
    """`sdy-flatten-call-graph`: clones functions, and their callees, until each has a single call.

    Clones keep the name of the original as an attribute.

    before  call @f   call @f   func.func private @f
    after   call @f   call @f_0   func.func private @f   func.func private @f_0 {sdy.original_func_name = "f"}
    """
    symbols = Symbols(module)
    copies = calls.FunctionCopies(symbols, options.max_copied_ops, options.remedy)
    made = calls.calls_by_function(module)
    copies.check(made)
    called: set[str] = set()
    for function in calls.bottom_up(made):
        for call in made[function]:
            callee = symbols.callee(call)
            name = function_name(callee)
            if name in called:
                set_callee(call, symbols.insert(copies.copy(callee)))
            called.add(name)


def pre_order_funcs(module: ModuleOp) -> None:
    """`sdy-pre-order-funcs`: moves functions to the end of the module, callers before callees.

    Propagation visits functions in the order of the module; this is the order in which it would visit them
    if they were inlined.

    before  func.func private @f   func.func @main { call @f }   sdy.mesh @mesh
    after   sdy.mesh @mesh   func.func @main { call @f }   func.func private @f
    """
    functions = calls.functions_top_down(module)
    if functions == [*top_level_ops(module)][-len(functions) :]:
        return
    for function in functions:
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
    found = find_ops(module, FuncOp.name, CallOp.name)
    functions = [op for op in found if isinstance(op, FuncOp)]
    symbols = Symbols(module)
    made = [op for op in found if op.__class__ is CallOp] if len(functions) > 1 else []
    callees = [(call, symbols.callee(call)) for call in made]
    choose = most_called if options.dedup_functions_fully else first_called
    mergers: dict[int, tuple[Operation, Operation]] = {}
    for (call, old), function in zip(callees, choose([f for _, f in callees], symbols), strict=True):
        set_callee(call, function_name(function))
        if old is not function:
            mergers[id(old)] = (old, function)
    if is_recording():
        note_mergers(mergers.values())
    for function in functions:
        function.attributes.pop(calls.ORIGINAL_NAME, None)
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
    return calls.original_name(function), function.attributes.get(MANUAL_AXES)


def _key(function: Operation, symbols: Symbols) -> Hashable:
    return (
        _origin(function),
        function_argument_shardings(function, symbols),
        function_result_shardings(function, symbols),
    )
