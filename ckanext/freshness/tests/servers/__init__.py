"""Real loopback servers that tests, the demo and the benchmarks talk to.

None of them knows CKAN. Each runs in a thread of its own (`with FdpServer() as server: ...`).
"""
