"""Serialized `OpSharding` messages: bytes of jaxlib 0.10.2 (reductions are newer), and contradictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.proto import hlo_sharding_from_proto, hlo_sharding_to_proto
from shardy_py.gspmd.sharding.text import hlo_sharding_from_text
from shardy_py.gspmd.sharding.wire import decode, encode, packed, unpack

MESSAGES = (
    ("{replicated}", ""),
    ("{manual}", "0804"),
    ("{maximal device=3}", "0801220103"),
    ("{devices=[2,1,4]<=[2,2,2]T(1,0,2) last_tile_dim_replicate}", "08031a0302010430014a030202025203010002"),
    ("{devices=[2,2]1,0,2,3}", "08031a020202220401000203"),
    ("{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced}}", "08031a03020202420204064a0108520100"),
    ("{{replicated}, {maximal device=1}}", "08022a002a050801220101"),
    ("{devices=[2]<=[2] shard_like 12}", "08031a01024a01025201005801600c6801"),
    ("{maximal device=-1}", "0801220affffffffffffffffff01"),
    ("{mesh['a'=2,'b'=4], [{'a'}, {}]}", "721a120e0a050a016110020a050a016210041a040a0010011a021001"),
    (
        "{mesh['x'=4,'y'=2], [{'x':(1)2}, {'y', ?}], replicated={'x':(2)2}}",
        "722a120e0a050a017810040a050a017910021a0a0a0612040801100210011a040a0208012206120408021002",
    ),
    (
        "{mesh['x'=2,'y'=2], device_ids=(3,1,2,0), [{'x'}]}",
        "721c12140a050a017810020a050a017910021204030102001a040a001001",
    ),
    (
        "{mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)), [{'x'}]}",
        "722012180a050a017810020a050a017910021a080a020202120201001a040a001001",
    ),
    ("{maximal_mesh[device_id=3]}", "72051203120103"),
    ("{mesh['x'=2], [{}], unreduced=max{'x'}}", "721112070a050a017810021a0210012a004001"),
)

REFUSED = (
    ("0803", "names no devices"),
    ("08031a010322020001", "tiles [3] have 2 devices; expected 3"),
    ("08031a01024a0104520100", "tiles [2] have 4 devices; expected 2"),
    ("08031a01024a01025200", "expected an order of its dimensions"),
    ("08031a0202022204000102033001420104", "exclude each other"),
    ("0801", "a maximal sharding has one device, got 0"),
    ("0807", "its type is 7"),
    ("08022a003a031201783a00", "a tuple of shardings has no metadata"),
    ("08031a020202220400010203420105", "last_tile_dims are [5]"),
    ("ff", "malformed at byte 1"),
    ("0a05", "malformed at byte 2"),
    ("721112070a050a017810021a060a0208051001", "uses axis 5 of a mesh of 1 axes"),
    ("720b12070a050a017810024007", "has reduction 7; expected 0 to 2"),
)


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_messages_of_xla(text: str, message: str) -> None:
    sharding = hlo_sharding_from_text(text)
    assert hlo_sharding_to_proto(sharding).hex() == message
    assert hlo_sharding_from_proto(bytes.fromhex(message)) == sharding


@pytest.mark.parametrize(("message", "error"), REFUSED)
def test_messages_that_are_refused(message: str, error: str) -> None:
    with pytest.raises(ShardyError) as found:
        hlo_sharding_from_proto(bytes.fromhex(message))
    assert error in str(found.value)


def test_metadata() -> None:
    sharding = hlo_sharding_from_text('{replicated metadata={op_name="x" source_line=3}}')
    message = hlo_sharding_to_proto(sharding)
    assert message.hex() == "3a051201782003"
    assert hlo_sharding_from_proto(message).metadata == sharding.metadata


def test_one_device_is_replicated() -> None:
    assert str(hlo_sharding_from_proto(bytes.fromhex("08031a0102220100"))) == "{replicated}"


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_varints(values: list[int]) -> None:
    assert unpack(packed(values)) == tuple(values)


@given(st.binary(max_size=24))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        sharding = hlo_sharding_from_proto(data)
    except ShardyError:
        return
    assert hlo_sharding_from_proto(hlo_sharding_to_proto(sharding)) == sharding


@given(st.lists(st.tuples(st.integers(1, 100), st.one_of(st.integers(0, 1 << 40), st.binary()))))
def test_fields(fields: list[tuple[int, int | bytes]]) -> None:
    assert decode(encode(fields)) == tuple(fields)
