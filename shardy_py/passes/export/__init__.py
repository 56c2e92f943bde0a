"""The passes after propagation: reshards, collectives, and what is removed on the way to a partitioner.

Not here: Shardy's partitioner (`localize/`), which collectives a reshard becomes (`reshard/`).
"""
