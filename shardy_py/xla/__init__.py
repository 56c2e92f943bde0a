"""A model of XLA: before propagation (`prepare/`), in its partitioner (`spmd/`), in memory (`buffers/`).

`hlo_sharding/` and `gspmd/` are its shardings and the encodings of sdy in its dumps. Not here: HLO text and
layouts (`hlo/`), Shardy's own partitioner (`localize/`).
"""
