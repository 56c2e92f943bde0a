"""The enums of HLO's messages: element types, and the words of others, by number.

Source: xla/xla_data.proto and xla/service/hlo.proto. Not here: the fields of messages (`schema.py`).

>>> PRIMITIVE_TYPES[11], ENUMS["fft_type"][2]
('f32', 'RFFT')
"""

from __future__ import annotations

PRIMITIVE_TYPES = {
    1: "pred",
    30: "s1",
    26: "s2",
    21: "s4",
    2: "s8",
    3: "s16",
    4: "s32",
    5: "s64",
    31: "u1",
    27: "u2",
    22: "u4",
    6: "u8",
    7: "u16",
    8: "u32",
    9: "u64",
    10: "f16",
    11: "f32",
    16: "bf16",
    12: "f64",
    19: "f8e5m2",
    28: "f8e4m3",
    20: "f8e4m3fn",
    23: "f8e4m3b11fnuz",
    29: "f8e3m4",
    24: "f8e5m2fnuz",
    25: "f8e4m3fnuz",
    32: "f4e2m1fn",
    33: "f8e8m0fnu",
    15: "c64",
    18: "c128",
    13: "tuple",
    14: "opaque",
    17: "token",
    34: "buffer",
}
"""The names of element types by number."""
ENUMS: dict[str, tuple[str, ...]] = {
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "distribution": ("", "rng_uniform", "rng_normal"),
    "rng_algorithm": ("rng_default", "rng_three_fry", "rng_philox"),
    "transpose_a": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    "operand_precision": ("default", "high", "highest"),
    "algorithm": (
        *("dot_unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16"),
        *("dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3"),
        *("dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32"),
        *("dot_f64_f64_f64", "dot_bf16_bf16_f32_x9", "dot_bf16_bf16_fp8x3", "dot_bf16_bf16_fp8x4"),
    ),
    "custom_call_api_version": (
        *("API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING"),
        *("API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"),
    ),
}
"""The words of enums by number."""
