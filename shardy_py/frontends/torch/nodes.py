"""Nodes of torch's graphs: the types of their results, their positions in the model, unsupported nodes.

Not here: their translation (`aten/`), whole graphs (`export.py`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.base.narrowing import is_sequence
from shardy_py.frontends.aten import find_row
from shardy_py.frontends.aten.elements import check_dense, element_of_torch
from shardy_py.frontends.builder import RankedTensorType
from shardy_py.frontends.torch.calls import is_users
from shardy_py.frontends.torch.control import control_of
from shardy_py.frontends.torch.numbers import function_of_numbers
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxNode

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')

_PHASE = "shardy_py.phase"
"""The key, in a node's metadata `custom`, of the part of a training step that it is in."""


def phase_of(node: FxNode) -> str:
    """The part of a training step that a node is in: `loss`, `backward`, `clip`, `optimizer`."""
    custom: Mapping[str, str] = node.meta.get("custom") or {}
    return custom.get(_PHASE, "")


def in_phase(phase: str) -> dict[str, str]:
    """The metadata `custom` of a node in that part of a step."""
    return {_PHASE: phase}


_NUMBER, _RANDOM = "data_dependent_output", "nondeterministic_seeded"

_WHY_TAGGED = {
    _RANDOM: "draws random numbers; export the model in evaluation (model.eval()), or pass "
    "the numbers as an input",
    _NUMBER: "reads a number from a tensor, as item() does, which is unsupported; keep it a tensor",
}
"""Why ops without a row that have a tag of `torch.Tag` are unsupported."""

_DEPENDS_ON_VALUES = (
    "the size of its result depends on values; use an op of fixed size (torch.where, torch.topk), or "
    "from_module(..., specialize=True)"
)
_TRACED_HERE = "pass the model to from_module, or Program.from_torch_training"
_WHY = {
    "aten.bincount": "the size of its result depends on values; pass minlength to torch.bincount, and the "
    "model to from_module",
    "aten._ctc_loss": f"its tensors have sizes that depend on lengths; {_TRACED_HERE}",
    "aten.hash_tensor": "XLA has no hashes; compare elements, or sums of them",
    "aten.linalg_lstsq": f"the sizes of its results depend on ranks; {_TRACED_HERE}",
    **{
        f"torch_nn._linear_cross_entropy_batch_chunked{name}": "scores in chunks of samples; leave out "
        "options=, or pass the model to from_module"
        for name in ("", "_no_reduction")
    },
}
"""Why an op is unsupported, by its name without overload."""
_SPARSE = "sparse tensors are unsupported; compute with dense ones"
_RUNS_OTHERS = "runs graphs or ops of its own, which is unsupported; export a model without it"


def node_type(node: FxNode) -> Any:
    """The `RankedTensorType` of a node's result, a tuple of them for several; None if it is not a tensor.

    Raises `ShardyError`, at the node, for unsupported element types and sparse tensors.
    """
    try:
        return _type_of(node.meta.get("val"))
    except ShardyError as error:
        raise blamed(node, error.diagnostics[0].message) from None


def _type_of(value: Any) -> object:
    if is_sequence(value):
        return tuple(map(_type_of, value))
    if not hasattr(value, "dtype"):
        return None
    check_dense(value)
    return RankedTensorType(tuple(value.shape), element_of_torch(value.dtype))


def is_unknown(node: FxNode) -> bool:
    """Returns whether a node is an op without a row."""
    is_op = node.op == "call_function" and node.target is not operator.getitem
    if not is_op or control_of(node.target) or function_of_numbers(node.target):
        return False
    return find_row(str(node.target)) is None


def is_constant(node: FxNode) -> bool:
    """Returns whether an op without a row has the same result in every run, as a window of a filter.

    It has no tensors as operands, and draws no random numbers; torch computes it.
    """
    is_plain = is_unknown(node) and not node.all_input_nodes and hasattr(node.target, "_schema")
    return is_plain and hasattr(node.meta.get("val"), "dtype") and not _has_tag(node, _RANDOM)


def aten_of_prim(target: object) -> Callable[..., object] | None:
    """The function of ATen that an op of `torch.ops.prims` stands for; None for another op."""
    is_prim = str(target).startswith("prims.")
    return getattr(target, "impl_aten", None) if is_prim and find_row(str(target)) is None else None


def updates_statistics(node: FxNode) -> bool:
    """Returns whether a node is an instance norm that changes its running mean, which its row does not."""
    _, _, _, mean, _, uses_input, *_ = (*node.args, *(None,) * 6)
    return str(node.target) == "aten.instance_norm.default" and mean is not None and bool(uses_input)


# ---------------------------------------------------------------------- unsupported nodes


