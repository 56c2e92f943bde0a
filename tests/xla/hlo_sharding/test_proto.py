"""Serialized `OpSharding` messages: bytes of jaxlib 0.10.2 (reductions are newer), and contradictions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.packed import unpacked
from shardy_py.xla.hlo_sharding.proto import (
    decode,
    encode,
    hlo_sharding_from_proto,
    hlo_sharding_to_proto,
    packed,
)
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text

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

INVALID = (
    ("0803", "devices of a tiled sharding: expected a list or an iota, got neither"),
    ("08031a010322020001", "devices: expected 3 for tiles [3], got 2"),
    ("08031a01024a0104520100", "devices: expected 2 for tiles [2], got 4"),
    ("08031a01024a01025200", "expected an order of the dimensions of [2], got []"),
    ("08031a0202022204000102033001420104", "exclude each other"),
    ("0801", "maximal sharding: expected one device, got 0"),
    ("0807", "type: expected 0 to 6, got 7"),
    ("08022a003a031201783a00", "a tuple of shardings has no metadata"),
    ("08031a020202220400010203420105", "last_tile_dims: expected MANUAL (4), UNREDUCED (6), REPLICATED (0)"),
    ("ff", "malformed at byte 1"),
    ("0a05", "malformed at byte 2"),
    ("721112070a050a017810021a060a0208051001", "mesh_axis_index: expected an index below 1, got 5"),
    ("720b12070a050a017810024007", "reduction_op: expected 0 to 2, got 7"),
)


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_messages_of_xla(text: str, message: str) -> None:
    sharding = hlo_sharding_from_text(text)
    with releases.of("0.10"):  # `test_releases.py` has what later ones add
        assert hlo_sharding_to_proto(sharding).hex() == message
    assert hlo_sharding_from_proto(bytes.fromhex(message)) == sharding


@pytest.mark.parametrize(("message", "error"), INVALID)
def test_invalid_messages(message: str, error: str) -> None:
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
    assert unpacked(packed(values)) == [*values]


@given(st.binary(max_size=24))
def test_any_bytes_are_decoded_or_an_error(data: bytes) -> None:
    try:
        sharding = hlo_sharding_from_proto(data)
    except ShardyError:
        return
    assert hlo_sharding_from_proto(hlo_sharding_to_proto(sharding)) == sharding


@given(st.dictionaries(st.integers(1, 100), st.one_of(st.integers(1, 1 << 40), st.binary())))
def test_fields(fields: dict[int, int | bytes]) -> None:
    assert decode(encode(fields.items())).fields == tuple(sorted(fields.items()))


@pytest.mark.parametrize("name", ["\udcff", "a\ud800"])
def test_strings_that_are_not_utf8_are_written_as_bytes_and_refused(name: str) -> None:
    data = hlo_sharding_to_proto(hlo_sharding_from_text(f"{{mesh['{name}'=2], [{{'{name}'}}]}}"))
    with pytest.raises(ShardyError, match="a string is not UTF-8"):
        hlo_sharding_from_proto(data)
