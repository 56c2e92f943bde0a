"""The lint rule on programs of JAX with several meshes: results whose mesh JAX has to guess.

Not here: axes of a mesh that shard nothing (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.api import Result
from shardy_py.check.finding import Finding
from shardy_py.check.rule import Limits, finding_of, rule
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.sharding.spelling import string_literal


@rule(
    *("SDY015", "result-without-mesh", "JAX guesses the mesh of a result"),
    why="XLA returns devices, and JAX names them by the axes of one mesh for all results without "
    "out_shardings: of the context, or of an argument. Results on another mesh get other axes, or an error.",
    help="Give the results out_shardings with their mesh.",
)
def _find_results_without_mesh(result: Result, limits: Limits) -> Iterator[Finding]:
    meshes = meshes_with_axes(result.source.meshes)
    if not result.source.is_by_jax or len({_layout(mesh) for mesh in meshes.values()}) < 2:
        return
    given = "; ".join(f"@{name} with {_axes(mesh)}" for name, mesh in meshes.items())
    left = [value for value in result.source.values.results() if value.sharding is None and value.shape]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        message = f"the result{more} have no out_shardings" if more else "the result has no out_shardings"
        message += f", and the program has {len(meshes)} meshes: {given}"
        yield finding_of(
            left[0],
            message,
            "give it out_shardings with its mesh: JAX takes one mesh for all such results",
        )


def _layout(mesh: Mesh) -> tuple[object, ...]:
    """Equal for meshes whose names of axes mean the same devices."""
    return mesh.axes, mesh.device_ids


def _axes(mesh: Mesh) -> str:
    return ", ".join(f"{string_literal(axis.name)}={axis.size}" for axis in mesh.axes)
