"""The search for better shardings: candidates, their scores, advice and suggestions.

`study/` scores one program under many annotations, `advice/` tries changes where a program communicates,
`assignment/` solves one strategy for each node of a graph, `suggest/` searches whole plans. Not here: the
costs themselves (`xla/`, `hardware/`).
"""