def check(nodes: Iterable[FxNode]) -> None:
    """Raises `ShardyError` with every unsupported op and the first dynamic size."""
    diagnostics: dict[str, Diagnostic] = {}
    sizes_are_fixed = True
    for node in nodes:
        name, reason = _refused(node, sizes_are_fixed)
        if reason:
            diagnostics.setdefault(name, Diagnostic(f"{_named(node, name)}: {reason}", position_of(node)))
        # Sizes computed from a dynamic size are not reported again.
        sizes_are_fixed = sizes_are_fixed and not _open_sizes(node.meta.get("val"))
    if diagnostics:
        raise ShardyError(*diagnostics.values())


def _refused(node: FxNode, sizes_are_fixed: bool) -> tuple[str, str]:
    """The name of the op in the model, before decomposition, and why it is unsupported; "" if it is not."""
    name, value = str(node.meta.get("original_aten") or node.target), node.meta.get("val")
    if name.startswith("prims."):
        name = str(node.target)  # an op that a prim stands for, which torch made of that op
    if node.op == "get_attr":
        refused = next((user for user in node.users if is_unknown(user)), None)
        return (name, "") if refused is None else (str(refused.target), _RUNS_OTHERS)
    sizes = _open_sizes(value) if sizes_are_fixed else ""
    if sizes and node.op == "placeholder":
        return name, f"dynamic sizes ({sizes}) are unsupported; export without dynamic_shapes"
    if why := _WHY.get(_stem(name)):
        return name, why
    if sizes or not is_unknown(node) or is_constant(node):
        return name, _DEPENDS_ON_VALUES if sizes else ""
    if getattr(value, "layout", None) not in (None, torch_module("torch").strided) or "sparse" in name:
        return name, _SPARSE
    for tag, why in _WHY_TAGGED.items():
        if _has_tag(node, tag):
            return name, why
    torch = torch_module("torch")
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return name, ""
    return name, _no_row(name) if "." in name else _RUNS_OTHERS


def _stem(name: str) -> str:
    """Namespace and name of an op, without its overload."""
    return ".".join(name.split(".")[:2])


def _has_tag(node: FxNode, name: str) -> bool:
    return any(tag.name == name for tag in getattr(node.target, "tags", ()))


def _no_row(name: str) -> str:
    stem = _stem(name)
    return (
        f'unsupported; add a row: register_aten("{stem}", row), where row(out, *arguments) '
        "returns a tensor of type out (shardy_py.frontends.torch)"
    )


def not_decomposed(nodes: Iterable[FxNode], error: Exception) -> ShardyError:
    """The error of a program that torch cannot decompose; names an op that reads a number from a tensor."""
    for node in nodes:
        if _has_tag(node, _NUMBER):
            return blamed(node, _WHY_TAGGED[_NUMBER])
    return ShardyError(f"torch cannot decompose this program: {str(error).splitlines()[0]}")


def _open_sizes(value: object) -> str:
    """The sizes of a tensor, or of the first of several, if some are symbols; else ""."""
    if is_sequence(value):
        parts = value
        return next((sizes for sizes in map(_open_sizes, parts) if sizes), "")
    shape: list[object] = list(getattr(value, "shape", ()))
    return "" if all(isinstance(size, int) for size in shape) else ", ".join(map(str, shape))


def blamed(node: FxNode, message: str) -> ShardyError:
    """The error of a node at its line of the model, with its name."""
    return ShardyError(Diagnostic(f"{_named(node, str(node.target))}: {message}", position_of(node)))


def _named(node: FxNode, name: str) -> str:
    path = _module_path(node)
    return f"{name} in {path}" if path else name


# ---------------------------------------------------------------------- positions


def location_of(node: FxNode) -> LocationAttr:
    """The line of the user's model, with the module and op: `model.py:12 layers.0/linear`."""
    place = position_of(node)
    location: LocationAttr = UnknownLoc()
    if place is not None:
        location = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))
    path, op_name = _module_path(node), _short_name(node.target)
    name = f"{path}/{op_name}" if path else op_name
    return NameLoc(StringAttr(f"{name} backward" if phase_of(node) == "backward" else name), location)


def _short_name(target: object) -> str:
    """`linear` of `aten.linear.default`; the name of an op of control flow, or of numbers."""
    return (*str(target).split(".")[1:2], getattr(target, "__name__", str(target)))[0]


def position_of(node: FxNode) -> Position | None:
    """The innermost line of the stack that is the user's."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    for file, line in reversed(frames):
        if is_users(file):
            return Position(file, int(line), 1)
    return None


def _module_path(node: FxNode) -> str:
    """The full name of the module of the op; "" for the model itself."""
    stack: Mapping[str, tuple[str, object]] | None = node.meta.get("nn_module_stack")
    return list(stack.values())[-1][0] if stack else ""
