"""Partitioning decisions: even boundaries, reshards, collectives, reductions, and their costs.

Plain values only: rules, shardings and meshes in, decisions out; the passes apply them to the IR. The design
is described in docs/design/reshards.md.
"""
