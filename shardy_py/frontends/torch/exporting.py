"""Modules exported by torch, with a remedy where that fails.

    from_module(model, (tokens,), mesh=mesh, plan=FullyShard("dp"))

torch's errors name what it cannot trace, at a line of torch; ours name the line of the model, and what helps.
Not here: exported models (`programs.py`).
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, redirect_stderr, suppress
from io import StringIO
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.base.errors import Diagnostic
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.arguments import check_model, named_inputs
from shardy_py.frontends.torch.calls import called_with, fitting, place_of, short_text
from shardy_py.frontends.torch.example_values import ExampleValues
from shardy_py.frontends.torch.multi_head import heads_apart
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.protocols import TorchModule, TorchProgram
from shardy_py.frontends.torch.substitutes import substitutes
from shardy_py.frontends.torch.trace import OPAQUE
from shardy_py.frontends.torch.whole_ops import kept_whole

_DEPENDS = r"data-dependent|GuardOnDataDependent|DynamicOutputShape|unbacked"

_OF_OPS = r"_meta_registrations|_refs/|_prims|_decomp/|nn/functional|nn/modules"
_REFUSED = rf"torch/({_OF_OPS})[^ ]*( [^ ]*torch/(__init__|_prims_common/wrappers)\.py:\w+)*$"
"""The last frames of errors of ops about their arguments."""
_TRANSFORMS = re.compile(r"torch/_functorch/(eager_transforms|vmap|apis)\.py|functorch tensor")
"""The files and tensors of `torch.func`, whose derivatives `torch.export.export` does not record."""


@dataclass(frozen=True)
class Hint:
    """Advice on errors of a kind.

    error: a pattern of the error's type and text. frames: of the files and functions it passed; "": any.
    strict: only for exports that are strict, or not; None: for both.
    """

    error: str
    remedy: str
    frames: str = ""
    strict: bool | None = None


HINTS = (
    Hint(r"Cache\b", "pass use_cache=False to the model, or set it in its configuration"),
    Hint(
        r"(?i)flex_?attention|flash_?att|attention_interface|xformers",
        'load the model with attn_implementation="sdpa", or "eager"',
    ),
    Hint(_DEPENDS, 'load the model with experts_implementation="batched_mm"', frames=r"(?i)moe|expert"),
    Hint(
        _DEPENDS,
        'load the model with attn_implementation="eager", or pass the attention mask it computes',
        frames=r"masking_utils|attention_mask",
    ),
    Hint(
        _DEPENDS,
        "the number of boxes depends on their scores: export the model without the selection of boxes",
        frames=r"nms|postprocess|post_process",
    ),
    Hint(
        _DEPENDS,
        "the code depends on elements of a tensor: use torch.where or torch.cond, or pass specialize=True to "
        "from_module, which takes the numbers of these arguments",
    ),
    Hint(
        r"Couldn't swap",
        "the model converts parameters as it runs, as `to(dtype)` does: convert them before the export",
    ),
    Hint(
        r"DistributedDataParallel|torch\.compiler\.disable",
        "pass the module in it: model.module",
        frames=r"parallel/distributed\.py",
    ),
    Hint(
        r"AssertionError\b.*Unexpected key .*, expected",
        "the model catches an error of a module that it calls, where torch loses its place: avoid the error",
    ),
    Hint(
        r"does not have a grad_fn|backward through the graph a second|fake tensor in the exported program",
        "gradients by torch.autograd.grad in a model are not exported: use torch.func.grad, or convert a "
        "training step (Program.from_torch_training)",
        frames=r"torch/(autograd|_?export)/",
    ),
    Hint(r"OpaqueTensorImpl|mkldnn", OPAQUE),
    Hint(r"aten::_to_dense", OPAQUE),
    Hint(
        r"in output, which is not a known type",
        "register the class of the result by torch.export.register_dataclass, or return a tuple or a dict",
    ),
    Hint(
        r"PackedParams",
        "modules of torch.ao.nn.quantized hold packed weights: pass the float model, or one whose quantized "
        "weights are tensors, as torchao's are",
    ),
    Hint(
        r"nested_tensor|NestedTensor",
        "nested tensors are unsupported: pad them (to_padded_tensor), with a mask",
    ),
    Hint("ScriptModule", "pass the module that torch.jit.script was called with"),
    Hint(r"ndarray", "pass tensors: torch.as_tensor(x)"),
    Hint("", "see whether torch takes these arguments: model(*args)", frames=_REFUSED),
    Hint(r"torch\._dynamo|Unsupported|Encountered unrecognized", "export with strict=False", strict=True),
    Hint("", "export with strict=False, or torch.export.draft_export, which lists the causes", strict=True),
    Hint("", "export with strict=True, or torch.export.draft_export, which lists the causes", strict=False),
    Hint("", "torch.export.draft_export lists the causes"),
)
"""The first one that fits is used."""


def export(
    model: Any,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    strict: bool | None = None,
    specialize: bool = False,
    watching: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> TorchProgram:
    """The exported model, called with these arguments; without gradients.

    strict: None tries both, and keeps the first error. specialize: numbers that the model reads from tensors,
    and sizes that depend on elements, are those of these arguments. watching: around an export that is not
    strict, which runs the model's own code. Raises `ShardyError`, at the line of the
    model, if torch cannot export it, with what helps.
    """
    torch = torch_module("torch")
    check_model(model)
    _check_arguments(args, kwargs)
    for given in (args, kwargs or {}):
        named_inputs(model, given)  # refuses sparse ones, by their names
    keywords, name = dict(kwargs or {}), f"{type(model).__name__}.forward"
    remedy = "pass args=(...) and kwargs={...}"
    errors: list[Exception] = []
    quiet = redirect_stderr(_WithoutGraphs())
    with torch.no_grad(), quiet, ExitStack() as stack:
        if specialize:
            stack.enter_context(_example_values(model, args, keywords).given())
        stack.enter_context(substitutes())
        for way in (False, True) if strict is None and not specialize else (bool(strict),):
            try:
                around = nullcontext() if way else watching()
                with fitting(name, model.forward, args, keywords, remedy), around:
                    exported = torch.export.export(model, tuple(args), keywords, strict=way)
                if not (errors and _lost(exported)):
                    return exported
            except ShardyError:
                raise
            except Exception as error:  # of any type: it is the model's code, and torch's
                errors.append(error)
                if not way and _TRANSFORMS.search(f"{_frames(error)} {error}"):
                    with suppress(Exception), watching():
                        return _after_dispatch(model, args, keywords)
        raise _failure(errors[0], strict) from errors[0]


def _after_dispatch(model: Any, args: Sequence[object], keywords: Mapping[str, object]) -> TorchProgram:
    """The export of the ops that run, in which the transforms of `torch.func` are computed."""
    traced = torch_module("torch.export._trace")
    with kept_whole(), heads_apart():
        return traced._export(model, tuple(args), dict(keywords), strict=False, pre_dispatch=False)


def check_elements(exported: TorchProgram) -> None:
    """Raises `ShardyError` for constants without elements, which torch reads, and then ends the process.

    In exports with strict=True, it takes the elements of `tensor.data` for such a constant.
    """
    for name in _lost(exported):
        what = f"{name} is a constant without elements: torch.export takes `tensor.data` for one"
        remedy = "write tensor.detach() for tensor.data, or use from_module, which does"
        raise ShardyError(Diagnostic(what, remedy=remedy))
    is_wrapped = torch_module("torch")._C._functorch.is_functorch_wrapped_tensor
    for name in (name for name, each in exported.constants.items() if is_wrapped(each)):
        what = f"{name} is a tensor of torch.vmap or torch.func, which torch.export takes for a constant"
        raise ShardyError(Diagnostic(what, remedy="compute it before vmap, or without"))


def _lost(exported: TorchProgram) -> list[str]:
    """The constants whose elements torch lost: they are fake, though the weights are not."""
    fake = torch_module("torch._subclasses").FakeTensor
    if not exported.state_dict or any(isinstance(each, fake) for each in exported.state_dict.values()):
        return []
    return [name for name, each in exported.constants.items() if isinstance(each, fake)]


class _WithoutGraphs(StringIO):
    """The standard error without graphs, of which torch prints one where it fails."""

    def __init__(self) -> None:
        super().__init__()
        self._stream = sys.stderr

    def write(self, text: str, /) -> int:
        return len(text) if "def forward(self" in text else self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()


def _example_values(
    model: TorchModule, args: Sequence[object], keywords: Mapping[str, object]
) -> ExampleValues:
    """The values that the model reads from tensors in a call; its buffers stay as they are."""
    values = ExampleValues()
    given = torch_module("torch.utils._pytree").tree_map(_copied, (tuple(args), dict(keywords)))
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with values.recorded():
        called_with(model, buffers, *given)
    return values


def _copied(leaf: object) -> object:
    return leaf.clone() if is_tensor(leaf) else leaf


def _check_arguments(args: object, kwargs: object) -> None:
    """Raises `ShardyError` unless they are a tuple, and a mapping or None."""
    if not is_sequence(args):
        remedy = "pass (x,)" if isinstance(args, torch_module("torch").Tensor) else ""
        expected, got = "a tuple of the arguments of forward", type(args).__name__
        raise ShardyError.unexpected("args", expected=expected, got=got, remedy=remedy)
    if kwargs is not None and not is_mapping(kwargs):
        expected = "a mapping of the keywords of forward"
        raise ShardyError.unexpected("kwargs", expected=expected, got=type(kwargs).__name__)


def _failure(error: Exception, strict: bool | None) -> ShardyError:
    text = f"{type(error).__module__}.{type(error).__name__} {error}"
    hint = next(hint for hint in HINTS if _fits(hint, text, _frames(error), strict))
    what = f"torch.export failed: {short_text(error)}"
    return ShardyError(Diagnostic(what, place_of(error), remedy=hint.remedy))


def _frames(error: Exception) -> str:
    """The files and functions that an error passed."""
    frames = traceback.extract_tb(error.__traceback__)
    return " ".join(f"{frame.filename}:{frame.name}" for frame in frames)


def _fits(hint: Hint, text: str, passed: str, strict: bool | None) -> bool:
    is_kind = hint.strict is None or hint.strict == strict
    return is_kind and bool(re.search(hint.error, text)) and bool(re.search(hint.frames, passed))
