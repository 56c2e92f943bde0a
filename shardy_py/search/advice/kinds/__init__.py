"""The kinds of proposals, a function each: from a question to the edits to try, most promising first.

Not here: their table and order (`shardy_py.search.advice.proposals`).
"""
