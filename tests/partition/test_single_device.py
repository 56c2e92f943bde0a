from __future__ import annotations

import pytest

from shardy_py.errors import ShardyError
from shardy_py.partition.reshard_plan import ReshardPlan
from shardy_py.partition.single_device import (
    SingleDeviceOp,
    global_mesh,
    is_single_device_op,
    single_device_plan,
)
from shardy_py.sharding import Mesh
from tests.propagation.notation import MESHES, sharding, short

ON_DEVICE = sharding("[{}]", "maximal")
TARGET = sharding("[]", "maximal")


def plan(operand: str | None, everyone: str | None = "mesh") -> ReshardPlan:
    given = sharding(operand) if operand is not None else None
    return single_device_plan(SingleDeviceOp((given,), (ON_DEVICE,), (1,), (1,), everyone), MESHES)


def test_operands_go_through_the_replicated_tensor() -> None:
    assert plan("[{a}]").operands == ((0, (sharding("[{}]"), TARGET)),)
    assert plan("[{}]").operands == ((0, (TARGET,)),)
    assert plan(None).operands == ((0, (TARGET,)),)


def test_operand_on_the_device_stays() -> None:
    op = SingleDeviceOp((TARGET,), (ON_DEVICE,), (1,), (1,), "mesh")
    assert single_device_plan(op, MESHES).operands == ()


def test_results_come_back() -> None:
    ((_, result),) = plan("[{a}]").results
    assert result.made == TARGET
    assert [short(s) for s in result.seen] == ["[{}]"]


def test_other_results_keep_their_shardings() -> None:
    op = SingleDeviceOp((), (ON_DEVICE, sharding("[{a}]")), (), (1, 1), "mesh")
    results = dict(single_device_plan(op, MESHES).results)
    assert [short(s) for s in results[1].seen] == ["[{}]", "[{a}]"]
    assert results[1].made == TARGET


def test_tokens_are_on_all_devices() -> None:
    op = SingleDeviceOp((None,), (ON_DEVICE, None), (None,), (1, None), "mesh")
    found = single_device_plan(op, MESHES)
    assert found.operands == ()
    assert dict(found.results)[1].made == sharding("[]")
    assert dict(found.results)[1].seen == ()


def test_two_devices_are_a_mistake() -> None:
    meshes = {**MESHES, "second": Mesh((), (1,))}
    op = SingleDeviceOp((), (ON_DEVICE, sharding("[{}]", "second")), (), (1, 1), None)
    with pytest.raises(ShardyError, match="has conflicting single-device result shardings"):
        single_device_plan(op, meshes)


def test_without_a_mesh_of_all_devices_nothing_is_done() -> None:
    assert plan("[{a}]", None) == ReshardPlan()
    assert global_mesh({"maximal": MESHES["maximal"]}) is None
    assert global_mesh(MESHES) == "mesh"


def test_is_single_device_op() -> None:
    assert is_single_device_op((None, ON_DEVICE), MESHES)
    assert not is_single_device_op((None, sharding("[{a}]")), MESHES)
