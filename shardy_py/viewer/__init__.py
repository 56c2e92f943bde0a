"""A program as pages: one HTML file (`explorer/`), graphs of Model Explorer (`model_graph/`).

Not here: the reports that pages show (`report/`).
"""
