"""One model of the survey: exported, converted, run by our interpreter, compared with torch."""

from __future__ import annotations

import logging
import time
import warnings
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from io import StringIO
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.utils._pytree as pytree

from shardy_py import ShardyError
from shardy_py.frontends.torch import from_exported
from shardy_py.frontends.torch.exporting import export
from tests.frontends.survey.rows import Row
from tests.frontends.test_aten import as_array

EQUAL, EQUAL_EXAMPLE, EQUAL_IN_F64, EQUAL_EXPORT, WRONG, STOPPED, UNSUPPORTED, NOT_EXPORTED, NOT_BUILT = (
    "equal",
    "equal, specialized",
    "equal in f64",
    "equal to the export only",
    "wrong numbers",
    "not run",
    "not converted",
    "not exported",
    "not built",
)
"""The outcomes, best first. `equal, specialized`: sizes that depend on elements are those of the inputs.
`equal in f64`: deep nets can amplify the rounding of f32, torch's as well as that of the program.
`equal to the export only`: torch's exported program has other numbers than the model, as where the model asks
whether it is traced. `not run`: the interpreter stops or takes too long."""

RELATIVE = 2e-4
"""The largest difference of equal numbers, relative to the largest element of a result in float32."""
RELATIVE_IN_F64 = 1e-9


@dataclass(frozen=True)
class Attempt:
    """What became of a model. reason: the first line of each error. seconds: of CPU, export and conversion.

    parameters, nodes: of the exported graph. difference: relative, of the worst result.
    """

    name: str
    source: str
    outcome: str
    reasons: tuple[str, ...] = ()
    parameters: int = 0
    nodes: int = 0
    export_seconds: float = 0.0
    seconds: float = 0.0
    difference: float = 0.0
    ops: Mapping[str, int] = field(default_factory=dict[str, int])

    def record(self) -> dict[str, Any]:
        return asdict(self)


def attempt(row: Row) -> Attempt:
    """Builds, exports, converts and runs a model. Every error is an outcome.

    Sizes that depend on elements are those of the inputs where the model does not convert otherwise. Where
    numbers differ in f32, the model is compared again in f64: a difference of rounding is then far smaller.
    """
    found = _attempt(row, specialize=False)
    if found.outcome == WRONG and _attempt(row, specialize=False, double=True).outcome == EQUAL:
        return changed(found, outcome=EQUAL_IN_F64)
    if found.outcome not in (NOT_EXPORTED, UNSUPPORTED):
        return found
    again = _attempt(row, specialize=True)
    return changed(again, outcome=EQUAL_EXAMPLE) if again.outcome == EQUAL else found


def _attempt(row: Row, *, specialize: bool, double: bool = False) -> Attempt:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    found = Attempt(row.name, row.source, NOT_BUILT)
    try:
        model, arguments, keywords = row.build()
        model = varied(model.eval())
        if double:
            model, arguments, keywords = (
                model.double(),
                *pytree.tree_map(as_double, (arguments, dict(keywords))),
            )
        with torch.no_grad():
            copies, named = pytree.tree_map(copied, (arguments, dict(keywords)))
            wanted = tensors_in(model(*copies, **named))
    except Exception as error:  # the survey reports what others raise
        return failed(found, NOT_BUILT, error)
    start = time.process_time()
    try:
        with torch.no_grad(), silence():
            exported = export(model, arguments, keywords, specialize=specialize, **row.options)
    except Exception as error:
        return failed(found, NOT_EXPORTED, error)
    nodes = [node for node in exported.graph.nodes if node.op == "call_function"]
    found = Attempt(
        row.name,
        row.source,
        UNSUPPORTED,
        parameters=sum(each.numel() for each in model.parameters()),
        nodes=len(nodes),
        export_seconds=time.process_time() - start,
        ops=dict(Counter(str(node.target) for node in nodes)),
    )
    start = time.process_time()
    try:
        program = from_exported(exported)
    except ShardyError as error:
        return changed(found, reasons=tuple(each.message for each in error.diagnostics))
    except Exception as error:
        return failed(found, UNSUPPORTED, error)
    found = changed(found, outcome=STOPPED, seconds=time.process_time() - start)
    bound = RELATIVE_IN_F64 if double else RELATIVE
    try:
        results = program.run(inputs_of(exported, program, arguments, keywords))
        arrays = [results[value.label] for value in program.values.results()][-len(wanted) :]
        difference, reasons = compared(arrays, [as_array(tensor) for tensor in wanted], bound)
        if reasons:
            exports = tensors_in(exported.module()(*arguments, **keywords))
            its, others = compared(arrays, [as_array(tensor.detach()) for tensor in exports], bound)
            if not others:
                return changed(found, outcome=EQUAL_EXPORT, reasons=reasons, difference=its)
    except Exception as error:
        return failed(found, STOPPED, error)
    return changed(found, outcome=WRONG if reasons else EQUAL, reasons=reasons, difference=difference)


@contextmanager
def silence() -> Generator[None]:
    """Without what torch prints of a graph that it cannot export, thousands of lines."""
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


def varied(model: Any) -> Any:
    """The model with noise on parameters and statistics, so that zeros and ones hide no fault."""
    with torch.no_grad():
        for name, tensor in chain(model.named_parameters(), model.named_buffers()):
            if not tensor.is_floating_point():
                continue
            if isinstance(tensor, torch.nn.Parameter):
                tensor.add_(0.02 * torch.randn_like(tensor))
            elif name.endswith(("running_mean", "running_var")):
                tensor.add_(0.1 * torch.rand_like(tensor))
    return model


def copied(leaf: Any) -> Any:
    """A copy of a tensor, which the model may change; anything else as it is."""
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


def as_double(leaf: Any) -> Any:
    return leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf


def tensors_in(tree: Any) -> list[Any]:
    leaves = pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def inputs_of(exported: Any, program: Any, arguments: Any, keywords: Any) -> list[Any]:
    """An array for each argument of the program, in its order."""
    state = {**exported.state_dict, **exported.constants}
    flat = pytree.tree_leaves((arguments, dict(keywords)))
    inputs = iter([leaf for leaf in flat if isinstance(leaf, torch.Tensor)])
    labels = [value.label for value in program.values.arguments()]
    return [as_array(state[label].detach() if label in state else next(inputs)) for label in labels]


def compared(arrays: list[Any], wanted: list[Any], bound: float = RELATIVE) -> tuple[float, tuple[str, ...]]:
    """The largest relative difference, and the results that differ."""
    worst, reasons = 0.0, []
    for number, (ours, theirs) in enumerate(zip(arrays, wanted, strict=True)):
        a, b = (np.asarray(each, np.complex128).ravel() for each in (ours, theirs))
        finite = np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            reasons.append(f"result {number} of {len(wanted)}: not finite in other places than torch")
            continue
        apart = np.abs(a[finite] - b[finite]).max(initial=0) / (np.abs(b[finite]).max(initial=0) + 1e-6)
        worst = max(worst, float(apart))
        if not apart <= (bound if "bfloat16" not in str(theirs.dtype) else 0.05):
            reasons.append(f"result {number} of {len(wanted)}: relative difference {apart:.1e}")
    return worst, tuple(reasons)


def failed(found: Attempt, outcome: str, error: Exception) -> Attempt:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return changed(found, outcome=outcome, reasons=(f"{type(error).__name__}: {lines[0] if lines else ''}",))


def changed(found: Attempt, **changes: Any) -> Attempt:
    return Attempt(**{**found.record(), **changes})
