"""What a sharded program needs before it can be cut into local programs: even borders, reshards, reductions.

Plain values only: rules, shardings and meshes in, decisions out. The passes carry them out on the IR.
"""
