"""Shardings of sdy to GSPMD's `mhlo.sharding`, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TupleType,
    i64,
)
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.cursor import MAX_INTEGER_DIGITS
from shardy_py.base.errors import Diagnostic, ShardyError, warn
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.holders import OPENED, RULE, SHARDING
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.symbols import (
    MAIN,
    Symbols,
    callee_name,
    functions_of,
    meshes_of,
    module_of,
    symbol_name,
    top_level_ops,
)
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import function_type_of, of_kind
from shardy_py.mlir.value_shardings import rank_of
from shardy_py.passes.import_.meshes import inline_replica_group_meshes
from shardy_py.passes.options import ExportShardingsOptions, ImportShardingsOptions
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.gspmd.encoding import (
    FRONTEND_ATTRIBUTES,
    FULL_TO_SHARD,
    GLOBAL_TO_LOCAL,
    LOCAL_TO_GLOBAL,
    MANUAL_COMPUTATION_BODY,
    MANUAL_MARK,
    MESHES,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    XLA_SHARDING,
    Entries,
    call_target,
    is_control_flow,
    rewrite_entries,
)
from shardy_py.xla.hlo_sharding.axes import (
    from_hlo_sharding,
    manual_axes_of,
    mesh_of_hlo_shardings,
    to_hlo_sharding,
    to_named_hlo_sharding,
)
from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding, HloShardingType
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text

_MESH_NAME = "mesh"
_MARKED = frozenset({SHARDING_TARGET, FULL_TO_SHARD, SHARD_TO_FULL, GLOBAL_TO_LOCAL, LOCAL_TO_GLOBAL})
"""The custom calls of shard maps, whose shardings say along which axes they are manual."""
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def xla_sdy_import_shardings(module: ModuleOp, options: ImportShardingsOptions) -> None:
    """`xla-sdy-import-shardings`: converts GSPMD's `mhlo.sharding` to a mesh and shardings over its axes.

    All shardings of the module are representable on the mesh; its axes are `_axis_0`, `_axis_1`, ..., unless
    `mesh-axes` names them. Shardings by mesh and axes over another number of devices add their own mesh, a
    sharding on one device a mesh of that device. Custom calls in shard maps are marked with the manual axes,
    for the passes that follow. Members of `shard_as` groups join a sharding group; `shard_like`, which
    propagates in one direction only, is dropped with a warning.

    before  func.func @f(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"})
    after   sdy.mesh @mesh = <["_axis_0"=4, "_axis_1"=2]>
        func.func @f(%arg0: tensor<8x8xf32>
                         {sdy.sharding = #sdy.sharding<@mesh, [{"_axis_1"}, {"_axis_0"}]>})

    Modules with Shardy's own attributes (`xla.sdy.meshes`) are unchanged:
    `xla-sdy-round-trip-import-shardy-attrs` reads those. Without the options, modules made of HLO say in
    `mhlo.allow_spmd_sharding_propagation_to_parameters` and `_to_output` which shardings of `@main` are open.
    """
    frontend = module.attributes.get(FRONTEND_ATTRIBUTES)
    if isinstance(frontend, DictionaryAttr) and MESHES.name in frontend.data:
        return
    shardings: dict[str, HloSharding] = {}
    sharded = [inner for function in functions_of(module) for inner in _collect(function, shardings)]
    if not shardings:
        return
    mesh = _mesh_from_options(options.mesh_axes) or mesh_of_hlo_shardings(shardings.values()) or Mesh()
    importer = _Importer(module, mesh, shardings)
    opened = {
        "arg_attrs": options.allow_propagation_to_args or _opened(module, "arg_attrs"),
        "res_attrs": options.allow_propagation_to_results or _opened(module, "res_attrs"),
    }
    for function in functions_of(module):
        importer.import_function(function, opened if symbol_name(function) == MAIN else {})
    for inner in sharded:
        with errors_at(inner):
            importer.import_op(inner)


def _opened(module: ModuleOp, place: str) -> tuple[str, ...]:
    """The flags that a module of HLO has for its arguments or results; taken from it, as they count once."""
    found = module.attributes.pop(OPENED[place], None)
    given = found.get_values() if isinstance(found, DenseArrayBase) else ()
    return tuple("true" if each else "false" for each in given)


def _mesh_from_options(words: Sequence[str]) -> Mesh | None:
    """The mesh of axes `name=size`; None without any. Raises a `ShardyError` for another spelling."""
    axes: dict[str, int] = {}
    for word in words:
        name, _, size = word.partition("=")
        name = name.strip().strip('"')
        digits = size.strip()
        if not name or not digits.isdecimal() or len(digits) > MAX_INTEGER_DIGITS or int(digits) < 1:
            got = f"'{word[:80]}'"
            raise ShardyError.unexpected("mesh-axes", expected="an axis and its size, x=4", got=got)
        if name in axes:
            raise ShardyError.unexpected("mesh-axes", expected="different axes", got=f"'{name}' twice")
        axes[name] = int(digits)
    return Mesh.of(axes) if axes else None


def _collect(function: Operation, shardings: dict[str, HloSharding]) -> list[Operation]:
    """Parses all shardings of a function, by their text; returns the ops with one."""

    def parse(given: Attribute | None) -> None:
        if given is not None and not isinstance(given, StringAttr):
            raise ShardyError.unexpected(XLA_SHARDING, expected="a string", got=str(given))
        if given is not None and given.data not in shardings:
            shardings[given.data] = _sharding_of(given.data)

    def parse_entry(place: str, index: int, entries: Entries) -> Entries:
        parse(entries.get(XLA_SHARDING))
        return entries

    rewrite_entries(function, parse_entry)
    found = [op for op in ir.walk_pre_order(function) if XLA_SHARDING in op.attributes]
    for op in found:
        with errors_at(op):
            parse(op.attributes[XLA_SHARDING])
    return found


class _Importer:
    """Converts shardings to one mesh; adds the other meshes that shardings need to the module."""

    def __init__(self, module: ModuleOp, mesh: Mesh, shardings: Mapping[str, HloSharding]) -> None:
        self._symbols = Symbols(module)
        self._module = module
        self._mesh = mesh
        self._shardings = shardings
        self._known = {mesh: name for name, mesh in meshes_of(module).items()}
        self._single_devices: dict[Mesh, str] = {}
        devices = {device for sharding in shardings.values() for device in _devices(sharding)}
        for device in sorted(devices, reverse=True):
            single = Mesh((), (device,))
            self._single_devices[single] = self._add(f"maximal_mesh_{device}", single)
        self._names = {mesh: self._add(_MESH_NAME, mesh)}

    def import_function(self, function: Operation, opened: Mapping[str, tuple[str, ...]]) -> None:
        type_ = function_type_of(function)
        types = {"arg_attrs": type_.inputs.data, "res_attrs": type_.outputs.data}
        block, last = function.regions[0].first_block, ir.terminator_of(function.regions[0])
        values: dict[str, Sequence[SSAValue]] = {
            "arg_attrs": block.args if block is not None else (),
            "res_attrs": last.operands if last is not None else (),
        }

        def rewrite(place: str, index: int, entries: Entries) -> Entries:
            given = entries.pop(XLA_SHARDING, None)
            if given is not None and not (place == "res_attrs" and self._is_on_one_device(given)):
                sharding = self._shardings[of_kind(given, StringAttr).data]
                is_open = _is_open(opened.get(place, ()), index)
                converted = self._convert(sharding, types[place][index], is_open=is_open)
                entries[SHARDING] = sdy.TensorShardingAttr(converted)
                if values[place]:
                    _join_group(values[place][index], sharding, function)
            return entries

        rewrite_entries(function, rewrite)

    def _is_on_one_device(self, given: Attribute) -> bool:
        """True for a mesh of one device, which XLA drops from results, as sdy has no such results."""
        named = self._shardings[of_kind(given, StringAttr).data].named
        return named is not None and named.mesh.is_maximal

    def import_op(self, op: Operation) -> None:
        """Converts the sharding of `op`; an op with a tuple as its result keeps the text."""
        types = [result.type for result in op.results]
        if any(isinstance(type_, TupleType) for type_ in types):
            return
        given = self._shardings[of_kind(op.attributes.pop(XLA_SHARDING), StringAttr).data]
        leaves = given.leaves
        if len(leaves) != max(len(types), 1):
            if len(leaves) != 1:
                got = f"{len(leaves)} in {given}"
                raise ShardyError.unexpected(XLA_SHARDING, expected=f"{len(types)} shardings", got=got)
            leaves = leaves * len(types)
        pairs = zip(leaves, types or [None], strict=True)
        op.attributes[SHARDING] = sdy.TensorShardingPerValueAttr(
            tuple(self._convert(*pair) for pair in pairs)
        )
        for leaf, result in zip(leaves, op.results, strict=False):
            _join_group(result, leaf, op)
        if call_target(op) == SHARDING_TARGET and len(op.operands) != len(op.results):
            got = f"{len(op.operands)} operands, {len(op.results)} results"
            raise ShardyError.unexpected(
                f"call of @{SHARDING_TARGET}", expected="as many operands as results", got=got
            )
        if call_target(op) == SHARDING_TARGET and leaves[0].type is HloShardingType.UNKNOWN:
            replace_by_values(op, op.operands)
        elif call_target(op) in _MARKED or _is_body_call(op):
            self._mark_manual(op, leaves[0])

    def _mark_manual(self, op: Operation, sharding: HloSharding) -> None:
        axes = manual_axes_of(sharding, self._mesh_for(sharding))
        if any(axis.sub_axis for axis in axes):
            raise ShardyError.unsupported(f"{sharding}: manual along sub-axes of the mesh")
        if axes:
            op.attributes[MANUAL_MARK] = sdy.ManualAxesAttr(tuple(axis.name for axis in axes))

    def _convert(
        self, sharding: HloSharding, type_: Attribute | None, *, is_open: bool = False
    ) -> TensorSharding:
        rank = 0 if type_ is None else rank_of(type_)
        mesh = self._mesh_for(sharding)
        found = from_hlo_sharding(sharding, mesh, rank, reference=self._names[mesh], is_open=is_open)
        if isinstance(found.mesh, Mesh):
            return TensorSharding(self._single_devices[found.mesh], ())
        return found

    def _mesh_for(self, sharding: HloSharding) -> Mesh:
        """The common mesh; for a sharding by mesh and axes the first mesh over as many devices."""
        own = self._mesh if sharding.named is None else sharding.named.mesh
        if not own.axes:
            return self._mesh
        mesh = next((mesh for mesh in self._names if mesh.device_count == own.device_count), own)
        if mesh not in self._names:
            self._names[mesh] = self._add(_MESH_NAME, mesh)
        return mesh

    def _add(self, name: str, mesh: Mesh) -> str:
        """The symbol of a mesh, which is added to the module unless it has that."""
        if mesh in self._known:
            return self._known[mesh]
        op = sdy.MeshOp(name, mesh)
        op.location = module_of(self._module).location
        ir.place_at_start(op, self._module.body.block)
        return self._symbols.insert(op)


def _sharding_of(spelled: str) -> HloSharding:
    """The sharding that a string spells; older dumps hold the bytes of the protocol buffer."""
    if spelled.lstrip().startswith("{"):
        return hlo_sharding_from_text(spelled)
    try:
        return hlo_sharding_from_proto(spelled.encode("utf-8", "surrogateescape"))
    except ShardyError:
        return hlo_sharding_from_text(spelled)


def _join_group(value: SSAValue, sharding: HloSharding, op: Operation) -> None:
    """Makes `value`, a result of `op` or an argument of its body, a member of the group of its sharding."""
    group = sharding.shard_group
    if group is None:
        return
    if not group.is_shard_as:
        warn(f"{group} is dropped: members of a group of sdy get one sharding", position_of(op.location))
        return
    properties: dict[str, Attribute] = {"group_id": IntegerAttr(group.id, i64)}
    member = ir.build_operation(sdy.ShardingGroupOp, [value], (), properties, {}, op.location)
    ir.place_after_value(member, value)


def _is_body_call(op: Operation) -> bool:
    return isinstance(op, CallOp) and MANUAL_COMPUTATION_BODY in callee_name(op)


def _devices(sharding: HloSharding) -> list[int]:
    leaves = sharding.leaves
    tiled = [leaf.tile_assignment_devices[0] for leaf in leaves if leaf.type is HloShardingType.MAXIMAL]
    meshes = [leaf.named.mesh for leaf in leaves if leaf.named is not None]
    return [*tiled, *(mesh.device_ids[0] for mesh in meshes if mesh.is_maximal)]


def _is_open(words: tuple[str, ...], index: int) -> bool:
    if not words:
        return False
    if len(words) > 1 and index >= len(words):
        expected = "one word, or one for each value"
        raise ShardyError.unexpected("allow-propagation", expected=expected, got=f"{len(words)} words")
    word = words[0 if len(words) == 1 else index]
    if word not in _FLAGS:
        raise ShardyError.unexpected("allow-propagation", expected="true or false", got=f"'{word}'")
    return _FLAGS[word]


def xla_sdy_stablehlo_export_shardings(module: ModuleOp, options: ExportShardingsOptions) -> None:
    """`xla-sdy-stablehlo-export-shardings`: converts shardings over axes to GSPMD's `mhlo.sharding`.

    Meshes and sharding rules are erased. Several results of an op get a tuple of shardings.

    before  sdy.mesh @mesh = <["x"=4, "y"=2]>
        func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
    after   func.func @f(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"})

    Replica groups get the meshes that they name. Requires a module without ops of sdy: see
    `xla-sdy-export-ops`. The inverse: `xla-sdy-import-shardings`.
    """
    exporter = _Exporter(meshes_of(module), is_named=options.enable_hlo_sharding_v3)
    for function in functions_of(module):
        rewrite_entries(function, lambda place, index, entries: exporter.exported(entries))
        for inner in ir.walk_pre_order(function, include_root=False):
            is_missing = is_control_flow(inner) and not inner.attributes.keys() & {SHARDING, MANUAL_MARK}
            with errors_at(inner):
                _export_op(inner, exporter)
            if is_missing and options.add_missing_sharding_to_control_flow:
                inner.attributes.setdefault(XLA_SHARDING, _spelled(HloSharding(HloShardingType.REPLICATED)))
    inline_replica_group_meshes(module, meshes_of(module))
    for inner in list(top_level_ops(module)):
        if isinstance(inner, sdy.MeshOp):
            ir.erase(inner)


def _export_op(op: Operation, exporter: _Exporter) -> None:
    op.attributes.pop(RULE, None)
    if op.name.startswith("sdy."):
        remedy = "run xla-sdy-export-ops before this pass"
        raise ShardyError(Diagnostic("not representable without sdy", remedy=remedy))
    op.attributes = exporter.exported(op.attributes)


class _Exporter:
    """Converts shardings on the meshes of one module, each value once."""

    def __init__(self, meshes: Mapping[str, Mesh], *, is_named: bool) -> None:
        self._meshes = meshes
        self._convert = to_named_hlo_sharding if is_named else to_hlo_sharding
        self._converted: dict[tuple[TensorSharding, tuple[str, ...]], HloSharding] = {}

    def exported(self, entries: Entries) -> Entries:
        """The attributes of an op, argument or result with `mhlo.sharding` instead of `sdy.sharding`."""
        given, mark = entries.pop(SHARDING, None), entries.pop(MANUAL_MARK, None)
        manual = mark.data if isinstance(mark, sdy.ManualAxesAttr) else ()
        if isinstance(given, sdy.TensorShardingAttr):
            entries[XLA_SHARDING] = _spelled(self._of(given.data, manual))
        elif isinstance(given, sdy.TensorShardingPerValueAttr):
            found = [self._of(sharding, manual) for sharding in given.data]
            entries[XLA_SHARDING] = _spelled(found[0] if len(found) == 1 else HloSharding.tuple_of(found))
        return entries

    def _of(self, sharding: TensorSharding, manual: tuple[str, ...]) -> HloSharding:
        key = (sharding, manual)
        if key not in self._converted:
            if isinstance(sharding.mesh, str) and sharding.mesh not in self._meshes:
                raise ShardyError.unknown("mesh", sharding.mesh, self._meshes)
            self._converted[key] = self._convert(sharding, mesh_of(sharding, self._meshes), manual)
        return self._converted[key]


def _spelled(sharding: HloSharding) -> StringAttr:
    return StringAttr(sharding.text(include_metadata=True))
