"""HDX's retrieval alone, run by the Python of its own environment: standard library and hdx only.

Reads ``{"resources": [[url, id, format], ...], "hashes": {id: hash}}`` from standard input, requests a
hundred of them to warm up, then handles all like ``DataFreshness.check_urls`` of hdx-data-freshness 2.0.0,
with the database replaced by ``hashes``, and writes its CPU time and its results.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from urllib.parse import urlparse


def main() -> None:
    """Do one run."""
    from hdx.freshness.utils.retrieval import Retrieval
    from hdx.utilities.dictandlist import list_distribute_contents

    question = json.load(sys.stdin)
    stored = question["hashes"]
    retrieval = Retrieval("bench")

    def host(resource: tuple[str, str, str]) -> str:
        return urlparse(resource[0]).netloc

    with open(os.devnull, "w") as devnull, contextlib.redirect_stderr(devnull):
        resources = list_distribute_contents([tuple(one) for one in question["resources"]], host)
        retrieval.retrieve(resources[:100])
        before = time.process_time()
        found = retrieval.retrieve(resources)
        again = [
            (url, resource_id, kind)
            for resource_id, (url, kind, _, _, digest, _) in found.items()
            if digest and stored.get(resource_id) != digest
        ]
        confirmed = retrieval.retrieve(list_distribute_contents(again, host))
        seconds = time.process_time() - before
    errors = [result[2] for result in found.values() if not result[4]]
    if not confirmed:
        errors.append("nothing was confirmed")
    answer = {
        "cpu_seconds": seconds,
        "hashes": {one: result[4] for one, result in found.items() if result[4]},
        "errors": errors[:3],
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
