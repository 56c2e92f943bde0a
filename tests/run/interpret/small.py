"""Programs of the corpus with small shapes.

    text = with_sizes(corpus_text("moe"), SIZES["moe"])

Sizes are exchanged wherever the text has them: in types, limits of slices, sizes of slices, constants that
clamp indices. The verifiers of the ops hold that the shapes still fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_TRANSFORMER: Final = {32000: 48, 31999: 47, 4096: 64, 1024: 32, 64: 2, 512: 24, 511: 23, 32: 4}
_SIZE = re.compile(r"(?<![\w.%#@-])\d{2,}(?![\w.])")
_TYPE = re.compile(r"(?<=tensor<)(\d+x)+")

SIZES: Final[Mapping[str, Mapping[int, int]]] = {
    "convnet_train": {
        224: 32,
        112: 16,
        56: 8,
        28: 4,
        14: 2,
        113: 17,
        128: 16,
        256: 32,
        64: 8,
        1000: 20,
        999: 19,
    },
    "custom_rules": {1024: 32, 256: 24, 64: 8, 16: 4},
    "decode_kv_cache": {32000: 40, 31999: 39, 2048: 32, 512: 16, 128: 4, 256: 20, 255: 19, 64: 2},
    "embedding_scatter": {
        1000000: 100,
        999999: 99,
        65536: 80,
        65535: 79,
        4096: 64,
        4095: 63,
        1024: 48,
        1023: 47,
        128: 8,
        50: 5,
        64: 12,
    },
    "dropout_rng": {512: 48, 1024: 80, 32000: 100, 256: 24},
    "moe": {2048: 64, 2047: 63, 1024: 32, 512: 8, 160: 10, 16: 4},
    "priorities": {4096: 64, 1024: 32, 256: 8, 64: 2},
    "scan_transformer": {8192: 48, 8191: 47, 2048: 64, 512: 24, 511: 23, 64: 3},
    "transformer_forward": _TRANSFORMER,
    "transformer_train": _TRANSFORMER,
    "transformer_train_12": _TRANSFORMER,
    "transformer_train_48": _TRANSFORMER,
}
"""Of programs that take long: size -> small size. Products stay products; other programs keep their sizes."""


def with_sizes(text: str, sizes: Mapping[int, int]) -> str:
    """Returns a program with other sizes: numbers that are not given stay."""
    table = {str(old): str(new) for old, new in sizes.items()}

    def in_type(match: re.Match[str]) -> str:
        return "".join(f"{table.get(size, size)}x" for size in match[0].split("x")[:-1])

    return _SIZE.sub(lambda match: table.get(match[0], match[0]), _TYPE.sub(in_type, text))
