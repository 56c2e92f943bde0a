"""One pass a file, named as on the command line; the list of passes is `shardy_py/passes/__init__.py`."""
