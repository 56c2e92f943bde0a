"""All values of a module with their names: SSA name, label, source location.

Not here: shardings (`value_shardings.py`), reports on values (`report/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Literal

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError, closest
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.holders import Holder, Place, read
from shardy_py.mlir.ir import blocks_of, file_names, ops_in, type_of, walk_pre_order
from shardy_py.mlir.location_names import location_text, name_in
from shardy_py.mlir.module_paths import ops_by_module, outputs_of
from shardy_py.mlir.symbols import function_name, functions_of
from shardy_py.mlir.text.naming import ValueNames
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import dictionaries_of, function_type_of, of_kind
from shardy_py.mlir.value_shardings import holder_of, sharding_of
from shardy_py.sharding import TensorSharding

_NAMES = (
    "an SSA name as printed or in the file ('%3', '%x', '@f:%3'), 'result 0', the name of an argument, "
    "jax.result_info, a source location ('model.py:12'), a module ('layers.0.mlp'), or all of an op "
    "('op=dot_general')"
)
_OP = "op="
_WORD = re.compile(r"\w+")
_PLACE = re.compile(r":\d+$")
_LISTED = 6
"""Names that an error lists at most, where none is like the unknown one."""
RESULT_INFO = "jax.result_info"

Role = Literal["argument", "result", "intermediate"]
"""Argument or result of a function; results of ops and block arguments in it are intermediates."""


@dataclass(slots=True, eq=False, repr=False)  # not frozen, which would triple the time to make it
class ValueEntry:
    """One value of a module; never changed.

    name: `%3`, `%arg0`, `%0#1`; of a function's result `result 0`.
    function: the symbol of the function around it, without `@`; "" outside of functions.
    op: the defining op; for an argument, the function or the op with the region.
    index: its index among the results of `op`, or among the arguments.
    value: None for results of functions, which are not SSA values.
    label: JAX's name of an argument (its location) or result (`jax.result_info`), or "".
    """

    name: str
    function: str
    role: Role
    type: Attribute
    op: Operation
    index: int
    value: SSAValue | None
    label: str = ""

    @property
    def location(self) -> Attribute:
        """Its location in the source."""
        if self.role != "argument":
            return of_kind(self.op, Operation).location
        return of_kind(self.value, BlockArgument).location

    @property
    def holder(self) -> Holder | None:
        """The place of its sharding; None if it cannot have one."""
        if self.value is None:
            return Holder(Place.FUNCTION_RESULT, self.op, self.index)
        return holder_of(self.value)

    @property
    def sharding(self) -> TensorSharding | None:
        """Its sharding in the IR; None if it has none."""
        if self.value is not None:
            return sharding_of(self.value)
        return read(Holder(Place.FUNCTION_RESULT, self.op, self.index))

    @property
    def file_name(self) -> str:
        """Its name in the file that it was read from, which may differ from `name`; "" if it has none."""
        return next(iter(self.file_names), "")

    @property
    def file_names(self) -> tuple[str, ...]:
        """Its name in the file, then those of the values that it has replaced."""
        return () if self.value is None else file_names(self.value)

    def __str__(self) -> str:
        return self.name if self.function in ("", "main") else f"@{self.function}:{self.name}"

    def __repr__(self) -> str:
        return f"<ValueEntry {self} of {self.op.name}>"


@dataclass(eq=False)
class ValueTable:
    """The values of `module` in program order; the module must not change while the table is in use."""

    module: ModuleOp

    @cached_property
    def ops(self) -> Sequence[Operation]:
        """All operations in the module, in program order, each before its nested operations."""
        return ops_in(self.module)

    @cached_property
    def op_classes(self) -> frozenset[type[Operation]]:
        """The classes of the operations in the module."""
        return frozenset(map(type, self.ops))

    @cached_property
    def entries(self) -> tuple[ValueEntry, ...]:
        """All values: for each function its arguments, then the values inside, then its results."""
        return tuple(self._collected())

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names of all SSA values, by identity."""
        return ValueNames(self.module, syntax_table(), is_printed=False).of

    def names_of(self, op: Operation) -> tuple[str, str]:
        """The name of the first result of an op, and the symbol of the function around it; "" for none.

        They are those of its entry, but no entries are made for them.
        """
        name = self.names.get(id(op.results[0])) if op.results else None
        if name is None:  # also of an op elsewhere
            return "", ""
        around = op.parent_op()
        while around is not None and around.__class__ is not FuncOp:
            around = around.parent_op()
        return name, "" if around is None else function_name(around)

    @cached_property
    def by_value(self) -> dict[int, ValueEntry]:
        """The entry of each SSA value, by identity."""
        return {id(entry.value): entry for entry in self.entries if entry.value is not None}

    @cached_property
    def boundaries(self) -> Mapping[tuple[str, Role, int], ValueEntry]:
        """The arguments and results of functions, by function, role and number, in program order."""
        entries: Iterable[ValueEntry] = chain.from_iterable(chain(*pair) for pair in self._ends.values())
        if not self._ends:
            entries = (entry for entry in self.entries if entry.role != "intermediate")
        return {(entry.function, entry.role, entry.index): entry for entry in entries}

    @cached_property
    def _ends(self) -> dict[int, tuple[tuple[ValueEntry, ...], tuple[ValueEntry, ...]]]:
        """By the identity of each function its arguments and results, which need none of the values inside.

        Empty if there are functions elsewhere than in the module, or with several blocks.
        """
        others = [op for op in self.module.body.block.ops if op.regions and op.__class__ is not FuncOp]
        functions = functions_of(self.module)
        if others or any(len(function.body.blocks) > 1 for function in functions):
            return {}
        names = ValueNames(self.module, syntax_table(), only_arguments=True, is_printed=False).of
        return {id(f): (tuple(_arguments(f, names)), tuple(_results(f))) for f in functions}

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """The symbols of the functions, in program order."""
        return tuple(map(function_name, functions_of(self.module)))

    def find_all(self, key: str) -> Sequence[ValueEntry]:
        """All values named `key`: a name, `@function:name`, label, source `file:line[:column]`, `op=NAME`,
        and the outputs of a module.

        Values of @main take precedence over values of other functions, and names as they are printed over
        those of the file; `other_meaning` tells where they differ.
        """
        if _PLACE.search(key):  # of the whole program, which the index of names would take time for
            named = [e for e in self.entries if key in (e.name, e.label) or (e.label and key in _names_of(e))]
            found: Sequence[ValueEntry] = named or self._at_place(key)
        else:
            found = self._by_name.get(key) or self._by_file_name.get(key) or ()
        if not found and key.startswith(_OP):
            found = self.of_op(key.removeprefix(_OP))
        found = found or self._of_module(key)
        return _main_first(found)

    def other_meaning(self, key: str) -> Diagnostic | None:
        """A remark on a name as printed that another value has in the file; None the next time."""
        inside = self._by_name.get(key) if "%" in key and key not in self._remarked else None
        if not inside or _main_first(inside)[0].file_name == key.rpartition(":")[2]:
            return None  # most files have the names that are printed: they need no index of others
        inside, others = _main_first(inside), _main_first(self._by_file_name.get(key) or ())
        if not others or others[0] in inside:
            return None
        self._remarked.add(key)
        shown, other = (f"{entry} = {entry.op.name}" for entry in (inside[0], others[0]))
        fact = f"'{key}' is taken as it is printed, {shown}; in the file it is the name of {other}"
        return Diagnostic(fact, position_of(others[0].location), "remark")

    @cached_property
    def _remarked(self) -> set[str]:
        return set()

    def of_op(self, name: str) -> Sequence[ValueEntry]:
        """The results of all ops of that name, with or without dialect."""
        name = name.strip()
        classes = {op_class for op_class in self.op_classes if name in _spellings(op_class)}
        if not classes:
            return ()
        entries = (entry for entry in self.entries if entry.op.__class__ in classes)
        return [entry for entry in entries if isinstance(entry.value, OpResult)]

    def find(self, key: str) -> ValueEntry:
        """The value named `key`; raises `ShardyError` if there is none or several."""
        found = self.find_all(key)
        if len(found) == 1:
            return found[0]
        if not found:
            raise ShardyError(
                Diagnostic(f"unknown value '{key}'", expected=_NAMES, remedy=self._hint(key), subject=key)
            )
        names = [f"@{entry.function}:{entry.name}" for entry in found]
        remedy = "use one of these names"
        if len(set(names)) < len(names):  # values of different regions of a function may share a name
            places = (filter(None, (entry.op.name, location_text(entry.location))) for entry in found)
            names = [f"{name} ({', '.join(parts)})" for name, parts in zip(names, places, strict=True)]
            remedy = "use a location (model.py:12), or values.named(key) in Python"
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        got = f"{len(found)} values: {', '.join(names[:8])}{more}"
        raise ShardyError.unexpected(f"ambiguous name '{key}'", expected="one value", got=got, remedy=remedy)

    def _hint(self, key: str) -> str:
        """The names that are like an unknown one; if there are none, some of the program."""
        if close := self._similar(key):
            return f"did you mean {' or '.join(map(repr, close))}?"
        some = [repr(entry.file_name or entry.name) for entry in self.entries[:_LISTED]]
        more = f" and {len(self.entries) - _LISTED:,} more" if len(self.entries) > _LISTED else ""
        return f"the program has {', '.join(some)}{more}" if some else ""

    def _similar(self, key: str) -> list[str]:
        """At most three keys: with all words of `key` (`up`: `params['up']`), else of similar spelling."""
        if key.startswith(_OP):
            return [f"{_OP}{name}" for name in closest(key.removeprefix(_OP), self._op_names, 3)]
        if key in self._op_names:
            return [f"{_OP}{key}"]
        words = set(_WORD.findall(key))
        names = dict.fromkeys((*self._by_file_name, *self._by_name))
        containing = (name for name in names if words and words <= {*_WORD.findall(name)})
        return [*islice(containing, 3)] or closest(key, names, 3)

    @cached_property
    def _op_names(self) -> dict[str, None]:
        """The names of ops with results, with and without dialect."""
        kinds = dict.fromkeys(e.op.__class__ for e in self.entries if isinstance(e.value, OpResult))
        return dict.fromkeys(name for kind in kinds for name in _spellings(kind))

    @cached_property
    def _by_file_name(self) -> dict[str, list[ValueEntry]]:
        """The values whose names in the file are not those that are printed; own names take precedence."""
        named = [entry for entry in self.entries if entry.file_names]
        own = _listed((key, entry) for entry in named for key in _keys_of(entry, entry.file_name))
        others = ((entry, name) for entry in named for name in entry.file_names[1:])
        return _listed((key, entry) for entry, name in others for key in _keys_of(entry, name)) | own

    @cached_property
    def _by_name(self) -> dict[str, list[ValueEntry]]:
        return _listed((key, entry) for entry in self.entries for key in _names_of(entry))

    def _of_module(self, path: str) -> Sequence[ValueEntry]:
        """The outputs of the module of that path, as `layers.0.mlp`; () unless ops have such names."""
        outputs = outputs_of(self._by_module.get(path, ()) if path else (), path)
        return [self.by_value[id(value)] for value in outputs]

    @cached_property
    def _by_module(self) -> Mapping[str, list[Operation]]:
        return ops_by_module(walk_pre_order(self.module, include_root=False))

    def _at_place(self, key: str) -> list[ValueEntry]:
        known = self._places.get(key)
        if known is None:
            is_there: dict[int, bool] = {}  # by identity of locations, which the ops keep alive
            known = self._places[key] = []
            for entry in self.entries:
                if entry.role == "intermediate":
                    location = entry.location
                    here = is_there.get(id(location))
                    if here is None:
                        here = is_there[id(location)] = key in _places_of(location)
                    if here:
                        known.append(entry)
        return known

    @cached_property
    def _places(self) -> dict[str, list[ValueEntry]]:
        """The values of the places asked for so far."""
        return {}

    def _collected(self) -> list[ValueEntry]:
        names = self.names
        known = self._ends
        found: list[ValueEntry] = []
        add = found.append
        results: Iterable[ValueEntry] = ()
        symbol = ""
        for op in self.ops:
            if op.__class__ is FuncOp:
                found += results
                symbol = function_name(op)
                arguments, results = known.get(id(op)) or (_arguments(op, names), _results(op))
                found += arguments
                continue
            for index, result in enumerate(op.results):
                name = names.get(id(result), "")
                add(ValueEntry(name, symbol, "intermediate", type_of(result), op, index, result))
            if op.regions:
                for block in blocks_of(op):
                    for index, argument in enumerate(block.args):
                        name = names.get(id(argument), "")
                        add(ValueEntry(name, symbol, "intermediate", argument.type, op, index, argument))
        found += results
        return found


