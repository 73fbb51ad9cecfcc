"""Real loopback servers that tests, the demo and the benchmarks talk to.

None of them knows CKAN. Each runs in a thread of its own (`with FdpServer() as server: ...`) or as
a process (`python -m ckanext.freshness.tests.servers.fdp --demo`).
"""
