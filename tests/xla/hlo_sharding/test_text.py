"""The text of XLA's shardings: parsed, normalised, and positions of errors in invalid text."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding, HloShardingType, ShardGroup
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text

SAME = (
    "{replicated}",
    "{manual}",
    "{unknown}",
    "{unreduced}",
    "{maximal device=3}",
    "{devices=[2,4]<=[8]}",
    "{devices=[2,4]<=[4,2]T(1,0)}",
    "{devices=[2,4]0,1,2,3,4,5,6,7}",
    "{devices=[2,2]1,0,2,3}",
    "{devices=[4,1,2]<=[8] last_tile_dim_replicate}",
    "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
    "{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced}}",
    "{devices=[2]<=[2] shard_like 12}",
    "{replicated shard_as 1}",
    "{}",
    "{{replicated}, {maximal device=1}}",
    "{{manual}, {manual}, {manual}, {manual}, {manual}, /*index=5*/{manual}, {manual}}",
    "{mesh['a'=2,'b'=4], [{'a'}, {}]}",
    "{mesh['x'=4,'y'=2], [{'x':(1)2}, {'y', ?}], replicated={'x':(2)2}}",
    "{mesh['x'=4,'y'=2,'z'=2], [{'y'}], unreduced={'z'}, manual={'x'}}",
    "{mesh['x'=2,'y'=2], device_ids=(3,1,2,0), [{'x'}]}",
    "{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x'}]}",
    "{mesh['x'=2], replicated}",
    "{mesh['x'=2], manual}",
    "{mesh['x'=4611686018427387904], [{'x':(1)2}]}",
    "{mesh['x'=2], unreduced}",
    "{maximal_mesh[device_id=3]}",
    "{mesh['x'=4,'y'=2], [{'x'}], unreduced=max{'y'}}",
    "{mesh['x'=4,'y'=2], unreduced=min}",
)

# From and to what jaxlib 0.10.2 makes of them.
NORMALISED = (
    ("{devices=[8,1]<=[8] last_tile_dim_replicate}", "{devices=[8]<=[8]}"),
    ("{devices=[1,8]<=[8] last_tile_dim_replicate}", "{replicated}"),
    ("{devices=[1,1,8]<=[8] last_tile_dims={unreduced}}", "{unreduced}"),
    ("{devices=[2,1]<=[2] last_tile_dims={manual, replicated}}", "{manual}"),
    ("{devices=[2,2]3,2,1,0 last_tile_dim_replicate}", "{devices=[2,2]2,3,0,1 last_tile_dim_replicate}"),
    (
        "{devices=[1,2,2,2]<=[8] last_tile_dims={replicated,manual}}",
        "{devices=[1,2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}",
    ),
    (
        "{devices=[1,2,2,2]<=[8] last_tile_dims={manual,manual}}",
        "{devices=[1,2,4]<=[8] last_tile_dims={manual}}",
    ),
    (
        "{devices=[2,6]<=[4,3]T(1,0) last_tile_dim_replicate}",
        "{devices=[2,6]0,1,3,4,6,9,2,5,7,8,10,11 last_tile_dim_replicate}",
    ),
    (
        "{devices=[16,4]<=[16,1,2,2]T(0,3,2,1) last_tile_dims={replicated, unreduced}}",
        "{devices=[4,16]<=[16,2,2]T(2,1,0) last_tile_dims={unreduced, replicated}}",
    ),
    ("{  replicated  }", "{replicated}"),
    ("{devices=[2, 2] 0, 1, 2, 3}", "{devices=[2,2]0,1,2,3}"),
    (
        "{mesh['x'=1048576,'y'=1048576], device_ids=([1048576,1048576]T(0,1)), [{'x'}]}",
        "{mesh['x'=1048576,'y'=1048576], [{'x'}]}",
    ),
    ("{single_device[device_id=5]}", "{maximal_mesh[device_id=5]}"),
    ('{mesh["a"=2], [{"a"}]}', "{mesh['a'=2], [{'a'}]}"),
    ("{mesh['a'=2], [{'0'}]}", "{mesh['a'=2], [{'a'}]}"),
    ("{mesh['a'=2], [{}], unreduced=sum{'a'}}", "{mesh['a'=2], [{}], unreduced={'a'}}"),
)

INVALID = (
    ("replicated", "at character 1: expected '{', got 'replicated'"),
    ("{replicated} x", "at character 14: expected the end of the sharding, got 'x'"),
    ("{REPLICATED}", "expected one of replicated, maximal, manual"),
    (
        "{replicated manual}",
        "at character 13: expected one of replicated, maximal, manual, unknown, unreduced, devices=..., "
        "got replicated and manual",
    ),
    ("{{{replicated}}}", "at character 3: expected one of "),
    ("{maximal}", "expected one device of a maximal sharding"),
    ("{manual devices=[2]0,1}", "expected no devices in a sharding that is manual"),
    ("{shard_as 1}", "expected tiles of a tiled sharding"),
    ("{devices=[1]3}", "expected several devices; one device is 'replicated' or 'maximal device=0'"),
    ("{devices=[2]0,1,2}", "at character 13: devices: expected 2 for tiles [2], got 3"),
    ("{devices=[2]<=[4]}", "devices: expected 2 for tiles [2], got 4"),
    ("{devices=[0]<=[0]}", "tiles: expected positive sizes, got [0]"),
    ("{devices=[]0}", "at character 11: expected at least one integer"),
    ("{devices=[2,1,4]<=[8]T(1,0) last_tile_dim_replicate}", "expected an order of several dimensions"),
    ("{devices=[2,2]<=[2,2]}", "expected an order of several dimensions"),
    ("{devices=[2,2]<=[2,2]T(0,0)}", "expected an order of the dimensions of [2, 2], got [0, 0]"),
    ("{devices=[2,2]<=[2,2]T(0,2)}", "expected an order of the dimensions of [2, 2], got [0, 2]"),
    (
        "{devices=[2,2]<=[4] last_tile_dims={foo}}",
        "at character 37: expected one of manual, unreduced, replicated, got 'foo'",
    ),
    ("{devices=[2]<=[2] last_tile_dims={manual, manual}}", "last_tile_dims: expected at most 1, got 2"),
    ("{devices=[2,2]<=[4] last_tile_dim_replicate last_tile_dims={manual}}", "exclude each other"),
    ("{mesh['x'=4], [{'z'}]}", "dimension 0: unknown axis 'z': expected 'x'"),
    ("{mesh['x'=4], [{'1'}]}", "dimension 0: unknown axis '1': expected 'x'"),
    ("{mesh['x'=4], [{}], unreduced=mean{'x'}}", "expected one of sum, max, min, got 'mean'"),
    ("{mesh['x'=4], [{'x'}, {'x'}]}", 'dimension 1: "x" overlaps "x" of dimension 0'),
    ("{mesh['x'=4], [{'x':(3)2}]}", 'sub-axis "x":(3)2: expected a divisor of the size 4 of the axis'),
    ("{mesh['x'=4], [{?, 'x'}]}", "expected '?' only behind the axes"),
    ("{mesh['x'=2], device_ids=(0,0), [{'x'}]}", "device_ids: expected 0 to 1 in some order, got [0, 0]"),
    ("{mesh['x'=2,'x'=2], [{'x'}]}", "expected different names of the axes of a mesh"),
    ("{mesh['x=2], [{}]}", "expected a string, got ''x=2], [{}]}'"),
    ("{mesh['x'=4], [{'x':(2)0}]}", 'sub-axis "x":(2)0: expected a divisor of the size 4 of the axis'),
    ("{maximal device=9223372036854775808}", "the integer 9223372036854775808 has more than 64 bits"),
    ("{devices=[2]<=[2] shard_like 18446744073709551616}", "has more than 64 bits"),
    ("{devices=[2]0," + "9" * 5000 + "}", "has more than 19 digits"),
    ("{mesh['x'=4], [{'" + "9" * 5000 + "'}]}", "dimension 0: unknown axis '999"),
    ("{devices=[" + "4611686018427387904," * 300 + "2]<=[8]}", "tiles: expected at most 9223372036854775807"),
    ("{devices=[2]<=[" + "1," * 1000 + "2]T(0)}", "expected an order of the dimensions of [1, 1, "),
    (
        "{mesh['x'=4611686018427387904,'y'=4], [{'x'}]}",
        "devices of a mesh: expected at most 9223372036854775807, got more",
    ),
    (
        "{mesh['x'=1048576,'y'=1048576], device_ids=([1048576,1048576]T(1,0)), [{'x'}]}",
        "expected at most 1048576 to list them, got 1099511627776",
    ),
    ("{devices=[2", "at character 12: expected ',' or ']', got the end of the text"),
)


@pytest.mark.parametrize("text", SAME)
def test_text_that_stays(text: str) -> None:
    assert str(hlo_sharding_from_text(text)) == text


@pytest.mark.parametrize(("text", "expected"), NORMALISED)
def test_text_that_is_normalised(text: str, expected: str) -> None:
    found = hlo_sharding_from_text(text)
    assert str(found) == expected
    assert hlo_sharding_from_text(expected) == found


@pytest.mark.parametrize(("text", "message"), INVALID)
def test_invalid_text(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        hlo_sharding_from_text(text)
    assert message in str(error.value)


def test_metadata_is_kept_but_does_not_count() -> None:
    text = '{devices=[2]<=[2] metadata={op_name="a\\"b" source_line=3}}'
    found = hlo_sharding_from_text(text)
    assert found.metadata == ((("op_name", 'a"b'), ("source_line", 3)),)
    assert found.text(include_metadata=True) == text
    assert str(found) == "{devices=[2]<=[2]}"
    assert found == hlo_sharding_from_text("{devices=[2]<=[2]}")
    several = hlo_sharding_from_text('{replicated metadata={{op_name="a"}, {op_name="b"}}}')
    assert several.text(include_metadata=True) == '{replicated metadata={{op_name="a"}, {op_name="b"}}}'


def test_a_reduction_is_an_entry_of_metadata() -> None:
    text = '{unreduced metadata={{op_name="a"}, {op_type="sdy::reduction_op" op_name="MAX"}}}'
    found = hlo_sharding_from_text(text)
    assert (found.reduction, found.metadata) == ("max", ((("op_name", "a"),),))
    assert found.text(include_metadata=True) == text
    assert found != hlo_sharding_from_text("{unreduced}")
    summed = hlo_sharding_from_text(text.replace("MAX", "SUM"))
    assert summed == hlo_sharding_from_text("{unreduced}")


def test_parts() -> None:
    found = hlo_sharding_from_text("{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated} shard_as 3}")
    assert found.tiled_data_rank == 1
    assert found.subgroup_types == (HloShardingType.MANUAL, HloShardingType.REPLICATED)
    assert found.shard_group == ShardGroup(3, is_shard_as=True)
    assert found.tile_assignment_devices == tuple(range(8))
    assert found.leaves == (found,)
    assert HloSharding(HloShardingType.REPLICATED).tile_assignment_dimensions == ()
