from __future__ import annotations

import pytest

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.reshard.reshard_plan import (
    ReshardPlan,
    global_mesh,
    is_single_device_op,
    single_device_plan,
)
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import Meshes
from tests.propagation.notation import MESHES, sharding, short

ON_DEVICE = sharding("[{}]", "maximal")
TARGET = sharding("[]", "maximal")


def plan(operand: str | None, meshes: Meshes = MESHES) -> ReshardPlan:
    given = sharding(operand) if operand is not None else None
    return single_device_plan((given,), (ON_DEVICE,), (1, 1), meshes)


def test_operands_go_through_the_replicated_tensor() -> None:
    assert plan("[{a}]").operands == ((0, (sharding("[{}]"), TARGET)),)
    assert plan("[{}]").operands == ((0, (TARGET,)),)
    assert plan(None).operands == ((0, (TARGET,)),)


def test_operand_on_the_device_stays() -> None:
    assert single_device_plan((TARGET,), (ON_DEVICE,), (1, 1), MESHES).operands == ()


def test_results_come_back() -> None:
    ((_, result),) = plan("[{a}]").results
    assert result.made == TARGET
    assert [short(s) for s in result.seen] == ["[{}]"]


def test_other_results_keep_their_shardings() -> None:
    results = dict(single_device_plan((), (ON_DEVICE, sharding("[{a}]")), (1, 1), MESHES).results)
    assert [short(s) for s in results[1].seen] == ["[{}]", "[{a}]"]
    assert results[1].made == TARGET


def test_tokens_keep_their_shardings() -> None:
    def found() -> ReshardPlan:
        return single_device_plan((None,), (ON_DEVICE, None), (None, 1, None), MESHES)

    assert found().operands == ()
    assert 1 not in dict(found().results)
    with releases.of("0.10"):  # in which they are on all devices
        assert found().operands == ()
        assert dict(found().results)[1].made == sharding("[]")
        assert dict(found().results)[1].seen == ()


def test_two_devices_are_a_mistake() -> None:
    meshes = {**MESHES, "second": Mesh((), (1,))}
    results = (ON_DEVICE, sharding("[{}]", "second"))
    with pytest.raises(ShardyError, match="has conflicting single-device result shardings"):
        single_device_plan((), results, (1, 1), meshes)


def test_without_a_mesh_of_all_devices_nothing_is_done() -> None:
    only_devices = {"maximal": MESHES["maximal"]}
    assert plan("[{a}]", only_devices) == ReshardPlan()
    assert global_mesh(only_devices) is None
    assert global_mesh(MESHES) == "mesh"


def test_is_single_device_op() -> None:
    assert is_single_device_op((None, ON_DEVICE), MESHES)
    assert not is_single_device_op((None, sharding("[{a}]")), MESHES)
