"""Programs whose shardings are not those of sdy: which those are, and their import, for reports.

| shardings | imported by |
|---|---|
| GSPMD's: `mhlo.sharding`, `@Sharding`, `@SPMDFullToShardShape` | `xla-sdy-stablehlo-import-pipeline` |
| sdy's encoded for HLO: `xla.sdy.*` in frontend attributes, custom calls | the same |
| those of MLIR's `shard` dialect | `convert-shard-to-sdy` |

Reports read only sdy's: without the import they would describe a program without shardings. Programs that are
printed are not imported, unless the command line says so. Not here: the passes themselves.

    remarks = understand(module)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import MeshOp
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.holders import SHARDING, attribute_list_shardings
from shardy_py.mlir.ir import ops_in
from shardy_py.mlir.op_errors import error_at
from shardy_py.mlir.symbols import function_name, functions_of, meshes_of
from shardy_py.mlir.typed import dictionaries_of
from shardy_py.passes import PassCall, pass_call
from shardy_py.passes.pipelines import stablehlo_import_passes
from shardy_py.passes.runner import run_passes
from shardy_py.sharding import Mesh
from shardy_py.xla.gspmd.encoding import (
    FRONTEND_ATTRIBUTES,
    FULL_TO_SHARD,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    XLA_SHARDING,
    call_target,
)

_SHARD, _SDY, _ENCODED = "shard.", "sdy.", "xla.sdy."
_SHARDING_CALLS = (SHARDING_TARGET, FULL_TO_SHARD, SHARD_TO_FULL)
_READ = (_SHARD, _SDY, CustomCallOp.name)
_MESHES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Foreign:
    """A way to write shardings other than sdy's.

    what: its name in messages. flag: the pass or pipeline that imports it. passes: its calls.
    """

    what: str
    flag: str
    passes: Callable[[], tuple[PassCall, ...]]


GSPMD = Foreign(
    "shardings of GSPMD (mhlo.sharding)", "xla-sdy-stablehlo-import-pipeline", stablehlo_import_passes
)
ENCODED = Foreign(
    "shardings encoded for HLO (xla.sdy.*)", "xla-sdy-stablehlo-import-pipeline", stablehlo_import_passes
)
SHARD = Foreign(
    "shardings of the shard dialect", "convert-shard-to-sdy", lambda: (pass_call("convert-shard-to-sdy"),)
)
IMPORTS = frozenset(
    {
        "convert-shard-to-sdy",
        "xla-sdy-import-shardings",
        "xla-sdy-stablehlo-round-trip-shard-map-import",
        "xla-sdy-round-trip-import-shardy-attrs",
        "xla-sdy-round-trip-shard-map-import",
        "xla-sdy-import-sdy-custom-calls",
    }
)
"""The passes that import shardings."""


@dataclass(slots=True)
class _Found:
    """The op where each kind of foreign shardings was seen first; whether there are shardings of sdy."""

    first: dict[Foreign, Operation] = field(default_factory=dict[Foreign, Operation])
    has_own: bool = False

    def read(self, attributes: Mapping[str, Attribute], op: Operation) -> None:
        """Adds what the attributes of an op, or of an argument or result of it, hold."""
        if SHARDING in attributes:
            self.has_own = True
        elif XLA_SHARDING in attributes:
            self.first.setdefault(GSPMD, op)
        frontend = attributes.get(FRONTEND_ATTRIBUTES)
        if isinstance(frontend, DictionaryAttr) and any(name.startswith(_ENCODED) for name in frontend.data):
            self.first.setdefault(ENCODED, op)

    def read_op(self, op: Operation) -> None:
        """Adds an op without its regions."""
        name = op.name
        if name.startswith(_SHARD):
            self.first.setdefault(SHARD, op)
        elif name.startswith(_SDY):
            self.has_own |= not isinstance(op, MeshOp)
        elif target := call_target(op):
            if target.startswith(_ENCODED):
                self.first.setdefault(ENCODED, op)
            elif target in _SHARDING_CALLS and SHARDING not in op.attributes:
                self.first.setdefault(GSPMD, op)
        if op.attributes:
            self.read(op.attributes, op)


def _found_in(module: ModuleOp, known: Sequence[Operation] | None = None) -> _Found:
    found = _Found()
    ops = [module, *(ops_in(module) if known is None else known)]
    kinds, attributes = [*map(type, ops)], [op.attributes for op in ops]
    read = {kind for kind, op in dict(zip(kinds, ops, strict=True)).items() if op.name.startswith(_READ)}
    found.has_own = any(SHARDING in each for each in attributes)  # of a propagated program the first ones
    for op, kind, own in zip(ops, kinds, attributes, strict=True):
        if kind in read or (own and (len(own) > 1 or SHARDING not in own)):  # few have more than a sharding
            found.read_op(op)
    _read_functions(module, found)
    return found


def _read_functions(module: ModuleOp, found: _Found) -> None:
    """Adds what arguments and results of functions hold."""
    for function in functions_of(module):
        for key in ("arg_attrs", "res_attrs"):
            for entry in dictionaries_of(function, key):
                found.read(entry.data, function)


def has_shardings(module: ModuleOp) -> bool:
    """Returns whether a module has shardings, of sdy or of another kind."""
    found = _Found()
    _read_functions(module, found)  # most programs have some there, and ops need not be read
    if not (found.has_own or found.first):
        found = _found_in(module)
    return found.has_own or bool(found.first)


def foreign_shardings(module: ModuleOp, ops: Sequence[Operation] | None = None) -> dict[Foreign, Operation]:
    """Returns the kinds of shardings in a module that reports do not read, each with its first op.

    GSPMD's beside sdy's count as none: XLA drops them from programs with a mesh of Shardy.
    ops: those of the module in program order, if they are known.
    """
    found = _found_in(module, ops)
    return {kind: op for kind, op in found.first.items() if not (kind is GSPMD and found.has_own)}


def understand(module: ModuleOp) -> tuple[str, ...]:
    """Imports the shardings of a module that are not those of sdy, in place; returns remarks that say so.

    Raises:
        ShardyError: they cannot be imported, or no report can read them.
    """
    found = _found_in(module)
    kinds = [kind for kind in (SHARD, GSPMD, ENCODED) if kind in found.first]
    remarks: list[str] = []
    if GSPMD in kinds and found.has_own:
        remarks.append("mhlo.sharding beside the shardings of sdy is dropped, as XLA does")
        kinds.remove(GSPMD)
    if kinds:
        before = set(meshes_of(module))
        for passes in dict.fromkeys(kind.passes for kind in kinds):
            run_passes(module, passes())
        meshes = {name: mesh for name, mesh in meshes_of(module).items() if name not in before}
        flags = " and ".join(f"--{flag}" for flag in dict.fromkeys(kind.flag for kind in kinds))
        named = [kind for kind in kinds if kind is not GSPMD or ENCODED not in kinds]  # which holds more
        what = " and ".join(kind.what for kind in named)
        remarks.append(f"{what}, imported as by {flags}: {_listed(meshes)}")
        require_understood(module)
    return tuple(remarks)


def unread(module: ModuleOp) -> tuple[str, ...]:
    """Returns remarks on shardings of a module that propagation does not read."""
    return tuple(
        f"{kind.what} take no part in propagation; --{kind.flag} before it imports them"
        for kind in foreign_shardings(module)
    )


def require_understood(module: ModuleOp, ops: Sequence[Operation] | None = None) -> None:
    """Raises `ShardyError` for a module with shardings that neither propagation nor reports read.

    ops: as of `foreign_shardings`.
    """
    for kind, op in foreign_shardings(module, ops).items():
        fact, remedy = f"has {kind.what}, which reports do not read", f"run {kind.flag} first"
        raise error_at(op, ShardyError(Diagnostic(fact, remedy=remedy)))


def require_reportable(module: ModuleOp, ops: Sequence[Operation] | None = None) -> None:
    """Raises `ShardyError` for a module that reports say nothing true about.

    Those have shardings that they do not read, or, as for Shardy's partitioner, arguments or results on a
    single device. ops: as of `foreign_shardings`.
    """
    require_understood(module, ops)
    _refuse_single_devices(module)


def _listed(meshes: Mapping[str, Mesh]) -> str:
    names = [f"mesh @{name} {mesh}" for name, mesh in meshes.items()]
    more = f" and {len(names) - _MESHES_SHOWN} more" if len(names) > _MESHES_SHOWN else ""
    return ", ".join(names[:_MESHES_SHOWN]) + more if names else "no mesh"


def _refuse_single_devices(module: ModuleOp) -> None:
    meshes = meshes_of(module)
    if not any(mesh.is_maximal for mesh in meshes.values()):
        return
    for function, what in _on_one_device(module, meshes):
        fact = f"{what} of @{function_name(function)} is on a single device (maximal sharding)"
        remedy = "drop that sharding, or replicate the tensor over all devices"
        raise error_at(function, ShardyError(Diagnostic(fact, remedy=remedy)))


def _on_one_device(module: ModuleOp, meshes: Mapping[str, Mesh]) -> Iterator[tuple[Operation, str]]:
    for function in functions_of(module):
        for kind, key in (("argument", "arg_attrs"), ("result", "res_attrs")):
            given = attribute_list_shardings(function.properties.get(key))
            for index, sharding in enumerate(given):
                mesh = None if sharding is None else sharding.mesh
                mesh = meshes.get(mesh) if isinstance(mesh, str) else mesh
                if mesh is not None and mesh.is_maximal:
                    yield function, f"{kind} {index}"


def split_imports(calls: Iterable[PassCall]) -> tuple[tuple[PassCall, ...], tuple[PassCall, ...]]:
    """Returns the calls up to the last that imports shardings, and those after it."""
    listed = tuple(calls)
    end = max((place for place, call in enumerate(listed, 1) if call.row.name in IMPORTS), default=0)
    return listed[:end], listed[end:]
