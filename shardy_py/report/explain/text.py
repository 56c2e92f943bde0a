"""Explanations as text that an ML engineer reads.

    %3 = stablehlo.dot_general: <@mesh, [{"x"}, {}]>
      dim 0 "x"
        1. argument sharding of %arg0 (x)          model.py:3
           -> %2 = stablehlo.add   i: dim 0 of operand 0 -> dim 0 of result 0      model.py:7

Not here: finding them (`explaining.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.report.explain.explanation import Annotation, Chain, Explanation, Link, Place


def explanation_text(explanation: Explanation) -> str:
    """All of an explanation, ending in a line break."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    type_ = f" : {explanation.type}" if explanation.type else ""
    yield f"{explanation.place}{type_}"
    if explanation.place.location:
        yield f"  at {explanation.place.location}"
    yield f"  sharding {explanation.sharding or 'none'}"
    if not explanation.axes:
        yield "  no axis shards it"
    for axis in explanation.axes:
        yield f"  dim {axis.dimension}, axis {axis.axis}"
        for number, chain in enumerate(axis.chains):
            yield from _chain_lines(chain, number)


def _chain_lines(chain: Chain, number: int) -> Iterator[str]:
    if number == 0:
        yield f"    from {_annotation(chain.annotation)}"
    elif chain.happened:
        yield f"    also from {_annotation(chain.annotation)}"
    else:
        yield f"    would come from {_annotation(chain.annotation)}"
    for link in chain.links:
        yield f"      -> {_link(link)}"


def _annotation(annotation: Annotation) -> str:
    priority = "" if annotation.priority is None else f", priority {annotation.priority}"
    text = f" {annotation.sharding}" if annotation.sharding else ""
    return f"the {annotation.kind} of {annotation.place}{text}{priority}{_at(annotation.place)}"


def _link(link: Link) -> str:
    target = f"{link.target} dim {link.dimension} {link.axis}"
    match link.kind:
        case "pass":
            why = f"by {link.pass_name}" + (f", {link.note}" if link.note else "")
        case "group":
            why = f"{link.note}: {link.through}"
        case "result":
            why = f"as the value returned, {link.factor}"
        case _:
            through = "" if link.through.name == link.target.name else f" of {link.through}"
            why = f"along {link.factor}{through}, rule {link.rule}"
    when = ", ".join(
        filter(
            None,
            (
                link.strategy,
                link.op_priority and f"op priority {link.op_priority}",
                link.user_priority and f"user priority {link.user_priority}",
            ),
        )
    )
    return f"{target}: {why}" + (f" ({when})" if when else "") + _at(link.through)


def _at(place: Place) -> str:
    return f"  [{place.location}]" if place.location else ""
