"""Sums over alignments of labels with steps in time, as CTC has them: `ROWS` by full name.

    shardy_py::ctc_nll(scores, skips, steps, labels)            [N]: -log of the probability of the labels
    shardy_py::ctc_posterior(scores, skips, steps, labels, nll) [T, N, L]: that of each place at each time

Graves et al., "Connectionist Temporal Classification". `scores` [T, N, L] are the logarithms of the
probabilities of each place of the labels with blanks between them, L = 2 S + 1; `skips` [N, L] says where a
path may leave out the blank before a place; `steps` and `labels` [N] are the lengths of each sample.

Not here: labels with blanks, the gradient of the loss (`../torch/ctc.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardy_py.frontends.aten.elements import Row, filled, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_max, reduce_sum, while_loop


def _nll(out: RankedTensorType, scores: Tensor, skips: Tensor, steps: Tensor, labels: Tensor) -> Tensor:
    last = _forward(scores, skips, steps, labels)[0]
    ended = ops.select(_ends(labels, sizes(skips.type)), last, -np.inf)
    return ops.negate(_log_sum(ended, 1))


def _posterior(
    out: RankedTensorType, scores: Tensor, skips: Tensor, steps: Tensor, labels: Tensor, nll: Tensor
) -> Tensor:
    shape = sizes(scores.type)
    before = _forward(scores, skips, steps, labels)[1]
    after = _backward(scores, skips, steps, labels)
    found = ops.exponential(before + after - scores + ops.broadcast_in_dim(nll, shape, (1,)))
    times = ops.iota(shape, 0, steps.element_type)
    is_step = ops.compare(times, ops.broadcast_in_dim(steps, shape, (1,)), "LT")
    return ops.select(ops.and_(is_step, found > 0), found, 0)


def _forward(scores: Tensor, skips: Tensor, steps: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithms of the probability to be at each place: at the last step [N, L], at all [T, N, L]."""
    _, rows, places = sizes(scores.type)
    place = ops.iota((rows, places), 1, labels.element_type)
    # A path starts at the first blank or label.
    may_start = ops.compare(place, ops.minimum(_spread(labels, place), 1), "LE")
    start = ops.select(may_start, _at(scores, ops.constant(0, "i64", ())), -np.inf)

    def step(time: Tensor, states: Tensor) -> Tensor:
        passed = ops.select(skips, _moved(states, 2), -np.inf)
        ways = _log_sum_of(states, _moved(states, 1), passed)
        return ops.select(_is_below(time, steps, places), ways + _at(scores, time), states)

    return _over_time(scores, start, 1, 1, step)


def _backward(scores: Tensor, skips: Tensor, steps: Tensor, labels: Tensor) -> Tensor:
    """Logarithms of the probability of the rest of a path from each place, at all times [T, N, L]."""
    times, rows, places = sizes(scores.type)
    ends = _ends(labels, (rows, places))
    certain = filled(RankedTensorType((rows, places), scores.element_type), 0)
    # What may be skipped to, at the place that it is skipped from.
    skipped = _moved(ops.select(skips, certain, -np.inf), -2)

    def step(time: Tensor, states: Tensor) -> Tensor:
        ways = _log_sum_of(states, _moved(states, -1), _moved(states, -2) + skipped)
        is_inside = _is_below(time + 1, steps, places)
        is_last = ops.and_(_is_below(time, steps, places), ops.not_(is_inside))
        begun = ops.select(ops.and_(is_last, ends), certain, -np.inf)
        return ops.select(is_inside, ways, begun) + _at(scores, time)

    return _over_time(scores, filled(certain.type, -np.inf), times - 1, -1, step)[1]


def _over_time(
    scores: Tensor, start: Tensor, first: int, stride: int, step: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The states after all steps, and those of all times; forward, `start` are those of time 0."""
    count = sizes(scores.type)[0]
    every = _put(filled(scores.type, 0), start, ops.constant(0, "i64", ()))

    def body(time: Tensor, states: Tensor, made: Tensor) -> list[Tensor]:
        states = step(time, states)
        return [time + stride, states, _put(made, states, time)]

    def going_on(time: Tensor, *_: Tensor) -> Tensor:
        return time < count if stride > 0 else ops.compare(time, 0, "GE")

    _, last, made = while_loop(going_on, body, [ops.constant(first, "i64", ()), start, every])
    return last, made


def _at(scores: Tensor, time: Tensor) -> Tensor:
    _, *shape = sizes(scores.type)
    zero = ops.constant(0, "i64", ())
    return ops.reshape(ops.dynamic_slice(scores, [time, zero, zero], (1, *shape)), shape)


def _put(every: Tensor, states: Tensor, time: Tensor) -> Tensor:
    zero = ops.constant(0, "i64", ())
    return ops.dynamic_update_slice(every, ops.reshape(states, (1, *sizes(states.type))), [time, zero, zero])


def _ends(labels: Tensor, shape: tuple[int, ...]) -> Tensor:
    """True where a path may end at a place: the last label, and the blank behind it."""
    place = ops.iota(shape, 1, labels.element_type)
    last = _spread(labels, place) * 2
    return ops.and_(ops.compare(place, last, "LE"), ops.compare(place, last - 1, "GE"))


def _is_below(time: Tensor, steps: Tensor, places: int) -> Tensor:
    """True where a time is one of each sample's steps, for every place."""
    shape = (*sizes(steps.type), places)
    return ops.broadcast_in_dim(
        ops.compare(ops.broadcast_to(time, sizes(steps.type)), steps, "LT"), shape, (0,)
    )


def _spread(lengths: Tensor, like: Tensor) -> Tensor:
    return ops.broadcast_in_dim(lengths, sizes(like.type), (0,))


def _moved(states: Tensor, count: int) -> Tensor:
    """The states of the place so many before each."""
    return ops.pad(states, -np.inf, [0, count], [0, -count])


def _log_sum_of(*terms: Tensor) -> Tensor:
    return _log_sum(ops.concatenate([ops.reshape(t, (1, *sizes(t.type))) for t in terms], 0), 0)


def _log_sum(terms: Tensor, number: int) -> Tensor:
    """The logarithm of the sum of exponentials along a dimension; -inf where all are."""
    others = tuple(d for d in range(terms.rank) if d != number)
    largest = reduce_max(terms, (number,))
    largest = ops.select(ops.compare(largest, -np.inf, "EQ"), 0, largest)
    shifted = ops.exponential(terms - ops.broadcast_in_dim(largest, sizes(terms.type), others))
    return ops.log(reduce_sum(shifted, (number,))) + largest


ROWS: dict[str, Row] = {"shardy_py.ctc_nll": _nll, "shardy_py.ctc_posterior": _posterior}
"""The rows by namespace and name of the op."""
