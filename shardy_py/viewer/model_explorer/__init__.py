"""The extension of Model Explorer (https://github.com/google-ai-edge/model-explorer) for sharded programs.

    model-explorer program.mlir --extensions=shardy_py.viewer.model_explorer
    python -m shardy_py.viewer.model_explorer program.mlir

Model Explorer loads `main.py`, with the adapters and the node data of programs. It needs the package
`ai-edge-model-explorer`: `pip install 'shardy-py[explorer]'`. Not here: graphs and node data
(`viewer/model_graph/`), the same in Python without that package (`Result.model_explorer`).
"""
