"""Shared by every room: errors, files, memo tables, releases of the reference, text for terminals.

Nothing here knows tensors, shardings or MLIR. Errors: `errors.py`; what changed between releases of Shardy
and XLA: `releases.py`; memo tables: `session.py`; reading and writing files: `files.py`.
Not here: readers of text that know a grammar (`mlir/text/`, `hlo/text/`).
"""
