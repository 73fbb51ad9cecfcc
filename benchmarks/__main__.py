"""``./dev bench NAME``: measures what this extension costs, beside its peers in the same run."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

NAMES = {
    "harvest": "a first and an unchanged harvest, beside package_create and ckanext-dcat",
    "portal": "the same of a CKAN portal, beside ckanext-harvest's own harvester",
    "gather": "100,000 unchanged records of a portal and of a catalogue, and gathers that are killed",
    "check": "two runs beside HDX's retrieval and aiohttp; a choice among a million resources",
    "refresh": "a night of an HDX-sized portal, beside CKAN's rebuild of these datasets",
    "iati": "update cycles, beside aiohttp with the same files",
    "report": "what the plugins add to package_create, to CKAN's pages and to a worker",
    "revisits": "how soon each policy sees changes, in two simulated years",
}


def main() -> None:
    listed = "\n".join(f"  {name:10} {words}" for name, words in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description=f"{__doc__}\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME", help="of these")
    parser.add_argument(
        "--size", type=int, help="number of datasets, files or resources, if not the usual one"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()

    def say(words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    measure = importlib.import_module(f"benchmarks.{options.name}").measure
    results = []
    for result in measure(say, **({"size": options.size} if options.size else {})):
        results.append({**asdict(result), "ratio": result.ratio})
        if not options.json:
            print(result.in_words(), flush=True)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
