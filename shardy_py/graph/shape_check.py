"""The check before propagation: every result has a static shape, and none is a tuple.

Not here: what each op requires of its types (the verifiers of the dialects).
"""

from __future__ import annotations

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation

from shardy_py.errors import Diagnostic
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import walk_post_order
from shardy_py.text.source import position_of


def shape_message(type_: Attribute) -> str | None:
    """What keeps a result of this type from being propagated; None if nothing does."""
    if isinstance(type_, TupleType):
        return f"Shardy propagation doesn't support tuples: '{type_}'"
    tensor = tensor_type(type_)
    if type_.name == "unranked_tensor" or (tensor is not None and None in tensor.shape):
        return f"Shardy propagation only supports ranked tensors with a static shape. type: '{type_}'"
    return None


def first_shape_error(root: Operation) -> Diagnostic | None:
    """The diagnostic for the first such result under `root`, in the order of MLIR's walk."""
    for op in walk_post_order(root):
        for result in op.results:
            message = shape_message(result.type)
            if message is not None:
                return Diagnostic(message, position_of(op.location))
    return None
