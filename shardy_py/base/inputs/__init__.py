"""Finds out what a path that is given for a program holds, by content.

- `formats.py`: the table of formats
- `files.py`: the content of a file, of standard input, or of the file that a folder stands for
- `folders.py`: which file of a folder that XLA or Shardy dumped
- `listing.py`: the files that the names of a command line stand for

Not here: programs of a content (`mlir/programs.py`), their readers (`mlir/text/`, `mlir/bytecode/`,
`xla/hlo_programs.py`, `frontends/torch/archives.py`).
"""
