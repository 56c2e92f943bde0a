"""The arithmetic of local ops: windows, halos, masks, random bits, terms of sums.

Plain values only: shapes and shardings in, sizes and offsets out. The ops that are built from them:
`localize/`.
"""
