"""Modules of a model in its program: the values that enter and leave them, from the names in locations.

PyTorch's adaptor names the location of each op by module and op, `layers.0.mlp.up/linear`; names of ops of
the backward pass end in ` backward`. JAX's named scopes, `jit(f)/block/dot_general`, are read the same way.

    ops = ops_by_module(walk(module))["layers.0.mlp"]
    outputs_of(ops, "layers.0.mlp")      values that the module computes and others use

Not here: looking values up by all their names (`value_table.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from xdsl.ir import Block, Operation, SSAValue

from shardy_py.base.session import SESSION
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.location_names import name_stack

BACKWARD = " backward"
"""The end of the name of an op of the backward pass."""

GATHERS = "fully_shard"
"""The name of the op at which parameters of a module under FSDP are gathered."""

PHASES = ("clip", "optimizer")
"""The paths of ops of a training step that are not the model's: they work on what a device holds."""

MODULE_CLASS = "shardy_py.module_class"
"""The attribute of the weight of a module with the name of its class, where no style of torch takes it."""

UNCALLED = "shardy_py.uncalled"
"""The attribute of a weight with the paths of the modules around it whose forward pass is never called."""

_SEPARATOR = re.compile(r"[./]")
_PARAMETER = re.compile(r"(\w+\.)+(weight|bias)")


def is_parameter(label: str) -> bool:
    """Returns whether a name is that of a weight or bias of a module inside a model of torch.

    >>> [is_parameter(name) for name in ("layers.0.up.weight", "0.bias", "params['up']", "weight")]
    [True, True, False, False]
    """
    return _PARAMETER.fullmatch(label) is not None


def outer_name(op: Operation) -> str:
    """The name in the location of an op, of an inlined one also that of the call; "" if it has none."""
    return name_stack(op.location)


@SESSION.cache(1 << 14)
def is_in(name: str, path: str) -> bool:
    """Returns whether the op of that name belongs to the module `path`, or to one below it.

    >>> is_in("layers.0.mlp.up/linear", "layers.0"), is_in("layers.10/add", "layers.1"), is_in("add", "")
    (True, False, True)
    """
    scope = name.rpartition("/")[0]
    return not path or scope == path or scope.startswith((f"{path}.", f"{path}/"))


@SESSION.cache(1 << 14)
def _paths_of(name: str) -> tuple[str, ...]:
    """The paths of the module of an op and of those around it; "" is the whole model.

    >>> _paths_of("layers.0.up/linear")
    ('', 'layers', 'layers.0', 'layers.0.up')
    """
    scope = name.rpartition("/")[0]
    around = (scope[: match.start()] for match in _SEPARATOR.finditer(scope))
    return ("", *filter(None, (*around, scope)))


def is_backward(op: Operation) -> bool:
    """Returns whether the op belongs to the backward pass."""
    return outer_name(op).endswith(BACKWARD)


def ops_by_module(ops: Iterable[Operation]) -> Mapping[str, list[Operation]]:
    """The ops of the forward pass of each module, by its path; those of modules below it are among them."""
    found: dict[str, list[Operation]] = {}
    for op in ops:
        name = outer_name(op)
        if name and not name.endswith(BACKWARD):
            for path in _paths_of(name):
                found.setdefault(path, []).append(op)
    return found


def outputs_of(ops: Iterable[Operation], path: str) -> list[SSAValue]:
    """The results of a module's ops that ops outside of it use, or the function returns.

    Users in the backward pass do not count, nor do constants, which modules may share.
    """
    results = (result for op in ops if not _is_constant(op) for result in op.results)
    return [result for result in results if any(_is_outside(use.operation, path) for use in result.uses)]


def inputs_of(ops: Iterable[Operation], path: str) -> list[SSAValue]:
    """The values that a module's ops use and others compute, by first use; constants do not count."""
    operands = {id(operand): operand for op in ops for operand in operands_of(op)}
    return [value for value in operands.values() if not _is_defined_in(value, path)]


def uses_constants(ops: Iterable[Operation], path: str) -> bool:
    """Returns whether a module's ops use constants of the code around it, as positions that are counted."""
    owners = (operand.owner for op in ops for operand in operands_of(op))
    return any(
        not isinstance(owner, Block) and _is_constant(owner) and not is_in(outer_name(owner), path)
        for owner in owners
    )


def _is_outside(op: Operation, path: str) -> bool:
    """Returns whether a user is outside of the module; one without a name, as a return, is."""
    name = outer_name(op)
    return not name or not (is_in(name, path) or name.endswith(BACKWARD))


def _is_defined_in(value: SSAValue, path: str) -> bool:
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        return around is not None and bool(outer_name(around)) and is_in(outer_name(around), path)
    return _is_constant(owner) or is_in(outer_name(owner), path)


def _is_constant(op: Operation) -> bool:
    return not (op.operands or op.regions)