def _arguments(function: Operation, names: Mapping[int, str]) -> Iterator[ValueEntry]:
    """The arguments of all blocks of a function."""
    symbol = function_name(function)
    for block in blocks_of(function):
        for index, argument in enumerate(block.args):
            name, label = names.get(id(argument), ""), name_in(argument.location)
            yield ValueEntry(name, symbol, "argument", argument.type, function, index, argument, label)


def _results(function: Operation) -> Iterator[ValueEntry]:
    types = function_type_of(function).outputs.data
    attributes = dictionaries_of(function, "res_attrs")
    symbol = function_name(function)
    for index, type_ in enumerate(types):
        info = attributes[index].data.get(RESULT_INFO) if attributes else None
        label = info.data if isinstance(info, StringAttr) else ""
        yield ValueEntry(f"result {index}", symbol, "result", type_, function, index, None, label)


def _spellings(op_class: type[Operation]) -> set[str]:
    """The name of a class of ops with its dialect, and without."""
    return {op_class.name, op_class.name.partition(".")[2]}


def _listed(pairs: Iterable[tuple[str, ValueEntry]]) -> dict[str, list[ValueEntry]]:
    by_key: dict[str, list[ValueEntry]] = {}
    for key, entry in pairs:
        by_key.setdefault(key, []).append(entry)
    return by_key


def _names_of(entry: ValueEntry) -> Iterator[str]:
    for name in filter(None, (entry.name, entry.label)):
        yield from (name, f"@{entry.function}:{name}")


def _keys_of(entry: ValueEntry, name: str) -> Iterator[str]:
    """The table that finds a value by a name that the file gave it."""
    if name != entry.name:
        group = name.removesuffix("#0")  # the name of several results is that of the first, too
        for each in {name, group}:
            yield from (each, f"@{entry.function}:{each}")


def _main_first(found: Sequence[ValueEntry]) -> Sequence[ValueEntry]:
    """The values of @main; all if there are none."""
    return [entry for entry in found if entry.function == "main"] or found


def _places_of(location: Attribute) -> Iterator[str]:
    position = position_of(location)
    if position is not None:
        for file in {position.file, position.file.rpartition("/")[2]}:
            yield f"{file}:{position.line}"
            yield f"{file}:{position.line}:{position.column}"
