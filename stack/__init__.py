"""A whole CKAN for the demo, the tests and the benchmarks, from wheels and jars alone.

Only the standard library is used here: these modules run before anything is installed.
"""
