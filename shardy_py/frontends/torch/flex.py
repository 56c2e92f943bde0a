"""`flex_attention`: attention whose scores and mask are functions of positions, given as graphs of numbers.

The graphs run on tensors of all scores at once. Masked blocks are computed, too: a program has the scores of
all pairs of positions, which torch's kernel never stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shardy_py.frontends.aten.elements import convert, sizes, widened
from shardy_py.frontends.aten.products import for_all_heads
from shardy_py.frontends.aten.reductions import softmax
from shardy_py.frontends.builder import Tensor, dot_general, ops

Run = Callable[..., tuple[Any, ...]]
"""(graph, tensors, shape of tensors in place of numbers) -> results."""


def flex_attention(
    run: Run,
    out: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: object,
    block_mask: Sequence[object],
    scale: float,
    kernel_options: object = None,
    score_operands: Sequence[object] = (),
    mask_operands: Sequence[object] = (),
) -> tuple[Tensor | None, ...]:
    """softmax(score_mod(query key^T scale), where the mask holds) value; no statistics of the softmax.

    block_mask: its last entry is the graph of the mask.
    """
    heads = sizes(query.type)[1]
    key, value = (
        for_all_heads(kept, heads) if sizes(kept.type)[1] != heads else kept for kept in (key, value)
    )
    batch = sizes(out[0])[:2]
    query, key, value = (ops.broadcast_to(t, (*batch, *sizes(t.type)[2:])) for t in (query, key, value))
    (scores,) = widened(dot_general(query, key, ((3,), (3,)), ((0, 1), (0, 1))) * scale)
    shape = sizes(scores.type)
    places = [ops.iota(shape, d, "i32") for d in range(4)]
    (scores,) = run(score_mod, [scores, *places, *score_operands], shape)
    (kept,) = run(block_mask[-1], [*places, *mask_operands], shape)
    scores = ops.select(ops.broadcast_to(kept, shape), ops.broadcast_to(scores, shape), -np.inf)
    weights = convert(softmax(scores, 3, empty_rows=True), value.element_type)
    found = dot_general(weights, value, ((3,), (2,)), ((0, 1), (0, 1)))
    return convert(found, out[0].element_type), *(None for _ in out[1:])
