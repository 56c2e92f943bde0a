"""What is read, by following sets of elements through the ops one by one: no composing, no simplifying."""

from __future__ import annotations

import random
from itertools import product

from shardy_py.hlo.analysis import Function, Node, op_maps
from shardy_py.indexing import IndexMap, reads
from shardy_py.ops import OpRecord, TensorType

Element = tuple[int, ...]


def elements(tensor: TensorType | None) -> list[Element]:
    return list(product(*(range(size or 0) for size in (tensor.shape if tensor else ()))))


def read_by(function: Function, result: int) -> dict[Element, set[tuple[int, Element]]]:
    """For each element of a result, the elements of parameters (by number) that it reads."""
    firsts = function.first_results
    found: dict[int, dict[Element, set[tuple[int, Element]]]] = {
        p: {e: {(p, e)} for e in elements(t)} for p, t in enumerate(function.parameters)
    }
    for node, first in zip(function.nodes, firsts, strict=True):
        grid = op_maps(node.record)
        for r, tensor in enumerate(node.record.results):
            here: dict[Element, set[tuple[int, Element]]] = {e: set() for e in elements(tensor)}
            for operand, value in enumerate(node.operands):
                for step in grid[r][operand]:
                    for element, there in reads(step).items():
                        for e in there:
                            here[element] |= found[value][e]
            found[first + r] = here
    return found[result]


def read_by_maps(grid_row: tuple[tuple[IndexMap, ...], ...], tensor: TensorType | None) -> dict:
    """The same from maps of the whole function."""
    found: dict[Element, set[tuple[int, Element]]] = {e: set() for e in elements(tensor)}
    for parameter, maps in enumerate(grid_row):
        for index_map in maps:
            for element, there in reads(index_map).items():
                found[element] |= {(parameter, e) for e in there}
    return found


def random_function(chance: random.Random, length: int) -> Function:
    """A function of one or two small parameters and `length` ops."""
    parameters = tuple(
        TensorType(tuple(chance.choice((1, 2, 3, 4)) for _ in range(chance.choice((1, 2, 3)))))
        for _ in range(chance.choice((1, 2)))
    )
    types: list[TensorType] = [*parameters]
    nodes: list[Node] = []
    while len(nodes) < length:
        value = chance.randrange(len(types))
        made = chance.choice(MAKERS)(chance, types[value])
        others = [v for v, t in enumerate(types) if t == types[value]]
        operands = [value, *(chance.choice(others) for _ in made.operands[1:])]
        if made.operands[0] is None or [types[v] for v in operands] != list(made.operands):
            continue
        nodes.append(Node(f"v{len(types)}", made, tuple(operands)))
        types += [t for t in made.results if t]
    return Function("random", parameters, tuple(nodes), (len(types) - 1,))


def _add(chance: random.Random, t: TensorType) -> OpRecord:
    return OpRecord("stablehlo.add", (t, t), (t,))


def _transpose(chance: random.Random, t: TensorType) -> OpRecord:
    order = list(range(t.rank))
    chance.shuffle(order)
    result = TensorType(tuple(t.shape[d] for d in order))
    return OpRecord("stablehlo.transpose", (t,), (result,), {"permutation": tuple(order)})


def _reverse(chance: random.Random, t: TensorType) -> OpRecord:
    return OpRecord("stablehlo.reverse", (t,), (t,), {"dimensions": (chance.randrange(t.rank),)})


def _reshape(chance: random.Random, t: TensorType) -> OpRecord:
    total = 1
    for size in t.shape:
        total *= size or 1
    shapes = [(total,)] + [(a, total // a) for a in range(1, total + 1) if not total % a]
    return OpRecord("stablehlo.reshape", (t,), (TensorType(chance.choice(shapes)),))


def _slice(chance: random.Random, t: TensorType) -> OpRecord:
    starts = tuple(chance.randrange(size or 1) for size in t.shape)
    strides = tuple(chance.choice((1, 2)) for _ in t.shape)
    sizes = tuple(-(-((n or 1) - s) // k) for n, s, k in zip(t.shape, starts, strides, strict=True))
    attributes = {"start_indices": starts, "limit_indices": t.shape, "strides": strides}
    return OpRecord("stablehlo.slice", (t,), (TensorType(sizes),), attributes)


def _concatenate(chance: random.Random, t: TensorType) -> OpRecord:
    along = chance.randrange(t.rank)
    shape = tuple((n or 0) * 2 if d == along else n for d, n in enumerate(t.shape))
    return OpRecord("stablehlo.concatenate", (t, t), (TensorType(shape),), {"dimension": along})


def _broadcast(chance: random.Random, t: TensorType) -> OpRecord:
    result = TensorType((2, *t.shape))
    kept = tuple(range(1, t.rank + 1))
    return OpRecord("stablehlo.broadcast_in_dim", (t,), (result,), {"broadcast_dimensions": kept})


MAKERS = (_add, _transpose, _reverse, _reshape, _slice, _concatenate, _broadcast)
