"""Dumps of XLA and GSPMD: their shardings, and their encodings of sdy.

`sharding/` holds XLA's `HloSharding` as plain values and knows no xDSL. The modules here read and build the
custom calls and frontend attributes in which HLO carries shardings; `passes/` converts whole modules. Source:
openxla/xla, xla/service/spmd/shardy.
"""
