"""The maps between the results and the parameters of a whole function, through all its ops.

`function_maps(function)[result][parameter]` are the distinct maps from an element of the result to the
elements of the parameter that it reads. From a result the nodes are visited once, last first, so the maps to
a value are complete before its producer is reached. The other direction visits the nodes from a parameter,
first to last.

>>> from shardy_py.ops import OpRecord, TensorType
>>> t = TensorType((4, 4))
>>> swap = Node("swap", OpRecord("stablehlo.transpose", (t,), (t,), {"permutation": (1, 0)}), (0,))
>>> add = Node("add", OpRecord("stablehlo.add", (t, t), (t,)), (0, 1))
>>> [str(m).splitlines()[0] for m in function_maps(Function("f", (t,), (swap, add), (2,)))[0][0]]
['(d0, d1) -> (d0, d1),', '(d0, d1) -> (d1, d0),']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardy_py.base.errors import located, warn
from shardy_py.hlo.analysis.function import Function, Node, function_of
from shardy_py.hlo.analysis.maps import Direction, Grid, Maps, everything, identity, op_maps, sizes_of
from shardy_py.indexing import IndexMap
from shardy_py.ops import OpRecord, TensorType

MOST_MAPS = 16
"""A tensor with more maps counts as read whole."""

MOST_COMPOSITIONS = 10_000
"""Different compositions of maps in one analysis; beyond them tensors count as read whole, with a warning."""


def function_maps(subject: Function | OpRecord, direction: Direction = "output-to-input") -> Grid:
    """For each result the maps to each parameter, or for each parameter those to each result."""
    function = subject if isinstance(subject, Function) else function_of(subject)
    analysis = _Analysis(function.nodes, direction)
    grid = analysis.grid(function, direction)
    analysis.report()
    return grid


def node_maps(node: Node, direction: Direction = "output-to-input") -> Grid:
    """The maps of one node, through the functions it runs."""
    analysis = _Analysis((node,), direction)
    grid = analysis.located(node, direction)
    analysis.report()
    return grid


class _Analysis:
    """The analysis of some nodes; each called function is analysed once.

    Called functions come first, innermost first, so that the depth of calls does not limit the recursion.
    Equal maps to a value are one object: whether a map is known is then decided by its identity.
    given_up: the values that count as read whole because there are too many compositions.
    """

    def __init__(self, nodes: Sequence[Node], direction: Direction) -> None:
        self.functions: dict[tuple[Function, Direction], Grid] = {}
        self.grids: dict[tuple[int, Direction], tuple[Node, Grid]] = {}
        self.composed: dict[tuple[int, int], tuple[IndexMap, IndexMap, IndexMap | None]] = {}
        self.identities: dict[int, tuple[IndexMap, bool]] = {}
        self.known: dict[IndexMap, IndexMap] = {}
        self.wholes: dict[tuple[TensorType | None, TensorType | None], dict[int, IndexMap]] = {}
        self.given_up: dict[tuple[Function, int], None] = {}
        called = _called(nodes)
        inner = (node for function in called for node in function.nodes)
        # What a loop or a selector leads to follows from what each result reads.
        read = _called([node for node in (*nodes, *inner) if node.form in ("loop", "branches")])
        for function in read:
            self.grid(function, "output-to-input")
        for function in called:
            self.grid(function, direction)

    def grid(self, function: Function, direction: Direction) -> Grid:
        key = (function, direction)
        if key not in self.functions:
            forward = direction == "input-to-output"
            starts = range(len(function.parameters)) if forward else function.results
            self.functions[key] = tuple(
                self.from_parameter(function, v) if forward else self.from_result(function, v) for v in starts
            )
        return self.functions[key]

    def from_result(self, function: Function, result: int) -> tuple[Maps, ...]:
        """The maps from one result to each parameter."""
        walk = _Walk(self, function, result)
        for node, first in zip(reversed(function.nodes), reversed(function.first_results), strict=True):
            count = len(node.record.results)
            if count == 1:
                if first not in walk.reached:
                    continue
                reached = [0]
            else:
                reached = [r for r in range(count) if first + r in walk.reached]
            grid = self.located(node, "output-to-input") if reached else ()
            for r in reached:
                for operand, value in enumerate(node.operands):
                    walk.step(first + r, value, grid[r][operand])
        return walk.maps(range(len(function.parameters)))

    def from_parameter(self, function: Function, parameter: int) -> tuple[Maps, ...]:
        """The maps from one parameter to each result."""
        walk = _Walk(self, function, parameter)
        for node, first in zip(function.nodes, function.first_results, strict=True):
            used = [o for o, value in enumerate(node.operands) if value in walk.reached]
            grid = self.located(node, "input-to-output") if used else ()
            for operand in used:
                for r in range(len(node.record.results)):
                    walk.step(node.operands[operand], first + r, grid[operand][r])
        return walk.maps(function.results)

    def one(self, index_map: IndexMap) -> IndexMap:
        """The one object among equal maps."""
        return self.known.setdefault(index_map, index_map)

    def whole(self, source: TensorType | None, target: TensorType | None) -> dict[int, IndexMap]:
        """The map from a tensor to all of another one."""
        known = self.wholes.get((source, target))
        if known is None:
            known = self.wholes[source, target] = _by_id(map(self.one, everything(source, target)))
        return known

    def compose(self, first: IndexMap, then: IndexMap) -> IndexMap | None:
        """The simplified composition; None if its domain is empty."""
        composed = first.compose(then).simplified
        is_empty = any(not interval.size for interval in composed.bounds.values())
        return None if is_empty else self.one(composed)

    def is_identity(self, index_map: IndexMap, source: TensorType | None) -> bool:
        """Returns whether a map from a tensor of the type `source` is the identity."""
        entry = self.identities.get(id(index_map))
        if entry is None:
            entry = self.identities[id(index_map)] = index_map, _is_identity(index_map, source)
        return entry[1]

    def report(self) -> None:
        """Warns about the values whose maps it has given up."""
        if not self.given_up:
            return
        function, value = next(iter(self.given_up))
        before = [
            n for n, first in zip(function.nodes, function.first_results, strict=True) if first <= value
        ]
        what = f"'{function.name}': {len(self.given_up)} values, and all behind them, count as read whole"
        limit = f"expected at most {MOST_COMPOSITIONS} compositions of maps, got more"
        warn(f"{what}: {limit}; analyse its ops one by one", before[-1].position if before else None)

    def located(self, node: Node, direction: Direction) -> Grid:
        """The maps of a node; errors get its position."""
        key = (id(node), direction)
        entry = self.grids.get(key)
        if entry is None:
            entry = self.grids[key] = node, self.located_once(node, direction)
        return entry[1]

    def located_once(self, node: Node, direction: Direction) -> Grid:
        with located(node.position):
            return self.node(node, direction)

    def node(self, node: Node, direction: Direction) -> Grid:
        if node.form == "op":
            return op_maps(node.record, direction)
        operands, results = range(len(node.record.operands)), range(len(node.record.results))
        if direction == "output-to-input":
            return tuple(self.reads(node, r) for r in results)
        return tuple(tuple(self.written(node, o, r) for r in results) for o in operands)

    def reads(self, node: Node, result: int) -> tuple[Maps, ...]:
        return _BY_FORM[node.form](self, node, result)

    def written(self, node: Node, operand: int, result: int) -> Maps:
        """The maps from an operand to a result of a node with bodies."""
        types = node.record.operands[operand], node.record.results[result]
        if node.form == "loop" or (node.form == "branches" and not operand):
            there = self.reads(node, result)[operand]
            kept = types[0] is not None and there == (identity(types[0]),)
            return there if kept or not there else everything(*types)
        maps: dict[IndexMap, None] = {}
        for body in node.bodies:
            grid = self.grid(body.function, "input-to-output")
            for parameter, given in enumerate(body.inputs):
                if given == operand:
                    maps.update(dict.fromkeys(grid[parameter][result]))
        return tuple(maps)

    def from_bodies(self, node: Node, result: int) -> tuple[Maps, ...]:
        """The union over all bodies; the operand that selects one is read whole."""
        by_operand: list[dict[IndexMap, None]] = [{} for _ in node.operands]
        for body in node.bodies:
            row = self.grid(body.function, "output-to-input")[result]
            for parameter, operand in enumerate(body.inputs):
                by_operand[operand].update(dict.fromkeys(row[parameter]))
        if node.form == "branches":
            by_operand[0] = dict.fromkeys(everything(node.record.results[result], node.record.operands[0]))
        return tuple(map(tuple, by_operand))

    def from_loop(self, node: Node, result: int) -> tuple[Maps, ...]:
        """The identity for values the body does not change; else all that any iteration depends on."""
        record, (condition, body) = node.record, node.bodies
        grid = self.grid(body.function, "output-to-input")
        if body.function.results[result] == result and body.function.parameters[result]:
            tensor = record.operands[body.inputs[result]]
            own = (identity(tensor),) if tensor else ()
            return tuple(own if o == body.inputs[result] else () for o in range(len(node.operands)))
        (stops,) = self.grid(condition.function, "output-to-input")
        needed = {o for o, maps in zip(condition.inputs, stops, strict=True) if maps} | {body.inputs[result]}
        waiting = list(needed)
        loops = {operand: number for number, operand in enumerate(body.inputs[: len(grid)])}
        while waiting:
            number = loops.get(waiting.pop())
            if number is None:
                continue
            for operand, maps in zip(body.inputs, grid[number], strict=True):
                if maps and operand not in needed:
                    needed.add(operand)
                    waiting.append(operand)
        return tuple(
            everything(record.results[result], tensor) if o in needed else ()
            for o, tensor in enumerate(record.operands)
        )


class _Walk:
    """The maps from one value to the values reached so far."""

    def __init__(self, analysis: _Analysis, function: Function, start: int) -> None:
        self.analysis = analysis
        self.function = function
        self.types = function.types
        self.source = function.types[start]
        self.reached: dict[int, dict[int, IndexMap]] = {}
        self.whole: set[int] = set()
        tensor = self.source
        if tensor is not None and all(sizes_of(tensor)):
            self.reached[start] = _by_id((analysis.one(identity(tensor)),))

    def step(self, origin: int, value: int, maps: Maps) -> None:
        """Extends the maps to `origin` by `maps` to `value`."""
        if not maps or value in self.whole or origin == value:
            return
        if origin in self.whole:
            self.reach_whole(value)
            return
        analysis, maps_to_origin = self.analysis, self.reached[origin]
        maps_to_value = self.reached.setdefault(value, {})
        for then in maps:
            if analysis.is_identity(then, self.types[origin]):
                maps_to_value.update(maps_to_origin)
                continue
            for first in maps_to_origin.values():
                known = analysis.composed.get((id(first), id(then)))
                if known is None:
                    if len(analysis.composed) >= MOST_COMPOSITIONS:
                        analysis.given_up[self.function, value] = None
                        self.reach_whole(value)
                        return
                    known = first, then, analysis.compose(first, then)
                    analysis.composed[id(first), id(then)] = known
                if (composed := known[2]) is not None:
                    maps_to_value[id(composed)] = composed
        if not maps_to_value:
            del self.reached[value]
        if len(maps_to_value) > MOST_MAPS:
            self.reach_whole(value)

    def reach_whole(self, value: int) -> None:
        """Makes every element of `value` count as read."""
        self.whole.add(value)
        self.reached[value] = self.analysis.whole(self.source, self.types[value])

    def maps(self, values: Iterable[int]) -> tuple[Maps, ...]:
        return tuple(tuple(self.reached[v].values()) if v in self.reached else () for v in values)


def _by_id(maps: Iterable[IndexMap]) -> dict[int, IndexMap]:
    return {id(index_map): index_map for index_map in maps}


def _called(nodes: Sequence[Node]) -> list[Function]:
    """The functions that nodes run, directly or not, each after those it runs itself."""
    functions: dict[Function, None] = {}
    waiting = [(body.function, False) for node in nodes for body in node.bodies]
    while waiting:
        function, is_ready = waiting.pop()
        if is_ready:
            functions[function] = None
        elif function not in functions:
            waiting.append((function, True))
            waiting += [(body.function, False) for node in function.nodes for body in node.bodies]
    return list(functions)


_BY_FORM = {"call": _Analysis.from_bodies, "branches": _Analysis.from_bodies, "loop": _Analysis.from_loop}


def _is_identity(index_map: IndexMap, source: TensorType | None) -> bool:
    if source is None or index_map.ranges or index_map.runtimes or index_map.constraints:
        return False
    known = identity(source)
    return index_map.results == known.results and index_map.dims == known.dims
