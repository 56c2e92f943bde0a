"""Shardings of XLA that differ between releases of JAX."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto, hlo_sharding_to_proto
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text

SUM = b":\x18\n\x11sdy::reduction_op\x12\x03SUM"


@pytest.mark.parametrize(("release", "metadata"), [("0.10", b""), ("0.12", SUM)])
def test_sums_in_metadata(release: str, metadata: bytes) -> None:
    with releases.of(release):
        sharding = hlo_sharding_from_text("{unreduced}")
        message = hlo_sharding_to_proto(sharding)
        assert message == b"\x08\x06" + metadata
        assert hlo_sharding_from_proto(message) == sharding
        assert hlo_sharding_to_proto(hlo_sharding_from_text("{replicated}")) == b""
