"""Programs and shardings of other frameworks, to and from ours; each imports its framework when used."""
