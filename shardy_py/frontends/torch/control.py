"""Control flow of exported graphs: branches, loops, scans, and regions that run in some mode.

Their ops have graphs of their own, attributes of the module, run on builder tensors as the whole graph is:
`run` below. Scans and maps become loops over slices, as `jax.lax.scan` does.

Not here: the graph that contains them (`export.py`), ops (`aten/`, `numbers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shardy_py.base.narrowing import is_sequence
from shardy_py.frontends.aten.elements import convert, filled, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, if_, ops, while_loop
from shardy_py.frontends.builder.tensor import Operand
from shardy_py.frontends.torch.flex import flex_attention
from shardy_py.frontends.torch.protocols import FxGraph

Run = Callable[[object, Sequence[object]], tuple[Tensor, ...]]
"""Runs a graph module on tensors: its results."""
Control = Callable[..., Any]


def _number(given: Operand) -> Tensor:
    """A tensor; numbers become constants without dimensions."""
    if isinstance(given, Tensor):
        return given
    element = "i1" if isinstance(given, bool) else "i64" if isinstance(given, int) else "f32"
    return ops.constant(given, element, ())


def _cond(
    run: Run,
    out: object,
    pred: Tensor | bool,
    true_graph: object,
    false_graph: object,
    operands: Sequence[object] = (),
) -> object:
    if isinstance(pred, bool):
        return run(true_graph if pred else false_graph, operands)
    pred = ops.reshape(pred, ()) if pred.rank else pred
    branches = [lambda graph=graph: _typed(run(graph, operands), out) for graph in (true_graph, false_graph)]
    return if_(pred, *branches)


def _typed(results: Sequence[Operand], types: object) -> list[Tensor]:
    """Results as tensors of the types that they have in torch, where these are known."""
    tensors = [_number(result) for result in results]
    known = types if is_sequence(types) else (types,)
    return [
        convert(tensor, type_.element_type) if isinstance(type_, RankedTensorType) else tensor
        for tensor, type_ in zip(tensors, known, strict=True)
    ]


def _while(
    run: Run,
    out: object,
    cond: object,
    body: object,
    carried: Sequence[Operand],
    additional: Sequence[object] = (),
) -> object:
    initial = [_number(given) for given in carried]
    types = tuple(tensor.type for tensor in initial)

    def going_on(*state: Tensor) -> Tensor:
        (holds,) = run(cond, [*state, *additional])
        holds = _number(holds)
        return ops.reshape(holds, ()) if holds.rank else holds

    return while_loop(going_on, lambda *state: _typed(run(body, [*state, *additional]), types), initial)


def _element(xs: Tensor, step: Tensor) -> Tensor:
    """The slice of that number along the first dimension, without it."""
    shape = sizes(xs.type)
    start = [step, *([ops.constant(0, step.element_type, ())] * (xs.rank - 1))]
    return ops.reshape(ops.dynamic_slice(xs, start, (1, *shape[1:])), shape[1:])


def _put(ys: Tensor, y: Tensor, step: Tensor) -> Tensor:
    start = [step, *([ops.constant(0, step.element_type, ())] * (ys.rank - 1))]
    return ops.dynamic_update_slice(ys, ops.reshape(y, (1, *sizes(y.type))), start)


def _scanned(
    count: int,
    first: int,
    carry: Sequence[Tensor],
    collected: Sequence[Tensor],
    step_of: Callable[[Tensor, Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]],
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The carry after steps `first` to `count`, and the tensors with what each step put into them."""
    split = 1 + len(carry)

    def body(step: Tensor, *state: Tensor) -> list[Tensor]:
        kept, made = step_of(step, state[: split - 1])
        placed = [_put(ys, y, step) for ys, y in zip(state[split - 1 :], made, strict=True)]
        return [step + 1, *kept, *placed]

    def going_on(step: Tensor, *_: Tensor) -> Tensor:
        return step < count

    initial = [ops.constant(first, "i64", ()), *carry, *collected]
    _, *found = while_loop(going_on, body, initial)
    return tuple(found[: split - 1]), tuple(found[split - 1 :])


def _scan(
    run: Run,
    out: Sequence[RankedTensorType],
    graph: object,
    init: Sequence[Operand],
    xs: Sequence[Tensor],
    additional: Sequence[object] = (),
) -> object:
    carry = [_number(given) for given in init]
    types, count = tuple(tensor.type for tensor in carry), sizes(xs[0].type)[0]
    collected = [filled(type_, 0) for type_ in out[len(carry) :]]

    def step_of(step: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = run(graph, [*state, *(_element(x, step) for x in xs), *additional])
        return _typed(results[: len(carry)], types), results[len(carry) :]

    kept, made = _scanned(count, 0, carry, collected, step_of)
    return (*kept, *made)


def _map(
    run: Run,
    out: Sequence[RankedTensorType],
    graph: object,
    xs: Sequence[Tensor],
    additional: Sequence[object] = (),
) -> object:
    collected = [filled(type_, 0) for type_ in out]

    def step_of(step: Tensor, _: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        return (), run(graph, [*(_element(x, step) for x in xs), *additional])

    return _scanned(sizes(xs[0].type)[0], 0, (), collected, step_of)[1]


def _associative_scan(
    run: Run, out: object, graph: FxGraph, xs: Sequence[Tensor], additional: Sequence[object] = ()
) -> object:
    """In order, from the first element on."""
    zero = ops.constant(0, "i64", ())
    first = [_element(x, zero) for x in xs]

    def step_of(step: Tensor, state: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        results = run(graph, [*state, *(_element(x, step) for x in xs), *additional])
        return results, results

    return _scanned(sizes(xs[0].type)[0], 1, first, list(xs), step_of)[1]


def _region(before: int) -> Control:
    """A graph that runs once, on the operands behind it; before: the number of arguments before it."""

    def control(run: Run, out: object, *arguments: object, **_: object) -> Any:
        return run(arguments[before], arguments[before + 1 :])

    return control


def _nested_region(
    run: Run, out: object, graph: FxGraph, operands: Sequence[object], *_: object, **__: object
) -> object:
    return run(graph, operands)


def _invoke(run: Run, out: object, graph: FxGraph, identifier: object, *operands: object) -> object:
    return run(graph, operands)


CONTROLS: dict[str, Control] = {
    "associative_scan": _associative_scan,
    "cond": _cond,
    "flex_attention": flex_attention,
    "hints_wrapper": _nested_region,
    "invoke_subgraph": _invoke,
    "map_impl": _map,
    "scan": _scan,
    "strict_mode": _nested_region,
    "tag_activation_checkpoint": _region(0),
    "while_loop": _while,
    "wrap": _region(0),
    "wrap_activation_checkpoint": _region(0),
    "wrap_with_autocast": _region(4),
    "wrap_with_set_grad_enabled": _region(1),
}
"""The translation of each op with graphs, by name: of `run`, the types of the results, the arguments."""


def control_of(target: Any) -> Control | None:
    """The translation of an op with graphs of its own; None for other ops."""
    is_control = getattr(target, "namespace", "") == "higher_order"
    return CONTROLS.get(target.__name__) if is_control else None
