"""The known devices."""

from __future__ import annotations

import re

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hardware import HARDWARE, LINKS, Link, hardware_of


@pytest.mark.parametrize("name", HARDWARE)
def test_devices_name_their_source(name: str) -> None:
    device = hardware_of(name)
    for source in (device.source, device.network.link.source, device.beyond.source):
        assert source.startswith("https://")
        assert re.search(r"\d", source)


def test_links_are_known_by_name() -> None:
    for device in HARDWARE.values():
        assert LINKS[device.network.link.name] == device.network.link
        assert LINKS[device.beyond.name] == device.beyond


def test_the_rate_of_products_depends_on_type_and_precision() -> None:
    tpu, gpu = hardware_of("tpu-v5p"), hardware_of("h100")
    assert tpu.flops_per_second("bf16") == tpu.flops_per_second("f32") == 459e12
    assert tpu.flops_per_second("f32", "HIGHEST") == pytest.approx(459e12 / 6)
    assert tpu.flops_per_second("i8") == 918e12
    assert gpu.flops_per_second("f32") == 494.7e12
    assert gpu.flops_per_second("f32", "HIGHEST") == gpu.flops_per_second("f64") == pytest.approx(66.9e12)
    assert gpu.flops_per_second("f8E4M3FN") == 1979e12


def test_an_unknown_device_is_an_error() -> None:
    with pytest.raises(ShardyError, match="unknown hardware 'abacus': expected one of 'tpu-v2'"):
        hardware_of("abacus")


def test_a_link_without_bandwidth_is_an_error() -> None:
    with pytest.raises(ShardyError, match="a bandwidth above 0"):
        Link(0.0, 1.0)


def test_devices_are_as_jax_counts_them() -> None:
    """https://docs.jax.dev, `ChipVersion`: two cores are one device (megacore) on v4 and v5p only."""
    cores = {name: device.network.cores for name, device in HARDWARE.items() if device.network.cores > 1}
    assert cores == {"tpu-v2": 2, "tpu-v3": 2, "tpu7x": 2, "trn2": 4}
    tpu7x = HARDWARE["tpu7x"]
    assert tpu7x.memory_bytes == 96 * 2**30
    assert tpu7x.memory_bytes_per_second == 3690e9
    assert (tpu7x.peak_flops, tpu7x.matrix_flops["f8"]) == (1153.5e12, 2307e12)
    assert tpu7x.network.devices == 2 * 9216
