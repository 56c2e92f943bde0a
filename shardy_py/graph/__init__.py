"""From IR to plain data: data-flow edges, places of shardings, op records, the flat program.

The only folder between xDSL and the mathematics: the results know ops by number and values by slot. Walks
are in `shardy_py/ir/`.
"""
