"""The passes that prepare the user's program for propagation, in the order of `sdy-import-pipeline`.

Functions, constants, constraints, edges of data flow, named computations, meshes. Not here: which passes run
(`passes/pipelines.py`), XLA's steps before them (`xla/prepare/`).
"""
