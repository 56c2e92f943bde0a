"""The known devices and links. Each figure is that of its page, dense, without sparsity.

>>> HARDWARE["tpu-v5p"].memory_bytes // 2**30, HARDWARE["tpu-v5p"].peak_flops / 1e12
(95, 459.0)
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.hardware.model import Hardware, Link, NamedLink, Network, WindowCosts

_CLOUD, _OLD_CLOUD = "https://docs.cloud.google.com/tpu/docs", "https://cloud.google.com/tpu/docs"
_NVIDIA, _AMD = "https://www.nvidia.com/en-us/data-center", "https://www.amd.com/en/products/accelerators"
_MELLANOX = "https://docs.nvidia.com/networking/display"
_TRAINIUM = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware"
_BOOK = "https://jax-ml.github.io/scaling-book/tpus"
_HOP = "1 us a hop is assumed"


def _link(name: str, bytes_per_second: float, latency_seconds: float, source: str) -> NamedLink:
    return NamedLink(name, Link(bytes_per_second, latency_seconds), source)


LINKS: Mapping[str, NamedLink] = {
    link.name: link
    for link in (
        _link("tpu-v5p", 200e9, 1e-6, f"{_CLOUD}/v5p: 1200 GB/s both ways over 6 links, 2 an axis; {_HOP}"),
        _link("tpu-v5e", 100e9, 1e-6, f"{_CLOUD}/v5e: 400 GB/s both ways over 4 links, 2 an axis; {_HOP}"),
        _link(
            "tpu-v3",
            70e9,
            1e-6,
            f"{_OLD_CLOUD}/v3: 560 GB/s both ways over 4 links, 2 an axis, for 2 cores; {_HOP}",
        ),
        _link("tpu-v4", 100e9, 1e-6, f"{_CLOUD}/v4: 2400 Gb/s one way over 6 links, 2 an axis; {_HOP}"),
        _link("tpu-v6e", 200e9, 1e-6, f"{_CLOUD}/v6e: 800 GB/s both ways over 4 links, 2 an axis; {_HOP}"),
        _link(
            "tpu7x",
            100e9,
            1e-6,
            f"{_CLOUD}/tpu7x: 1200 GB/s both ways over 6 links, 2 an axis, for 2 chiplets; {_HOP}",
        ),
        _link(
            "tpu7x-d2d",
            600e9,
            1e-6,
            f"{_CLOUD}/tpu7x: between the chiplets, 6 times a link of an axis (200 GB/s both ways); {_HOP}",
        ),
        _link(
            "tpu-dcn",
            6.25e9,
            10e-6,
            f"{_CLOUD}/v5p: 50 Gb/s a chip between slices; a latency of 10 us is assumed",
        ),
        _link(
            "tpu-v5e-dcn",
            3.125e9,
            10e-6,
            f"{_CLOUD}/v5e: 6.4 Tb/s for 256 chips; a latency of 10 us is assumed",
        ),
        _link(
            "tpu-v6e-dcn",
            12.5e9,
            10e-6,
            f"{_CLOUD}/v6e: 25.6 Tb/s for 256 chips; a latency of 10 us is assumed",
        ),
        _link(
            "tpu7x-dcn",
            6.25e9,
            10e-6,
            f"{_CLOUD}/tpu7x: 100 Gb/s a chip, for 2 chiplets; a latency of 10 us is assumed",
        ),
        _link("a100-nvlink", 300e9, 2e-6, f"{_NVIDIA}/a100: 600 GB/s both ways; 2 us are assumed"),
        _link("h100-nvlink", 450e9, 2e-6, f"{_NVIDIA}/h100: 900 GB/s both ways; 2 us are assumed"),
        _link("b200-nvlink", 900e9, 2e-6, f"{_NVIDIA}/dgx-b200: 14.4 TB/s for 8 GPUs; 2 us are assumed"),
        _link("infiniband-hdr", 25e9, 5e-6, f"{_MELLANOX}/ConnectX6VPI: HDR, 200 Gb/s; 5 us are assumed"),
        _link("infiniband-ndr", 50e9, 5e-6, f"{_MELLANOX}/ConnectX7VPI: NDR, 400 Gb/s; 5 us are assumed"),
        _link(
            "mi300x-fabric",
            448e9,
            2e-6,
            f"{_AMD}/instinct/mi300/mi300x.html: 7 links of 128 GB/s both ways; 2 us are assumed",
        ),
        _link(
            "neuronlink-v3",
            80e9,
            2e-6,
            f"{_TRAINIUM}/trainium2.html: 1.28 TB/s both ways over a torus of 2 axes, for 4 logical cores; "
            "2 us are assumed",
        ),
        _link(
            "trn2-efa",
            6.25e9,
            10e-6,
            "https://aws.amazon.com/ec2/instance-types/trn2: 3.2 Tb/s, 64 logical cores; 10 us are assumed",
        ),
        _link(
            "cpu-memory",
            10e9,
            1e-6,
            "https://jax.readthedocs.io: devices of one host copy in memory; 10 GB/s and 1 us are assumed",
        ),
    )
}
"""Links between devices by name. Those of a torus are both links of an axis: the bytes that it receives."""


def _torus(
    link: str, dimensions: int, devices: int, ring: int, *, cores: int = 1, between: str = ""
) -> Network:
    """`cores`: devices a chip; `between`: the link between them, by default as fast as one of the torus."""
    core_link = LINKS[between] if between else None
    return Network("torus", devices, LINKS[link], dimensions, ring, cores, core_link)


def _switch(link: str, devices: int) -> Network:
    return Network("switch", devices, LINKS[link])


def _rates(bf16: float, **others: float) -> Mapping[str, float]:
    """By element type; those that are not listed run at the rate of `other`, by default that of bf16."""
    return {"": others.pop("other", bf16), "bf16": bf16} | others


def _windows(
    gigabytes_per_second: float,
    read_nanoseconds: float,
    write_nanoseconds: float,
    step_nanoseconds: float,
    lanes: int,
    cores: int = 1,
) -> WindowCosts:
    read, write, step = (each * 1e-9 for each in (read_nanoseconds, write_nanoseconds, step_nanoseconds))
    return WindowCosts(gigabytes_per_second * 1e9, read, write, step, lanes, cores)


_VPU = "vector units: 8 x 128 lanes x 4 ALUs a core"


def _device(
    name: str,
    gibibytes: int,
    gigabytes_per_second: float,
    rates: Mapping[str, float],
    vector_teraflops: float,
    network: Network,
    beyond: str,
    source: str,
    compiler: str = "",
    cores: int = 0,
    loop_rows: int = 0,
    scoped_mebibytes: int = 0,
    windows: WindowCosts | None = None,
) -> Hardware:
    return Hardware(
        name,
        gibibytes * 2**30,
        gigabytes_per_second * 1e9,
        {kind: rate * 1e12 for kind, rate in rates.items()},
        vector_teraflops * 1e12,
        "tpu" if name.startswith("tpu") else "linear",
        network,
        LINKS[beyond],
        source,
        "tpu" if name.startswith("tpu") else compiler,
        cores,
        loop_rows,
        scoped_mebibytes * 2**20,
        windows,
    )


_A100 = _rates(312, tf32=156, f32=19.5, f64=19.5, i8=624, other=19.5)
_H100 = _rates(989.5, tf32=494.7, f32=66.9, f64=66.9, f8=1979, i8=1979, other=66.9)
_B200 = _rates(2250, tf32=1125, f32=75, f64=37, f8=4500, i8=4500, other=75)
_MI300X = _rates(1307.4, tf32=653.7, f32=163.4, f64=163.4, f8=2614.9, i8=2614.9, other=163.4)
_TRN2 = _rates(166.75, f32=45.25, f8=324.75, other=45.25)

HARDWARE: Mapping[str, Hardware] = {
    each.name: each
    for each in (
        _device(
            *("tpu-v2", 8, 350, _rates(23), 2.9, _torus("tpu-v3", 2, 512, 16, cores=2), "tpu-dcn"),
            f"{_OLD_CLOUD}/v2: 16 GiB, 700 GB/s and 46 TFLOPS a chip of two cores; links as of v3; {_VPU}",
        ),
        _device(
            *("tpu-v3", 16, 450, _rates(61.5), 3.8, _torus("tpu-v3", 2, 2048, 32, cores=2), "tpu-dcn"),
            f"{_OLD_CLOUD}/v3: 32 GiB, 900 GB/s and 123 TFLOPS a chip of two cores; {_VPU}",
        ),
        _device(
            *("tpu-v4", 32, 1228, _rates(275, i8=275), 8.6, _torus("tpu-v4", 3, 4096, 4), "tpu-dcn"),
            f"{_CLOUD}/v4: 32 GiB, 1228 GB/s, 275 TFLOPS; {_VPU} of 2 at 1.05 GHz; {_BOOK}: rings of 4k",
        ),
        _device(
            *("tpu-v5e", 16, 819, _rates(197, i8=394), 6.1, _torus("tpu-v5e", 2, 256, 16), "tpu-v5e-dcn"),
            f"{_CLOUD}/v5e: 16 GiB, 819 GB/s, 197 TFLOPS; {_VPU} at 1.5 GHz; {_BOOK}: rings of 16 chips",
            loop_rows=4222,
            scoped_mebibytes=16,
            windows=_windows(737.7, 1200, 1200, 170.7, 128),
        ),
        _device(
            *("tpu-v5p", 95, 2765, _rates(459, i8=918), 14.3, _torus("tpu-v5p", 3, 8960, 4), "tpu-dcn"),
            f"{_CLOUD}/v5p: 95 GiB, 2765 GB/s, 459 TFLOPS; {_VPU} of 2 at 1.75 GHz; {_BOOK}: rings of 4k",
            loop_rows=4222,
            scoped_mebibytes=16,
            windows=_windows(2351.6, 1200, 1200, 146.3, 128, cores=2),
        ),
        _device(
            *("tpu-v6e", 32, 1640, _rates(918, i8=1836), 7.7, _torus("tpu-v6e", 2, 256, 16), "tpu-v6e-dcn"),
            f"{_CLOUD}/v6e: 32 GiB, 1640 GB/s, 918 TFLOPS; {_VPU}, a rate of 1.9 GHz is assumed",
            loop_rows=9836,
            scoped_mebibytes=32,
            windows=_windows(1638.4, 685.7, 1200, 585.1, 256),
        ),
        _device(
            *("tpu7x", 96, 3690, _rates(1153.5, f8=2307, i8=2307), 14.3),
            *(_torus("tpu7x", 3, 18432, 4, cores=2, between="tpu7x-d2d"), "tpu7x-dcn"),
            f"{_CLOUD}/tpu7x: 192 GiB, 7380 GB/s, 2307 TFLOPS (4614 in fp8) a chip of two chiplets, each a "
            "device; vector units as of v5p are assumed",
        ),
        _device(
            *("a100-40gb", 40, 1555, _A100, 19.5, _switch("a100-nvlink", 8), "infiniband-hdr"),
            f"{_NVIDIA}/a100: 40 GB, 1555 GB/s, 312 TFLOPS; f32 19.5 TFLOPS; 8 GPUs of a DGX",
            compiler="gpu",
            cores=108,
        ),
        _device(
            *("a100-80gb", 80, 2039, _A100, 19.5, _switch("a100-nvlink", 8), "infiniband-hdr"),
            f"{_NVIDIA}/a100: 80 GB, 2039 GB/s, 312 TFLOPS; f32 19.5 TFLOPS; 8 GPUs of a DGX",
            compiler="gpu",
            cores=108,
        ),
        _device(
            *("h100", 80, 3350, _H100, 66.9, _switch("h100-nvlink", 8), "infiniband-ndr"),
            f"{_NVIDIA}/h100: SXM, 80 GB, 3.35 TB/s, 989 TFLOPS dense; f32 67 TFLOPS; 8 GPUs of a DGX",
            compiler="gpu",
            cores=132,
        ),
        _device(
            *("h200", 141, 4800, _H100, 66.9, _switch("h100-nvlink", 8), "infiniband-ndr"),
            f"{_NVIDIA}/h200: SXM, 141 GB, 4.8 TB/s, 989 TFLOPS dense; f32 67 TFLOPS; 8 GPUs of a DGX",
            compiler="gpu",
            cores=132,
        ),
        _device(
            *("b200", 180, 8000, _B200, 75, _switch("b200-nvlink", 8), "infiniband-ndr"),
            f"{_NVIDIA}/dgx-b200: 1440 GB, 64 TB/s, 72 PFLOPS of fp8 with sparsity for 8 GPUs; f32 75 TFLOPS",
            compiler="gpu",
            cores=148,
        ),
        _device(
            *("mi300x", 192, 5300, _MI300X, 163.4, _switch("mi300x-fabric", 8), "infiniband-ndr"),
            f"{_AMD}/instinct/mi300/mi300x.html: 192 GB, 5.3 TB/s, 1307.4 TFLOPS; f32 163.4 TFLOPS; 8 GPUs",
            compiler="gpu",
            cores=304,
        ),
        _device(
            *("trn2", 24, 725, _TRN2, 2.5, _torus("neuronlink-v3", 2, 64, 4, cores=4), "trn2-efa"),
            f"{_TRAINIUM}/trainium2.html: 96 GiB, 2.9 TB/s, 667 TFLOPS a chip of four logical cores (two of "
            "its eight cores each, the default); 2.5 TFLOPS of other ops are assumed",
        ),
        _device(
            *("cpu", 4, 20, _rates(0.1), 0.02, _switch("cpu-memory", 1024), "cpu-memory"),
            "https://jax.readthedocs.io: a core of a host as one device; 20 GB/s, 100 GFLOPS of products and "
            "20 GFLOPS of other ops are assumed",
            compiler="cpu",
        ),
    )
}
"""Devices by name."""
