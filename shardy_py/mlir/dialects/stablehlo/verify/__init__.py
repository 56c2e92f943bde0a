"""The rules of StableHLO's verifiers: by family of ops, on types and attributes as `view.py` reads them.

Messages are C++'s. Rows refer to rules (`stablehlo/rows/`); `checks.py` runs them.
"""
