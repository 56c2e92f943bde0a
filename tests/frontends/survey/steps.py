"""The gradients of one model of the survey, against torch's, in f64.

Models are in evaluation, since the numbers of dropout are not torch's; `tests.frontends.training` has models
in training, with an optimizer.
"""

from __future__ import annotations

import time
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import torch
import torch.utils._pytree as pytree

from shardy_py import Program, ShardyError
from tests.frontends.survey.attempts import (
    EQUAL,
    EQUAL_EXAMPLE,
    NOT_BUILT,
    STOPPED,
    UNSUPPORTED,
    WRONG,
    Attempt,
    as_double,
    changed,
    failed,
    silence,
    tensors_in,
    varied,
)
from tests.frontends.survey.rows import Row
from tests.frontends.test_aten import as_array

RELATIVE = 1e-4
"""The largest difference of equal gradients, relative to the largest element of each.

Some models compute norms in f32 whatever their parameters are.
"""
RELATIVE_IN_F32 = 1e-3


def loss_of(output: Any) -> Any:
    """A loss that every element of every result of a model has a different share in."""
    floats = [each for each in tensors_in(output) if each.is_floating_point() and each.requires_grad]
    return sum(
        (each.double() * torch.linspace(0.5, 1.5, each.numel()).double().reshape(each.shape)).square().mean()
        for each in floats
    )


def attempt_step(row: Row) -> Attempt:
    """Builds a model, converts its backward pass and runs it. Every error is an outcome.

    Numbers that depend on elements are those of the inputs where the model does not convert otherwise.
    nodes: of the program. export_seconds: of torch's own backward pass.
    """
    found = _attempt(row, specialize=False)
    if found.outcome != UNSUPPORTED:
        return found
    again = _attempt(row, specialize=True)
    return changed(again, outcome=EQUAL_EXAMPLE) if again.outcome == EQUAL else found


def _attempt(row: Row, *, specialize: bool) -> Attempt:
    warnings.simplefilter("ignore")
    found = Attempt(row.name, row.source, NOT_BUILT)
    try:
        start = time.process_time()
        try:
            bound, (model, given) = RELATIVE, _built(row, double=True)
            eager = deepcopy(model)  # some models keep tensors of their last call
            loss = _loss(eager, given)
        except (RuntimeError, NotImplementedError):  # ops, and masks, that are made for f32
            bound, (model, given) = RELATIVE_IN_F32, _built(row, double=False)
            eager = deepcopy(model)
            loss = _loss(eager, given)
        loss.backward()
        wanted = {f"{n} gradient": p.grad for n, p in eager.named_parameters() if p.grad is not None}
    except Exception as error:  # the survey reports what others raise
        return failed(found, NOT_BUILT, error)
    found = changed(
        found,
        outcome=UNSUPPORTED,
        parameters=sum(each.numel() for each in model.parameters()),
        export_seconds=time.process_time() - start,
    )
    start = time.process_time()
    try:
        with silence():
            program = Program.from_torch_training(
                model, loss_of, None, given[1] or given[0], specialize=specialize
            )
    except ShardyError as error:
        return changed(found, reasons=tuple(each.message for each in error.diagnostics))
    except Exception as error:
        return failed(found, UNSUPPORTED, error)
    nodes = sum(1 for _ in program.module.walk())
    found = changed(found, outcome=STOPPED, seconds=time.process_time() - start, nodes=nodes)
    try:
        wanted["loss"] = loss.detach()
        worst, reasons = _compared(program, model, given, wanted, bound)
    except Exception as error:
        return failed(found, STOPPED, error)
    return changed(found, outcome=WRONG if reasons else EQUAL, reasons=reasons, difference=worst)


def _built(row: Row, *, double: bool) -> tuple[Any, Any]:
    """The model, and the arguments of its call."""
    torch.manual_seed(0)
    model, arguments, keywords = row.build()
    model = varied(model.eval())
    given = (arguments, dict(keywords))
    return (model.double(), pytree.tree_map(as_double, given)) if double else (model, given)


def _loss(model: Any, given: Any) -> Any:
    """Raises `RuntimeError` for a loss that is not finite."""
    loss = loss_of(model(*given[0], **given[1]))
    if not torch.isfinite(loss):
        raise RuntimeError(f"the loss is {float(loss)}")
    return loss


def _compared(
    program: Program, model: Any, given: Any, wanted: dict[str, Any], bound: float
) -> tuple[float, tuple[str, ...]]:
    """The largest relative difference, and the gradients that differ."""
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    inputs = iter(tensors_in(given))
    labels = [value.label for value in program.values.arguments()]
    arrays = [as_array((state[n] if n in state else next(inputs)).detach()) for n in labels]
    results = program.run(arrays)
    found = dict(zip([value.label for value in program.values.results()], results.values(), strict=True))
    largest = max(float(each.abs().max()) for name, each in wanted.items() if name != "loss")
    worst, reasons = 0.0, list[str]()
    for name, theirs in ((name, as_array(each)) for name, each in wanted.items()):
        if name not in found:
            reasons.append(f"{name} is missing")
            continue
        apart = np.abs(np.asarray(found[name]) - theirs).max(initial=0)
        apart = float(apart / max(np.abs(theirs).max(initial=0), 1e-3 * largest, 1e-12))
        worst = max(worst, apart)
        if not apart <= bound:
            reasons.append(f"{name}: relative difference {apart:.1e}")
    return worst, tuple(reasons)
