"""The passes that make the program each device runs; docs/design/partitioner.md describes their division.

Not here: inserting reshards and making collectives of them (`passes/export/reshard_insertion.py`,
`passes/export/reshards.py`), plans over shapes and shardings (`reshard/`).
"""
