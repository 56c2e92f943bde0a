"""HLO modules as programs of StableHLO: what XLA does when it reads HLO back.

    module = stablehlo_module(read_module(text))

Not here: the text (`hlo/text/`), shardings of sdy (`xla/gspmd/`).
"""

from shardy_py.hlo.to_stablehlo.module import stablehlo_module

__all__ = ["stablehlo_module"]
