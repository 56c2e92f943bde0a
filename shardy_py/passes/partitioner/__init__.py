"""The passes that make the program each device runs; docs/design/partitioner.md describes their division.

Not here: inserting reshards and making collectives of them (`passes/reshard_insertion.py`,
`passes/reshards.py`), plans over shapes and shardings (`partition/`).
"""
