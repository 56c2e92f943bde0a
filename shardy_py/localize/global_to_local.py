"""The pass `sdy-convert-global-to-local`: from the program on whole tensors to the one each device runs.

    before  func.func @f(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
              %0 = stablehlo.tanh %arg0 {sdy.sharding = ...<[<@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
    after   func.func @f(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
              %0 = stablehlo.tanh %arg0 {sdy.sharding = ...<[<@mesh, [{"x"}, {}]>]>} : tensor<4x16xf32>

First all values get the types of their parts, in place. Then the ops are converted whose attributes hold
sizes or positions, or that communicate: those with a local form (`facet.py`). For all others a device's part
of the results is the op on its parts of the operands.

Requires explicit reshards (`sdy-insert-explicit-reshards` in its full version), local permutations
(`sdy-resolve-permutation-factors`), collectives (`sdy-reshard-to-collectives`) and sizes that their parts
divide (`sdy-pad-for-divisibility`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.plugins import call_of_user
from shardy_py.localize.asynchronous import inline_several
from shardy_py.localize.facet import LOCAL, Form, local_row
from shardy_py.localize.localizer import (
    Localizer,
    Site,
    Whole,
    replace_result,
)
from shardy_py.mlir import ir
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.movements import (
    Localized,
    LocalSignature,
    inserting_for,
    is_recording,
    note,
)
from shardy_py.mlir.op_errors import error_at, errors_at, place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.export.module_shardings import write_module_shardings
from shardy_py.passes.options import ConvertGlobalToLocalOptions
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of


def convert_global_to_local(module: ModuleOp, options: ConvertGlobalToLocalOptions) -> None:
    """`sdy-convert-global-to-local`: converts the whole program to the one that each device runs."""
    local = Localizer(module, options)
    main = local.symbols.get("main")
    is_shardy = not options.device_id_arithmetic
    if isinstance(main, FuncOp) and Behaviour.MAIN_SHARDINGS_ARE_METADATA.holds and is_shardy:
        write_module_shardings(module, main, local.meshes)
    with ir.operands_set_together() as changes:
        for site in LocalTypes(local).assign(module):
            if site.op in changes:  # what is before it is done; what it is used by comes after it
                ir.set_operands(changes)
            _localize(local, site, is_shardy=is_shardy)
    inline_several(module)


def _localize(local: Localizer, site: Site, *, is_shardy: bool) -> None:
    """Makes an op what each device runs."""
    row = local_row(site.op)
    is_empty = row.is_collective and 0 in site.results[0].shape
    form = empty_collective if is_empty and not is_shardy else row.form
    assert form is not None
    try:
        with inserting_for(site.op):
            form(local, site)
    except ShardyError as error:
        what = f"failed to legalize operation '{site.op.name}' that was explicitly marked illegal"
        following = Diagnostic(what, place_of(site.op))
        raise ShardyError(*error_at(site.op, error).diagnostics, following) from error


class LocalTypes:
    """Gives all values the types of their parts."""

    def __init__(self, local: Localizer) -> None:
        self._local = local
        self._reader = ShardingReader()
        self._wholes: dict[SSAValue, Whole] = {}
        self._known: dict[tuple[int, int], tuple[Whole, Attribute]] = {}

    def assign(self, module: ModuleOp) -> list[Site]:
        """Sets the types; returns the ops with local forms, in program order, each before its nested ops."""
        sites: list[Site] = []
        wholes = self._wholes
        for op in ir.walk_pre_order(module):
            for result in op.results:
                self._localize(result, op)
            if op.regions:
                for block in ir.blocks_of(op):
                    for argument in block.args:
                        self._localize(argument, op)
            if local_row(op).form is not None:
                operands = [wholes.get(value) or Whole(ir.type_of(value)) for value in ir.operands_of(op)]
                results = [wholes.get(value) or Whole(ir.type_of(value)) for value in op.results]
                sites.append(Site(op, operands, results))
            elif isinstance(op, FuncOp):
                self._set_signature(op)
        return sites

    def _localize(self, value: SSAValue, op: Operation) -> None:
        sharding = self._sharding(value, op)
        if sharding is None:
            return
        type_ = ir.type_of(value)
        known = self._known.get((id(type_), id(sharding)))
        if known is None:
            with errors_at(op):
                known = self._known[id(type_), id(sharding)] = self._part(type_, sharding)
        whole, part = known
        self._wholes[value] = whole
        if part is not type_:
            ir.set_type(value, part)
        if is_recording() and not sharding.has_no_axes:
            note(Localized(value, sharding))

    def _sharding(self, value: SSAValue, op: Operation) -> TensorSharding | None:
        sharding = self._reader.of(value)
        if sharding is None and isinstance(op, CallOp) and isinstance(value, OpResult):
            given = attribute_list_shardings(self._local.symbols.callee(op).properties.get("res_attrs"))
            return given[value.index] if given else None
        return sharding

    def _part(self, type_: Attribute, sharding: TensorSharding) -> tuple[Whole, Attribute]:
        """The whole value, and the type of its part. Raises ShardyError if the parts are uneven."""
        mesh = mesh_of(sharding, self._local.meshes)
        whole = Whole(type_, sharding, mesh)
        tensor = tensor_type(type_)
        if tensor is None or len(tensor.shape) != sharding.rank or sharding.is_fully_replicated:
            return whole, type_
        sizes: list[int] = []
        for dim, (size, by) in enumerate(zip(tensor.shape, sharding.dimensions, strict=True)):
            parts = total_size(by.axes, mesh)
            if size is not None and size % parts:
                raise ShardyError.unexpected(
                    f"dimension {dim} of {type_} with sharding {sharding}",
                    expected=f"a size divisible by {parts}",
                    got=str(size),
                    remedy="run sdy-pad-for-divisibility before",
                )
            sizes.append(DYNAMIC_INDEX if size is None else size // parts)
        given: Any = type_
        return whole, ranked_tensor(tuple(sizes), given.element_type, given.encoding)

    def _set_signature(self, function: FuncOp) -> None:
        """Sets the type of a function to those of its parts."""
        types = function.function_type
        shardings = {
            name: attribute_list_shardings(function.properties.get(name))
            for name in ("arg_attrs", "res_attrs")
        }
        inputs, outputs = (
            [
                self._part(type_, sharding)[1] if sharding is not None else type_
                for type_, sharding in zip(given, known or (None,) * len(given), strict=False)
            ]
            for given, known in zip((types.inputs.data, types.outputs.data), shardings.values(), strict=True)
        )
        if is_recording():
            note(LocalSignature(function_name(function), shardings["arg_attrs"], shardings["res_attrs"]))
        with errors_at(function):
            function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)


def empty_collective(local: Localizer, site: Site) -> None:
    """Replaces a collective of a tensor without elements by a constant: nothing is sent, and few verify."""
    (result,) = site.op.results
    replace_result(site.op, StablehloBuilder(site.op).dense(ir.type_of(result), b""))


def register_partitioner(name: str, form: Form) -> None:
    """Registers the local form of an op of users, or of a custom call: `stablehlo.custom_call@target`.

    form: called with the `Localizer` and the `Site` of each such op, after values have local types: changes
        the op in place, or replaces its results. docs/extending.md has an example.
    """
    row = replace(LOCAL.of(name), form=partial(call_of_user, "local form", form))
    LOCAL.register(name, row, replaces=True)
