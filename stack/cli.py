"""The commands of ``./dev``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stack import browser, peers, ports, tests
from stack.commands import Interrupted, end_on_signals, foreground, undisturbed
from stack.environment import ensure_ckan, ensure_tools, tools_are_made
from stack.errors import StackError
from stack.instances import (
    TEST_SLOTS,
    Instance,
    Kind,
    copy_template,
    ensure_data,
    environment,
    write_ini,
)
from stack.layout import DEFAULT_SERIES, RELEASES, Layout
from stack.locks import Lock
from stack.processes import Identity, Ledger
from stack.progress import let_go, say, tell
from stack.services import Services
from stack.source import check_source

DESCRIPTION = """\
One entry to everything: a CKAN with PostgreSQL, Redis and Solr of its own, made under .dev/ from packages
alone. It needs Python 3.10 or newer on Linux (x86_64, glibc), and for the first start a network."""


PASSED_ON = ("test", "bench", "ckan", "run")
"""The commands whose arguments belong to another program."""


@dataclass(slots=True)
class Context:
    """The layout, services and tools that every command uses."""

    layout: Layout
    series: str
    ledger: Ledger
    services: Services
    ckan_bin: Path

    def run(self, instance: Instance, command: Sequence[str | Path], **variables: str) -> int:
        """Run a command in the instance's environment, with some more variables, in the foreground."""
        bins = [self.ckan_bin, self.services.postgres.bin, self.services.redis.bin]
        with_ours = environment(instance, bins) | variables
        return foreground(command, environment=with_ours, ledger=self.ledger)


