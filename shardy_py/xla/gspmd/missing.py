"""Facts that a program lacks for reports that mean something: shardings, or the lines of its source.

    for remark in remarks_on_missing(module): ...

Not here: shardings that are there in another form (`understanding.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp

from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.symbols import meshes_of
from shardy_py.xla.gspmd.understanding import has_shardings
from shardy_py.xla.prepare.written_by_jax import has_parameters_of_torch, verdict

_REPLICA_GROUPS = "replica_groups"
_SPMD = "mhlo.spmd_"
"""Module attributes of XLA's: the shardings that arguments and results had before partitioning."""
_IN_JAX = "pass in_shardings=NamedSharding(mesh, PartitionSpec(...)) to jax.jit"
_IN_TEXT = (
    'add sdy.mesh @mesh = <["x"=8]> and sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]> on arguments, '
    "or let sdy-suggest --mesh x=8 find some"
)
_IN_TORCH = (
    "pass --mesh dp=2,tp=4 and --plan plan.py:PLAN, in Python mesh= and plan= or shardings=, "
    "or let sdy-suggest --mesh x=8 find some"
)
_ON_MESH = "give arguments an attribute sdy.sharding on that mesh, or let sdy-suggest find some"
_LOCATIONS = (
    "no source locations, so reports name lines of this text: "
    "print it by jax.jit(f).lower(...).as_text(debug_info=True)"
)


def remarks_on_missing(module: ModuleOp) -> tuple[str, ...]:
    """Returns a remark for each thing that a program lacks, with the remedy, as its reports would need it.

    module: before propagation.
    """
    is_jax = verdict(module).is_jax
    found: list[str] = []
    all_meshes = meshes_of(module)
    meshes = [f"@{name} {mesh}" for name, mesh in all_meshes.items() if not mesh.is_maximal]
    are_single = bool(all_meshes) and not meshes
    if (are_single or not has_shardings(module)) and not _is_local(module):
        what = f"no shardings, though mesh {meshes[0]}" if meshes else "no mesh and no shardings"
        is_torch = not is_jax and has_parameters_of_torch(module)
        remedy = _IN_JAX if is_jax else _IN_TORCH if is_torch else _ON_MESH if meshes else _IN_TEXT
        found.append(f"{what}, so each device computes the whole program; {remedy}")
    if is_jax and not _has_locations(module):
        found.append(_LOCATIONS)
    return tuple(found)


def file_of(module: ModuleOp) -> str:
    """The file that a module without locations was read from; "<program>" if it has some."""
    location = module.location
    return location.filename.data if isinstance(location, FileLineColLoc) else "<program>"


def _is_local(module: ModuleOp) -> bool:
    """True if it is the program of each device after partitioning, which communicates explicitly."""
    if any(name.startswith(_SPMD) for name in module.attributes):
        return True
    return any(_REPLICA_GROUPS in op.properties for op in walk_pre_order(module))


def _has_locations(module: ModuleOp) -> bool:
    """True if an op has another location than its place in the text of the module."""
    own = module.location
    if not isinstance(own, FileLineColLoc):
        return True
    file = own.filename
    places = (op.location for op in walk_pre_order(module, include_root=False))
    return any(not isinstance(place, FileLineColLoc) or place.filename is not file for place in places)
