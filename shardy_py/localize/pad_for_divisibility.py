"""`sdy-pad-for-divisibility`: pads dimensions to sizes that their shardings divide.

    before  %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"x"}]> : tensor<7xf32>        "x"=4
    after   %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
            %1 = stablehlo.pad %0, %cst, low = [0], high = [1], interior = [0] : ... -> tensor<8xf32>
            %2 = sdy.all_slice [{"x"}] %1 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>

Types change in place; what an op must do about it is in its row of `facet.py`. Padding may hold anything,
except where `localize/arithmetic/masks.py` lists what an op must find in it. Shapes: `reshard/divisible.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, OpResult, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.localize.facet import local_row
from shardy_py.localize.padded_ops import Padded
from shardy_py.localize.uneven_collectives import realign_collectives
from shardy_py.mlir.dialects.sdy import PropagationBarrierOp
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.ir import blocks_of, operands_of, set_type, walk_pre_order
from shardy_py.mlir.op_errors import errors_at, place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import functions_of, meshes_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import element_type_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.options import PadForDivisibilityOptions
from shardy_py.reshard.divisible import divisible_shape
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import mesh_of

Sizes = tuple[int, ...]


def pad_for_divisibility(module: ModuleOp, options: PadForDivisibilityOptions) -> None:
    """Pads all tensors whose shardings do not divide them.

    Raises:
        ShardyError: an argument or a result of a function is uneven and `pad_inputs_and_outputs` is not set,
            or padding would not stay at the end of a dimension.
    """
    padding = _Padding(module)
    functions = functions_of(module)
    if not options.pad_inputs_and_outputs:
        faults = [fault for function in functions for fault in padding.uneven_borders(function)]
        if faults:
            raise ShardyError(*faults)
    if options.mask_all_padding or options.exchange_misaligned_parts:
        realign_collectives(module, padding.reader, options)
    padding.run(functions, masks_all=options.mask_all_padding)


_LEFT = ("chlo.", "mhlo.", PropagationBarrierOp.name)
"""The beginnings of names of ops that Shardy has no types for: it refuses them with padded operands."""


def _is_left(value: OpResult) -> bool:
    """True if neither the maker of a value nor a user of it takes padding; what is returned has none here."""
    users = [use.operation for use in value.uses]
    return value.op.name.startswith(_LEFT) and all(
        user.name.startswith(_LEFT) or isinstance(user, ReturnOp) for user in users
    )


class _Padding:
    """Changes the types of one module; `true_shapes` are those before, of the values that changed."""

    def __init__(self, module: ModuleOp) -> None:
        self.reader = ShardingReader()
        self.true_shapes: dict[SSAValue, Sizes] = {}
        self._meshes = meshes_of(module)
        self._types: dict[tuple[int, int], tuple[Attribute, TensorSharding, Attribute]] = {}

    def padded(self, type_: Attribute, sharding: TensorSharding | None) -> Attribute:
        """The type with divisible sizes; the same object if nothing changes."""
        if sharding is None or sharding.is_fully_replicated:
            return type_
        key = id(type_), id(sharding)
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = (type_, sharding, self._computed(type_, sharding))
        return known[2]

    def _computed(self, type_: Attribute, sharding: TensorSharding) -> Attribute:
        tensor = tensor_type(type_)
        if tensor is None or None in tensor.shape:
            return type_
        shape = divisible_shape(tensor.shape, sharding, mesh_of(sharding, self._meshes))
        if shape == tensor.shape:
            return type_
        return ranked_tensor(cast(Sizes, shape), element_type_of(type_))

    def uneven_borders(self, function: FuncOp) -> Iterator[Diagnostic]:
        types = function.function_type
        sides = (("argument", "arg_attrs", types.inputs), ("result", "res_attrs", types.outputs))
        for kind, name, side in sides:
            shardings = attribute_list_shardings(function.properties.get(name))
            for index, (type_, sharding) in enumerate(zip(side.data, shardings, strict=False)):
                if self.padded(type_, sharding) is not type_:
                    fact = (
                        f"'func.func' op {kind} #{index} has a non-divisible sharding. "
                        "Shardy expects function IO to be divisible."
                    )
                    yield Diagnostic(fact, place_of(function))
                    yield Diagnostic("failed to legalize operation 'func.func'", place_of(function))
                    return

    def run(self, functions: Iterable[FuncOp], *, masks_all: bool) -> None:
        """Pads all values, then adapts the ops that define or use them."""
        for function in functions:
            for op in walk_pre_order(function):
                for value in op.results:
                    if masks_all or not _is_left(value):
                        self._pad(value)
                for block in blocks_of(op):
                    for argument in block.args:
                        self._pad(argument)
            self._retype(function)
        if self.true_shapes:
            view = Padded(self.true_shapes, self.reader, masks_all=masks_all)
            for op in [op for function in functions for op in walk_pre_order(function)]:
                adapt = local_row(op).padding
                if adapt is not None and any(map(view.is_padded, (*operands_of(op), *op.results))):
                    with errors_at(op):
                        adapt(op, view)

    def _pad(self, value: SSAValue) -> None:
        old = value.type
        new = self.padded(old, self.reader.of(value))
        if new is not old:
            tensor = tensor_type(old)
            assert tensor is not None
            self.true_shapes[value] = cast(Sizes, tensor.shape)
            set_type(value, new)

    def _retype(self, function: FuncOp) -> None:
        """Adapts the type of a function to its arguments and the shardings of its results."""
        types = function.function_type
        block = function.body.first_block
        inputs = [argument.type for argument in block.args] if block else list(types.inputs.data)
        shardings = attribute_list_shardings(function.properties.get("res_attrs"))
        outputs = list(types.outputs.data)
        if shardings:
            outputs = [self.padded(t, s) for t, s in zip(outputs, shardings, strict=True)]
        new = FunctionType.from_lists(inputs, outputs)
        if new != types:
            function.properties["function_type"] = new