def main(root: Path, arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    try:
        return _main(root, arguments)
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130
    finally:
        let_go()


def _main(root: Path, arguments: Sequence[str]) -> int:
    ours, theirs = split(arguments)
    options = parser().parse_args(ours)
    options.arguments = theirs
    end_on_signals()
    layout = Layout(root)
    try:
        check_platform()
        code: int = options.command(layout, options)
        return code
    except StackError as error:
        say(f"\n{error}")
        return 1


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments into those of ``./dev`` and those of the command that it passes on."""
    for index, argument in enumerate(arguments):
        if argument in PASSED_ON:
            return list(arguments[: index + 1]), list(arguments[index + 1 :])
    return list(arguments), []


def check_platform() -> None:
    """Raise StackError on a platform without packages of the services."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or not platform.libc_ver()[0]:
        raise StackError(
            f"./dev needs Linux on x86_64 with glibc; this is {platform.platform()}. "
            "With Docker there is another way: see stack/compose.yml."
        )


@contextmanager
def prepared(
    layout: Layout,
    series: str,
    *,
    services: bool = True,
    for_tests: bool = False,
    folder: Path | None = None,
) -> Iterator[Context]:
    """Make the environments and, if they are needed, run the services until the block ends.

    :param folder: see :class:`.services.Services`.
    """
    tools_bin = ensure_tools(layout)
    ckan_bin = ensure_ckan(layout, series)
    myself = Identity.of(os.getpid(), leader=False)
    assert myself is not None
    ledger = Ledger(layout.processes, myself)
    if ledger.sweep():
        say("Ended what a killed ./dev had left running")
    servers = Services(layout, tools_bin, for_tests=for_tests, folder=folder)
    try:
        if services:
            servers.acquire()
        yield Context(layout, series, ledger, servers, ckan_bin)
    finally:
        with undisturbed():
            # End processes that a command started, if the command was killed before it could end them.
            ledger.sweep()
            if services:
                servers.release()


DEMO_SETTINGS = {
    "ckanext.freshness.check.confirm_after": "0.1",
    "ckanext.freshness.requests_per_second": "50",
    "ckanext.freshness.copies.organizations": "rural-health",
}
"""The demo's servers answer at once and want no pauses, and it keeps copies of one organization's files."""


def demo_instance(context: Context) -> Instance:
    """Return the demo's site, ready for commands."""
    instance = Instance(context.layout, context.series, Kind.DEMO)
    write_ini(instance, context.services)
    ensure_data(instance, context.services, context.ckan_bin)
    return instance


def demo(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev demo [--no-serve] [--source URL]``"""
    if options.source is not None:
        check_source(options.source)
    with prepared(layout, options.ckan) as context:
        instance = Instance(layout, options.ckan, Kind.DEMO)
        lock = Lock(instance.home / "demo.lock")
        if not lock.take(wait=False):
            raise StackError(
                "The demo of this checkout is already running; end it with Ctrl-C first."
            )
        port = ports.choose(instance.state.get("site_port"))
        settings = {"ckan.site_url": f"http://{ports.HOST}:{port}", **DEMO_SETTINGS}
        if options.source is None or ports.is_loopback(options.source):
            settings["ckanext.freshness.allowed_networks"] = "127.0.0.0/8 ::1/128"
        instance.keep(site_port=port, settings=settings)
        demo_instance(context)
        arguments = [f"--state={instance.home / 'demo.json'}", f"--port={port}"]
        arguments += [f"--source={options.source}"] if options.source else []
        arguments += ["--no-serve"] if options.no_serve else []
        return context.run(instance, ["python", "-m", "demo", *arguments])


def run(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev run COMMAND...``"""
    if not options.arguments:
        raise StackError("Run what? For example: ./dev run python, ./dev run rq info")
    with prepared(layout, options.ckan) as context:
        return context.run(demo_instance(context), options.arguments)


def ckan(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev ckan ...``"""
    with prepared(layout, options.ckan) as context:
        return context.run(demo_instance(context), ["ckan", *options.arguments])


def test(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev test [--quick] [pytest arguments]`` and ``./dev test peers [SUITE...]``"""
    if options.arguments[:1] == ["peers"]:
        return test_peers(layout, options)
    plan = tests.plan(options.arguments, layout.root)
    pytest = ["python", "-m", "pytest", f"--rootdir={layout.root}"]
    if not plan.services:
        with prepared(layout, options.ckan, services=False) as context:
            command = [*pytest, *tests.distribution(plan.workers, plan.workers), *plan.arguments]
            return context.run(Instance(layout, options.ckan, Kind.TEST), command)
    with (
        prepared(layout, options.ckan, for_tests=True) as context,
        test_sites(context, max(plan.workers, 1)) as sites,
    ):
        template = Instance(layout, options.ckan, Kind.TEMPLATE)
        copy_template(template, sites, context.services, context.ckan_bin)
        variables = {}
        if browser.are_asked_for(plan.arguments, layout.root):
            chosen = os.environ.get(browser.VARIABLE)
            variables = browser.ensure_browser(layout, context.ckan_bin, chosen)
        variables[tests.SITES] = ":".join(str(site.ini) for site in sites)
        ours = [f"--ckan-ini={sites[0].ini}", *tests.distribution(plan.workers, len(sites))]
        return context.run(sites[0], [*pytest, *ours, *plan.arguments], **variables)


def test_peers(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev test peers [ckan] [harvest] [dcat] [pytest arguments]``"""
    with prepared(layout, options.ckan, for_tests=True) as context:
        site = Instance(layout, options.ckan, Kind.PEERS)
        # One series at a time, because the tests of ckanext-harvest listen on a port of their own.
        lock = Lock(layout.dev / "peers.lock")
        if not lock.take(wait=False):
            raise StackError("The tests of peers already run in this checkout; wait for their end.")

        def run(settings: Mapping[str, str], arguments: list[str | Path]) -> int:
            site.keep(settings=settings)
            template = Instance(layout, options.ckan, Kind.TEMPLATE)
            copy_template(template, [site], context.services, context.ckan_bin)
            pytest = ["python", "-m", "pytest", f"--ckan-ini={site.ini}"]
            return context.run(site, [*pytest, *arguments])

        return peers.main(
            options.arguments[1:],
            run=run,
            packages=next((context.ckan_bin.parent / "lib").glob("python*/site-packages")),
            listed=layout.root / "stack" / "peers.txt",
            folder=site.home / "peers",
        )


@contextmanager
def test_sites(context: Context, wanted: int) -> Iterator[list[Instance]]:
    """Return the wanted test sites that no other run uses, at least one."""
    found: list[tuple[Instance, Lock]] = []
    for slot in range(TEST_SLOTS):
        if len(found) == wanted:
            break
        instance = Instance(context.layout, context.series, Kind.TEST, slot)
        lock = Lock(instance.home / f"{instance.label}.lock")
        if lock.take(wait=False):
            found.append((instance, lock))
    if not found:
        raise StackError(
            f"Other test runs of this checkout use all {TEST_SLOTS} test sites; wait for one to end."
        )
    try:
        yield [instance for instance, _ in found]
    finally:
        for _, lock in found:
            lock.free()


def bench(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev bench NAME [arguments]``, on a site of its own."""
    with prepared(layout, options.ckan) as context:
        instance = Instance(layout, options.ckan, Kind.BENCH)
        lock = Lock(instance.home / "bench.lock")
        if not lock.take(wait=False):
            raise StackError("A benchmark of this checkout is already running; wait for its end.")
        write_ini(instance, context.services)
        ensure_data(instance, context.services, context.ckan_bin)
        return context.run(instance, ["python", "-m", "benchmarks", *options.arguments])


CAMPAIGN_SETTINGS = {
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    "ckanext.freshness.requests_per_second": "1000",
    "ckanext.freshness.read_timeout": "1",
    "ckanext.freshness.retry_delays": "0.05",
}
"""A campaign's server is on this machine, and fails often."""


def campaign(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev campaign [--seed N] [--rounds N] [--without KIND]``"""
    with prepared(layout, options.ckan, for_tests=True, folder=layout.campaign) as context:
        instance = Instance(layout, options.ckan, Kind.CAMPAIGN)
        lock = Lock(layout.campaign / "campaign.lock")
        if not lock.take(wait=False):
            raise StackError("A campaign of this checkout is already running; wait for its end.")
        instance.keep(settings=CAMPAIGN_SETTINGS)
        write_ini(instance, context.services)
        ensure_data(instance, context.services, context.ckan_bin)
        command = ["python", "-m", "ckanext.freshness.tests.campaign"]
        command += [f"--seed={options.seed}", f"--rounds={options.rounds}"]
        return context.run(instance, [*command, *(f"--without={one}" for one in options.without)])


def services_start(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services start``"""
    with prepared(layout, options.ckan, for_tests=options.for_tests) as context:
        demo_instance(context)
        context.services.keep(True)
    return services_status(layout, options)


def services_stop(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services stop``"""
    services = existing_services(layout)
    if services is None:
        return 0
    services.keep(False)
    if services.in_use_by_others():
        say("Another ./dev still uses the services; they stop when it ends.")
        return 0
    services.release()
    return 0


def services_status(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services status``; exit code 0 if all run, else 3 as ``systemctl status`` has it."""
    services = existing_services(layout)
    instance = Instance(layout, options.ckan, Kind.DEMO)
    if services is None or not all(services.running(service) for service in services.all):
        tell(json.dumps({"running": False}) if options.json else "The services are not running.")
        return 3
    postgres, redis, solr = services.postgres, services.redis, services.solr
    status = {
        "running": True,
        "postgresql": postgres.url(services.port(postgres), instance.name),
        "redis": redis.url(services.port(redis), instance.redis_database),
        "solr": solr.url(services.port(solr), instance.name),
        "ini": str(instance.ini) if instance.ini.exists() else None,
    }
    lines = [f"{name:11} {value}" for name, value in status.items()]
    tell(json.dumps(status, indent=2) if options.json else "\n".join(lines))
    return 0


def existing_services(layout: Layout) -> Services | None:
    """Return the services if their tools are installed. Install nothing."""
    return Services(layout, layout.tools / "bin") if tools_are_made(layout) else None


def clean(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev clean``"""
    if not layout.dev.exists():
        return 0
    if tools_are_made(layout):
        for folder in (layout.services, layout.campaign):
            services = Services(layout, layout.tools / "bin", folder=folder)
            services.keep(False)
            if services.in_use_by_others():
                raise StackError("Another ./dev of this checkout is running; end it first.")
            services.release()
    shutil.rmtree(layout.dev)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="./dev", description=DESCRIPTION)
    top.add_argument(
        "--ckan",
        choices=RELEASES,
        default=DEFAULT_SERIES,
        help="CKAN series (default: %(default)s)",
    )
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, function: object, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        return sub

    sub = add("demo", demo, "harvest a FAIR Data Point into a CKAN and serve it")
    sub.add_argument("--no-serve", action="store_true", help="harvest, print a summary and stop")
    sub.add_argument(
        "--source", metavar="URL", help="a FAIR Data Point to harvest, in place of ours"
    )
    add(
        "test",
        test,
        "run the tests with pytest; arguments are pytest's. `test peers` runs those of CKAN and of other "
        "extensions, without and with our plugins",
    )
    sub = add(
        "campaign", campaign, "harvest amid random changes, faults and kills, on a site of its own"
    )
    sub.add_argument("--seed", type=int, default=1, help="another seed, other rounds (default: 1)")
    sub.add_argument("--rounds", type=int, default=20, help="how many (default: %(default)s)")
    sub.add_argument(
        "--without", action="append", default=[], metavar="KIND", help="leave out a move or a fault"
    )
    add("bench", bench, "a benchmark of benchmarks/ by its name, on a site of its own")
    sub = add("services", services_status, "start, stop or show PostgreSQL, Redis and Solr")
    actions = sub.add_subparsers(required=True, metavar="start|stop|status")
    for name, function, text in (
        ("start", services_start, "start them and let them run"),
        ("stop", services_stop, "stop them"),
        ("status", services_status, "show their addresses and the demo's ini file"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("--json", action="store_true", help="for programs")
        if name == "start":
            action.add_argument(
                "--for-tests", action="store_true", help="as ./dev test starts them"
            )
        action.set_defaults(command=function)
    add("ckan", ckan, "the ckan command, on the demo's site; arguments are its own")
    add("run", run, "any command and its arguments, CKAN_INI being the demo's")
    add("clean", clean, "stop everything and remove .dev/")
    return top
