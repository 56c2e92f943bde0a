"""The language server for MLIR: linter, propagation and explanations while a program is edited.

- `names.py`: definitions and uses of values and symbols, found in text alone, also if it is half typed
- `places.py`: lines and columns of the protocol
- `analysis.py`: what is wrong with a text, and the facts about its values after propagation
- `facts.py`: hovers and inlay hints; `edits.py`: remedies as changes of the text
- `documents.py`: the open documents; `server.py`: the protocol, with pygls

Not here: the rules of the linter (`check/`), the command (`cli/lsp.py`).
"""
