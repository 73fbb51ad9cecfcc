"""The servers of registries and their files, to which tests, demo and benchmarks connect."""
