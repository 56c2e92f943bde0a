"""GPUs as their compiler wants them described, without one at hand.

    gpu_description("h100")

The figures are those of openxla/xla, xla/backends/gpu/target_config/specs. Not here: what reports count with
(`hardware/table.py`).

>>> gpu_description("h200").count("rate_infos") > 0, gpu_description("mi300x")
(True, '')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class UnitRate:
    """Operations of one unit of a core in a clock cycle, for element types by their number in XLA."""

    types: tuple[int, ...]
    clock_ghz: float
    units: int
    operations: int


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A GPU: cores, memory, clock, and the rates of its units.

    capability: the major number of CUDA's. shared_bytes: of a core, and those that a block may ask for.
    """

    name: str
    capability: int
    cores: int
    lanes: int
    shared_bytes: tuple[int, int]
    bytes_per_second: int
    cache_bytes: int
    clock_ghz: float
    memory_bytes: int
    scalar: tuple[UnitRate, ...] = ()
    matrix: tuple[UnitRate, ...] = ()


_NARROW: Final = (2, 6, 19, 20, 23, 24, 25, 28, 29, 33, 35, 36)
"""Element types of 8 bits and less."""


def _scalar(clock: float, products: int) -> tuple[UnitRate, ...]:
    return (
        UnitRate((4, 8), clock, 64, 1),
        UnitRate((10, 16), clock, 128, products),
        UnitRate((11,), clock, 128, 1),
        UnitRate((12,), clock, 64, 1),
    )


def _matrix(clock: float, operations: int, double: UnitRate) -> tuple[UnitRate, ...]:
    """Rates of products; operations: in types of 16 bits."""
    rates = (_NARROW, 2 * operations), ((10, 16), operations), ((11,), operations // 2)
    return (*(UnitRate(types, clock, 4, each) for types, each in rates), double)


_HOPPER_RATES = _scalar(1.98, 2), _matrix(1.8295201, 512, UnitRate((12,), 1.98, 4, 32))
_SHARED = 233_472, 232_448
_HOPPER_CACHE, _AMPERE_CACHE = 52_428_800, 41_943_040
GPUS: Mapping[str, GpuTarget] = {
    "h100": GpuTarget(
        *("NVIDIA H100 80GB HBM3", 9, 132, 128, _SHARED, 3_352_320_000_000, _HOPPER_CACHE),
        *(1.98, 84_942_979_072, *_HOPPER_RATES),
    ),
    "h200": GpuTarget(
        *("NVIDIA H200 141GB HBM3e", 9, 132, 128, _SHARED, 4_800_000_000_000, _HOPPER_CACHE),
        *(1.98, 151_397_597_184, *_HOPPER_RATES),
    ),
    "b200": GpuTarget(
        *("NVIDIA B200", 10, 148, 128, _SHARED, 7_672_320_000_000, 132_644_864, 1.965, 191_514_411_008),
        _scalar(1.965, 1),
        (
            *_matrix(1.8353101, 1024, UnitRate((12,), 1.965, 4, 16)),
            UnitRate((32,), 1.8353101, 4, 4096),
        ),
    ),
    "a100-80gb": GpuTarget(
        *("NVIDIA A100-SXM4-80GB", 8, 108, 64, (167_936, 166_912), 2_039_040_000_000, _AMPERE_CACHE),
        *(1.41, 85_100_068_864),
    ),
}
"""By the names of reports."""
_DESCRIPTION = """gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: {shared} shared_memory_per_block_optin: {most}
  core_count: {cores} fpus_per_core: {lanes} registers_per_core_limit: 65536 registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  memory_bandwidth: {bandwidth} l2_cache_size: {cache} clock_rate_ghz: {clock} device_memory_size: {memory}
  cuda_compute_capability {{ major: {capability} feature_extension: {features} }}
{units}  device_vendor: "NVIDIA Corporation" device_address_bits: 64 name: "{name}"
  runtime_version: "12.8.0" driver_version: "13.0.0" compile_time_toolkit_version: "12.8.0"
  device_interconnect_info {{ active_links: 18 }}
}}
platform_name: "CUDA" dnn_version_info {{ major: 9 minor: 10 }} device_description_str: "{name}"
"""
_HOPPER = 9


def gpu_description(name: str) -> str:
    """Returns the description of a GPU, as text of XLA's `GpuTargetConfigProto`; "" if none is known here."""
    gpu = GPUS.get(name)
    if gpu is None:
        return ""
    return _DESCRIPTION.format(
        shared=gpu.shared_bytes[0],
        most=gpu.shared_bytes[1],
        cores=gpu.cores,
        lanes=gpu.lanes,
        bandwidth=gpu.bytes_per_second,
        cache=gpu.cache_bytes,
        clock=gpu.clock_ghz,
        memory=gpu.memory_bytes,
        capability=gpu.capability,
        features="ACCELERATED_FEATURES" if gpu.capability >= _HOPPER else "NONE",
        units=_units("scalar", gpu.scalar) + _units("matrix", gpu.matrix),
        name=gpu.name,
    )


def _units(kind: str, rates: Iterable[UnitRate]) -> str:
    rows = [
        f"rate_infos {{ key: {type_} value {{ clock_rate_ghz: {rate.clock_ghz} units_per_core: {rate.units} "
        f"ops_per_clock: {rate.operations} }} }}"
        for rate in rates
        for type_ in rate.types
    ]
    return f"  {kind}_unit_description {{ {' '.join(rows)} }}\n" if rows else ""
