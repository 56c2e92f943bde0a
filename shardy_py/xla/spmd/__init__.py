"""The plan of XLA's SPMD partitioner: its choices and collectives, made from shapes and tilings alone.

Plain values only; no IR. The design is described in docs/design/spmd.md. The collectives of Shardy's own
sequence of reshards are in `reshard/`.
"""
