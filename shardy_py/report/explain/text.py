"""Explanations as text that an ML engineer reads: the first chain move by move, of the others the values.

    %3 = stablehlo.dot_general : tensor<8x8xf32>  [model.py:7]
      sharding <@mesh, [{"x"}, {}]>
      dim 0 is sharded by x
        from the argument sharding of %arg0 (a) <@mesh, [{"x"}, {?}]>  [model.py:3]
          -> %3 = stablehlo.dot_general dim 0  (pass_through_factors, aggressive)  [model.py:7]
             i: dim 0 of operand 0 -> dim 0 of result 0 of <([i, k], [k, j])->([i, j]) {i=8, j=8, k=8}>

Not here: finding them (`explaining.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardy_py.report.explain.explanation import Annotation, Chain, Explanation, Link, Place


MOST_TOLD = 4
"""So many chains an axis are told; `to_json` has all."""


def explanation_text(explanation: Explanation) -> str:
    """All of an explanation, ending in a line break."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    type_ = f" : {explanation.type}" if explanation.type else ""
    yield f"{explanation.place}{type_}{_at(explanation.place)}"
    yield f"  sharding {explanation.sharding or 'none'}"
    if not explanation.axes:
        none = "" if explanation.is_propagated else ": nothing was propagated; run sdy-propagation-pipeline"
        yield f"  no axis shards it{none}"
    for axis in explanation.axes:
        whole = f"  it is {axis.role} along {axis.axis}"
        yield f"  dim {axis.dimension} is sharded by {axis.axis}" if axis.role == "sharded" else whole
        for number, chain in enumerate(axis.chains[:MOST_TOLD]):
            yield from _chain_lines(chain, number, axis.axis)
        if len(axis.chains) > MOST_TOLD:
            yield f"    ... and {len(axis.chains) - MOST_TOLD} other annotations that agree"


def _chain_lines(chain: Chain, number: int, axis: str) -> Iterator[str]:
    opening = "from" if number == 0 else "also from" if chain.happened else "otherwise from"
    yield f"    {opening} {_annotation(chain.annotation)}"
    if number and chain.links:
        yield f"      -> {' -> '.join(f'{link.target.name or link.target.op}' for link in chain.links)}"
        return
    for link in chain.links:
        dimension = "" if link.dimension < 0 else f" dim {link.dimension}"
        part = "" if link.axis == axis else f" {link.axis}"
        way = "" if link.through.name == link.target.name else f" through {link.through}"
        rounds = (
            link.user_priority and f"user priority {link.user_priority}",
            link.op_priority,
            link.strategy,
        )
        when = ", ".join(filter(None, rounds))
        yield (
            f"      -> {link.target}{dimension}{part}{_way(link, way)}"
            + (f"  ({when})" if when else "")
            + _at(link.through)
        )
        if link.factor:
            yield f"         {link.factor}" + (f" of {link.rule}" if link.rule else "")


def _way(link: Link, way: str) -> str:
    match link.kind:
        case "pass":
            return f" by {link.pass_name}" + (f", {link.note}" if link.note else way)
        case "group":
            return f" like {link.through}: {link.note}"
        case "result":
            return " as the value that is returned" + (f", {link.note}" if link.note else "")
        case _:
            return way + (f", {link.note}" if link.note else "")


def _annotation(annotation: Annotation) -> str:
    priority = "" if annotation.priority is None else f", priority {annotation.priority}"
    text = f" {annotation.sharding}" if annotation.sharding else ""
    return f"{annotation}{text}{priority}{_at(annotation.place)}"


def _at(place: Place) -> str:
    return f"  [{place.location}]" if place.location and place.name else ""
