"""The collectives of a compiled program: what each sends, how often, where it is from, what runs meanwhile.

    collectives_of(read_module(text))

From final HLO of XLA's CPU, GPU and TPU compilers. Not here: the program that it was made of, and forecasts
(`report/compiled/`).
"""

from shardy_py.hlo.collectives.flow import Flow
from shardy_py.hlo.collectives.model import HloCollective, Overlap, SentValue, element_count, shape_bytes
from shardy_py.hlo.collectives.places import Place
from shardy_py.hlo.collectives.platform import Platform, platform_of
from shardy_py.hlo.collectives.reading import KINDS, collectives_of
from shardy_py.hlo.collectives.values import ValueSurroundings

__all__ = [
    "KINDS",
    "Flow",
    "HloCollective",
    "Overlap",
    "Place",
    "Platform",
    "SentValue",
    "ValueSurroundings",
    "collectives_of",
    "element_count",
    "platform_of",
    "shape_bytes",
]
