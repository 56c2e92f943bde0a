"""Why C++ crashes on a program, or gives another result. Not here: why it refuses one (`refusals.py`).

A cause is proved, not guessed: the program without it does not crash, is not refused, or gives the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any
from unittest import mock

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.localize.facet import LOCAL, Form
from shardy_py.localize.identities import identity
from shardy_py.localize.padded_ops import Padded
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp, GatherOp, ReshapeOp
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.text.builtin_attributes import is_integer
from shardy_py.mlir.text.dense import store_integer
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.typed import integer_of, integers_of, of_kind
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.import_.constants import constant_or_scalar_splitter
from shardy_py.reshard.divisible import divisible_shape
from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from tests.differential.cut_padding import cutting
from tests.differential.messages import (
    CHECKS,
    MessageCause,
    is_half_sharded_window,
    message_cause,
    with_agreeing_results,
    without_second_mesh,
)
from tests.differential.removal import dead_in, named, through_ops, without_ops

SEVERAL, UNKNOWN = "several of these", "unknown"
_MESH = re.compile(r'"(\w+)"=(\d+)')
_DIMENSION = re.compile(r"\{([^{}=]*)\}p\d+")
_PRIORITY = re.compile(r"priority=[1-9]")


@dataclass(frozen=True)
class CrashCause:
    """What C++ does not survive; `without` takes it out of a program."""

    name: str
    without: Callable[[str], str]


def _without_priorities_of_the_dead(text: str) -> str:
    module = parse_module(text)
    constant_or_scalar_splitter(module)  # as imports do: copies for dead ops are dead
    dead = list(dead_in(module).values())
    shared = [value.owner for op in dead for value in op.operands if isinstance(value.owner, Operation)]
    for op in [
        op for op in dict.fromkeys((*dead, *shared)) if _PRIORITY.search(str(op.attributes | op.properties))
    ]:
        if "sharding" in op.properties:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
        else:
            op.attributes.pop("sdy.sharding", None)
    return print_module(module)


def _without_priorities_of_nothing(text: str) -> str:
    sizes = {name: int(size) for name, size in _MESH.findall(text)}

    def replaced(match: re.Match[str]) -> str:
        axes = [name for name in re.findall(r'"(\w+)"', match[1]) if sizes.get(name, 0) > 1]
        return match[0] if axes else "{" + match[1] + "}"

    return _DIMENSION.sub(replaced, text)


def _is_plain_convolution(op: Operation) -> bool:
    return isinstance(op, ConvolutionOp) and len(shape_of(op.results[0])) == 2


def _is_complex(op: Operation) -> bool:
    return any("complex<" in str(value.type) for value in (*op.operands, *op.results))


def _is_reshape_of_carried(op: Operation) -> bool:
    return isinstance(op, ReshapeOp) and not isinstance(op.operands[0].owner, Operation)


def _is_permute_of_carried(op: Operation) -> bool:
    return op.name == "sdy.collective_permute" and not isinstance(op.operands[0].owner, Operation)


def _is_gather_along_sharded(op: Operation) -> bool:
    """Whether a gather reads single elements of a sharded dimension."""
    if not isinstance(op, GatherOp):
        return False
    axes, sizes = _axes_by_dimension(op.operand), integers_of(op, "slice_sizes")
    return any(axes[dim] and size == 1 for dim, size in enumerate(sizes))


def _is_uneven(op: Operation) -> bool:
    """Whether an op has an operand or result whose sharding does not divide its sizes."""
    module = op
    while (outer := module.parent_op()) is not None:
        module = outer
    meshes = meshes_of(of_kind(module, ModuleOp))
    for value in (*op.operands, *op.results):
        sharding, tensor = ShardingReader().of(value), tensor_type(value.type)
        if sharding is not None and tensor is not None and not sharding.is_fully_replicated:
            even = divisible_shape(tensor.shape, sharding, mesh_of(sharding, meshes))
            if even != tensor.shape:
                return True
    return False


CRASH_CAUSES: tuple[CrashCause, ...] = (
    CrashCause("dead op with a priority", _without_priorities_of_the_dead),
    CrashCause("unreduced axes over different meshes", without_second_mesh),
    CrashCause("results that disagree in unreduced axes", with_agreeing_results),
    CrashCause("priority of a dimension whose axes have size one", _without_priorities_of_nothing),
    CrashCause("padding of a convolution without spatial dimensions", without_ops(_is_plain_convolution)),
    CrashCause("padding of a reshape of what a loop carries", without_ops(_is_reshape_of_carried)),
    CrashCause("a collective_permute of what a loop carries", through_ops(_is_permute_of_carried)),
    CrashCause("a pad or slice of which one side has a sharding", without_ops(is_half_sharded_window)),
    CrashCause(
        "single elements of a sharded dimension that a gather reads", without_ops(_is_gather_along_sharded)
    ),
    CrashCause("padding of complex numbers, of which it makes no zero", without_ops(_is_complex)),
    CrashCause("slices of sharded dimensions", without_ops(lambda op: op.name == "stablehlo.slice")),
    CrashCause("results of CHLO that it does not pad", without_ops(lambda op: op.name.startswith("chlo."))),
)


_LAST = (
    MessageCause(
        "uneven dimensions that its padding left",
        "Failed to compute local type due to non-divisible sharding",
        without_ops(_is_uneven),
    ),
)
"""Checks whose cause may be among the causes of crashes."""


def crash_cause(text: str, last_words: str, crash: Callable[[str], str]) -> str:
    """The fact that a check names, or the cause whose absence saves C++.

    `SEVERAL` if it takes the absence of all, else `UNKNOWN`. crash: its last words on another program; empty
    if it survives.
    """
    if found := message_cause(CHECKS, text, last_words, crash):
        return found
    for cause in CRASH_CAUSES:
        saved = cause.without(text)
        if saved != text and not crash(saved):
            return cause.name
    less = text
    for cause in CRASH_CAUSES:
        less = cause.without(less)
    words = crash(less)
    if not words or message_cause(CHECKS, less, words, crash):
        return SEVERAL
    return message_cause(_LAST, text, last_words, crash) or UNKNOWN


def _is_size_of_sharded(op: Operation) -> bool:
    """Whether an op gives the size of a dimension that is sharded."""
    return op.name == "stablehlo.get_dimension_size" and bool(
        _axes_by_dimension(op.operands[0])[integer_of(op, "dimension")]
    )


def _is_update_across_parts(op: Operation) -> bool:
    """Whether an op updates a part of a dimension; reshards to come may shard any."""
    return op.name == "stablehlo.dynamic_update_slice" and shape_of(op.operands[0]) != shape_of(
        op.operands[1]
    )


def _axes_by_dimension(value: SSAValue) -> list[Axes]:
    sharding = ShardingReader().of(value)
    return [()] * len(shape_of(value)) if sharding is None else [each.axes for each in sharding.dimensions]


DIFFERENCE_CAUSES: tuple[CrashCause, ...] = (
    CrashCause(
        "it takes the size of a dimension from the part of a device", without_ops(_is_size_of_sharded)
    ),
    CrashCause("it drops updates that lie in the parts of two devices", without_ops(_is_update_across_parts)),
    CrashCause(
        "its per-instruction partitioning pads random numbers of unknown sizes",
        without_ops(named("stablehlo.rng")),
    ),
)
"""What C++ computes wrongly; `without` takes it out of a program."""


@dataclass(frozen=True)
class Imitation:
    """A fault of C++; within `imitated` our passes have it, so that both results are the same."""

    name: str
    imitated: Callable[[], AbstractContextManager[object]]


def _with_forms(forms: dict[str, Form | None]) -> Callable[[], AbstractContextManager[object]]:
    """Gives ops other local forms: None leaves all but types as it is."""
    rows = {name: replace(LOCAL.of(name), form=form) for name, form in forms.items()}
    return lambda: mock.patch.dict(LOCAL.rows, rows)


def _sharding_in_main(_view: Padded, value: SSAValue) -> TensorSharding | None:
    """The sharding of a value, but of what collectives of other functions make."""
    maker = value.owner
    if isinstance(maker, Operation) and maker.name.startswith("sdy.all_"):
        outer: Operation | None = maker
        while outer is not None and not isinstance(outer, FuncOp):
            outer = outer.parent_op()
        if outer is not None and outer.sym_name.data != "main":
            return None
    return ShardingReader().of(value)


_EXTREMES = {"stablehlo.maximum": -1, "stablehlo.minimum": +1}


def _scatter_filler(build: StablehloBuilder, combiner: str, type_: Attribute) -> Value:
    """Finite extremes of floats, signed ones of integers, and 1 for `and`."""
    element: Any = type_.element_type  # pyright: ignore
    sign, is_whole = _EXTREMES.get(combiner), is_integer(element)
    if is_whole and combiner == "stablehlo.and":
        return build.dense(type_, store_integer(1, element))
    if sign is None:
        return identity(build, combiner, type_)
    if is_whole:
        half = 1 << (element.width.data - 1)
        return build.dense(type_, store_integer(half - 1 if sign > 0 else -half, element))
    kind = FORMATS[element.name]
    return build.dense(type_, kind.encode(sign * kind.to_float(kind.largest)).to_bytes(kind.size, "little"))


IMITATIONS = (
    Imitation(
        "its reshard-to-collectives ends after two rounds, though axes are not where they are to be",
        lambda: mock.patch("shardy_py.reshard.collectives._Sequence._start_over", return_value=()),
    ),
    Imitation(
        "it leaves shapes in operands, and iotas of such a shape, as those of the whole",
        _with_forms(
            {
                "stablehlo.rng": None,
                "stablehlo.dynamic_iota": None,
                "stablehlo.dynamic_broadcast_in_dim": None,
                "stablehlo.dynamic_reshape": None,
            }
        ),
    ),
    Imitation(
        "it leaves partition_id and channels of the program as they are among replicas",
        _with_forms(
            {
                "stablehlo.partition_id": None,
                "stablehlo.all_to_all": None,
                "stablehlo.collective_broadcast": None,
                "stablehlo.collective_permute": None,
            }
        ),
    ),
    Imitation(
        "its padding leaves ops that it has no types for, which end the next pass",
        cutting,
    ),
    Imitation(
        "its padding slices what is gathered in other functions than main without a sharding",
        lambda: mock.patch.object(Padded, "sharding", _sharding_in_main),
    ),
    Imitation(
        "its per-instruction partitioning leaves what is in the padding that it hands on",
        lambda: mock.patch("shardy_py.localize.per_instruction._computes_with_padding", return_value=True),
    ),
    Imitation(
        "its all-reduces sum along axes that their operand is not unreduced along",
        lambda: mock.patch("shardy_py.passes.export.reshard_insertion.keep_reductions"),
    ),
    Imitation(
        "its results that are unreduced along axes that their operands are replicated on count several times",
        lambda: mock.patch("shardy_py.localize.reduction_factors.resolve_unreduced_results"),
    ),
    Imitation(
        "its scatters fill the inputs of other devices with values that are not neutral",
        lambda: mock.patch("shardy_py.localize.local_indexed.identity", _scatter_filler),
    ),
    Imitation(
        "its scatters offset indices into dimensions that they update whole",
        lambda: mock.patch(
            "shardy_py.localize.local_indexed._is_shifted", lambda dim, _o, _u, to: dim in to.index_map
        ),
    ),
)


@contextmanager
def _all_imitated() -> Generator[None]:
    with ExitStack() as stack:
        for fault in IMITATIONS:
            stack.enter_context(fault.imitated())
        yield


NEEDS_OTHERS = "needs elements of other devices is unsupported"
"""What is an error here, though C++ has a result, for which each device pads its own part."""


def difference_cause(text: str, refusal: str, is_same: Callable[[str], bool]) -> str:
    """The cause without which both give the same, or the fault with which ours gives it, else `UNKNOWN`.

    refusal: what is said here of the program; empty if it has a result.
    """
    if NEEDS_OTHERS in refusal:
        return "it pads each part by itself, though parts need elements of others"
    for cause in DIFFERENCE_CAUSES:
        without = cause.without(text)
        if without != text and is_same(without):
            return cause.name
    for count in (1, 2):
        for faults in combinations(IMITATIONS, count):
            with ExitStack() as stack:
                for fault in faults:
                    stack.enter_context(fault.imitated())
                if is_same(text):
                    return "; ".join(fault.name for fault in faults)
    with _all_imitated():
        return SEVERAL if is_same(text) else UNKNOWN
