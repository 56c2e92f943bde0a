"""A sharding on its mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from shardy_py.api import Mesh, P, Sharding, ShardyError
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_to_proto

MESH = Mesh.of(data=4, model=2)


def test_local_shape_rounds_up() -> None:
    assert Sharding(MESH, P("data", ("model",))).local_shape((10, 7, 3)) == (3, 4, 3)


def test_slices_cover() -> None:
    slices = Sharding(MESH, P("data")).device_slices((10, 3))
    assert [int(offset[0]) for offset in slices.offsets] == [0, 0, 3, 3, 6, 6, 9, 9]


@pytest.mark.parametrize(
    "text",
    [
        '<@mesh, [{"data"}, {?}]>',
        '<@mesh, [{}], unreduced=max{"data", "model"}>',
        '<@"a b", [{}]>',
        '#sdy.sharding<@m, [{"data":(1)2, ?}p1], replicated={"model"}>',
    ],
)
def test_text_round_trip(text: str) -> None:
    sharding = Sharding.parse(text, MESH)
    assert str(sharding) == text.removeprefix("#sdy.sharding")
    assert Sharding(MESH, sharding.spec, mesh_name=str(sharding.value.mesh)) == sharding


def test_inlined_mesh() -> None:
    sharding = Sharding.parse('<mesh<["x"=2]>, [{"x"}]>')
    assert sharding.mesh == Mesh.of(x=2)
    assert str(sharding.spec) == "P('x')"


def test_replicated_axes_come_in_the_order_of_the_mesh() -> None:
    sharding = Sharding(MESH, P(None, replicated=("model", "data")))
    assert [axis.name for axis in sharding.replicated_axes] == ["data", "model"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (P("dat"), r'unknown axis name: "dat"; the mesh has "data", "model"'),
        (P("data", "data"), r'duplicate axis ref: "data"'),
        (P("data", unreduced="data"), r'duplicate axis ref: "data"'),
        (P("data:(1)3"), "sub-axis"),
    ],
)
def test_axes_are_those_of_the_mesh(spec: P, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        Sharding(MESH, spec)


def test_text_is_placed() -> None:
    with pytest.raises(
        ShardyError, match=r"<sharding>:1:10: error: invalid sharding '<@mesh, \[{': expected string"
    ):
        Sharding.parse("<@mesh, [{", MESH)
    with pytest.raises(ShardyError, match="expected the end of the sharding"):
        Sharding.parse("<@mesh, [{}]> x", MESH)
    with pytest.raises(ShardyError, match="expected a mesh, got its name only"):
        Sharding.parse("<@mesh, [{}]>")


def test_too_many_dimensions() -> None:
    with pytest.raises(ShardyError, match="expected at most 1 dimension, the rank of the tensor, got 2"):
        Sharding(MESH, P("data", None)).local_shape((8,))


@pytest.mark.parametrize(
    ("text", "rank", "spec"),
    [
        ("{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}", 2, P("y", None)),
        ("{devices=[8]<=[4,2]T(1,0)}", 1, P(("y", "x"))),
        ("{replicated}", 2, P(None, None)),
        ("{devices=[1,4,2]<=[8] last_tile_dims={unreduced, replicated}}", 1, P(None, unreduced={"x"})),
    ],
)
def test_shardings_of_xla(text: str, rank: int, spec: P) -> None:
    mesh = Mesh.of(x=4, y=2)
    sharding = Sharding.from_hlo(text, mesh, rank)
    assert sharding == Sharding(mesh, spec)
    hlo = sharding.to_hlo()
    assert str(hlo) == text
    assert (
        Sharding.from_hlo(hlo_sharding_to_proto(hlo), mesh, rank)
        == sharding
        == Sharding.from_hlo(hlo, mesh, rank)
    )


def test_shardings_of_xla_on_one_device_and_of_other_types() -> None:
    mesh = Mesh.of(x=4, y=2)
    single = Sharding.from_hlo("{maximal device=3}", mesh, 2)
    assert single.mesh == Mesh((), (3,))
    assert str(single.to_hlo()) == "{maximal device=3}"
    assert str(Sharding(mesh, P("x")).to_hlo(rank=3)) == "{devices=[4,1,1,2]<=[8] last_tile_dim_replicate}"
    with pytest.raises(
        ShardyError, match="expected an HloSharding, its text, or the bytes of its proto, got 3"
    ):
        Sharding.from_hlo(3, mesh, 2)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Mesh.of(a=0), 'axis "a" of a mesh: expected at least 1 device, got 0'),
        (lambda: Mesh.of(a=cast(Any, 2.5)), 'axis "a" of a mesh: expected a number of devices, got 2.5'),
        (
            lambda: Mesh.of(a=4, device_ids=(1, 2, 3, 4)),
            "device_ids: expected 0 to 3 in some order, got",
        ),
        (lambda: Mesh.of(a=2, device_ids=cast(Any, 3)), "device_ids: expected numbers of devices, got 3"),
        (lambda: Mesh.of(device_ids=(0, 1)), "device_ids: expected 0 to 0 in some order, got"),
        (lambda: Sharding(cast(Any, "mesh"), P()), "expected a Mesh such as .*, got 'mesh'"),
        (lambda: Sharding.parse(cast(Any, 3)), "expected a sharding such as .*, got 3"),
        (lambda: Sharding(MESH, P("data")).for_rank(cast(Any, "3")), "expected a number of dimensions, got"),
        (lambda: Sharding(MESH, P("data")).local_shape((-4,)), r"expected a shape such as .*, got \(-4,\)"),
        (lambda: Sharding(MESH, P("data")).device_slices(cast(Any, 4)), "expected a shape such as .* got 4"),
    ],
)
def test_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call()


def test_maximal_mesh() -> None:
    assert Mesh.of(device_ids=(3,)).maximal_device_id == 3


@pytest.mark.parametrize(
    "text",
    [
        "{manual}",
        "{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual}}",
        "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
        "{replicated shard_as 3}",
        '{devices=[4,2]<=[8] shard_like 3 metadata={op_name="x" source_line=3}}',
        '{unreduced metadata={{op_name="a"}, {op_type="sdy::reduction_op" op_name="MAX"}}}',
        '{maximal device=3 metadata={op_name="x"}}',
    ],
)
def test_hlo_round_trip(text: str) -> None:
    rank = 2 if "[4,2]<" in text else 1
    sharding = Sharding.from_hlo(text, MESH, rank)
    assert sharding.to_hlo(rank).text(include_metadata=True) == text
    assert sharding.named("other").to_hlo().text(include_metadata=True) == text


def test_what_hlo_has_beside_the_axes_counts_but_its_metadata() -> None:
    plain, manual = (Sharding.from_hlo(text, MESH, 1) for text in ("{replicated}", "{manual}"))
    noted = Sharding.from_hlo('{replicated metadata={op_name="x"}}', MESH, 1)
    assert plain == noted != manual


@pytest.mark.parametrize("opening", ["[", "("])
def test_deeply_nested_text(opening: str) -> None:
    with pytest.raises(ShardyError, match="nesting exceeds") as error:
        Sharding.parse("<" + opening * 100_000, MESH)
    assert len(str(error.value)) < 1000
