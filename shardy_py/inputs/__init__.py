"""Finds out what a path that is given for a program holds, by content, and reads it as a module of StableHLO.

- `formats.py`: the table of formats
- `files.py`: the content of a file, of standard input, or of the file that a folder stands for
- `folders.py`: which file of a folder that XLA or Shardy dumped
- `programs.py`: the module of a content

Not here: the readers themselves (`mlir/text/`, `mlir/bytecode/`, `hlo/`).
"""
