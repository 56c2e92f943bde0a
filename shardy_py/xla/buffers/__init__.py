"""The buffers that XLA assigns: fusion, schedules, liveness, packing, the programs of hosts.

Not here: the report on them (`report/memory/`).
"""
