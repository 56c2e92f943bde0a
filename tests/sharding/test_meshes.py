from __future__ import annotations

import pytest

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding
from shardy_py.sharding.meshes import common_mesh, is_single_device, mesh_of, mesh_to_work_in

LINE = (MeshAxis("x", 2),)
MESHES = {
    "line": Mesh(LINE),
    "turned": Mesh(LINE, (1, 0)),
    "long": Mesh((MeshAxis("x", 4),)),
    "one": Mesh((), (3,)),
    "empty": Mesh(),
}


def sharded(mesh: str) -> TensorSharding:
    return TensorSharding(mesh, (DimensionSharding((AxisRef("x"),)),))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("line", "line"), "line"),
        (("turned", "line"), "line"),  # iota order is preferred
        (("turned", "turned"), "turned"),
        (("empty", "line"), "line"),
        (("line", "empty"), "line"),
        (("empty", "empty"), "empty"),
        (("line", "long"), None),
        (("line", "one"), None),
        (("one",), "one"),
        ((), None),
    ],
)
def test_common_mesh(names: tuple[str, ...], expected: str | None) -> None:
    values = [None, *(TensorSharding.fully_closed(name, 1) for name in names)]
    assert common_mesh(values, MESHES) == expected


def test_mesh_to_work_in_is_the_most_frequent() -> None:
    turned, line = sharded("turned"), sharded("line")
    assert mesh_to_work_in([turned, turned, line], MESHES) == "turned"
    assert mesh_to_work_in([turned, line, line], MESHES) == "line"
    assert mesh_to_work_in([turned, line], MESHES) == "turned"  # the first of equals
    replicated = TensorSharding.fully_closed("line", 1)
    assert mesh_to_work_in([replicated, replicated, turned], MESHES) == "turned"
    assert mesh_to_work_in([TensorSharding("one", ())], MESHES) is None
    assert mesh_to_work_in([None], MESHES) is None


def test_inlined_meshes() -> None:
    assert mesh_of(TensorSharding(MESHES["one"], ()), {}) == MESHES["one"]
    assert is_single_device(TensorSharding(MESHES["one"], ()), {})
    assert not is_single_device(None, {})
