"""The commands of ``./dev``."""

from __future__ import annotations

import argparse
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from stack import packages, peers, tests
from stack.commands import LOOPBACK, exit_code, foreground, undisturbed
from stack.environment import ensure_ckan, ensure_tools, tools_are_made
from stack.instances import (
    TEST_SLOTS,
    Instance,
    Kind,
    copy_template,
    drop,
    ensure_data,
    environment,
    plugins,
    write_ini,
)
from stack.layout import DEFAULT_SERIES, RELEASES, Layout
from stack.messages import StackError, say
from stack.services import Services
from stack.system import HOST, Lock, alone, choose_port

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
    services: Services
    ckan_bin: Path

    def run(self, instance: Instance, command: Sequence[str | Path], **variables: str) -> int:
        """Run a command in the instance's environment, with some more variables, in the foreground."""
        bins = [self.ckan_bin, self.services.postgres.bin, self.services.redis.bin]
        return foreground(command, environment(instance, bins) | variables)

    def site(self, kind: Kind, settings: Mapping[str, str] | None = None) -> Instance:
        """Return a site, ready for commands.

        :param settings: to keep for its ini file; None for those of before
        """
        instance = Instance(self.layout, self.series, kind)
        if settings is not None:
            instance.keep(settings=settings)
        write_ini(instance, self.services)
        ensure_data(instance, self.services, self.ckan_bin)
        return instance


def main(root: Path, arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    ours, theirs = split(arguments)
    options = parser().parse_args(ours)
    options.arguments = theirs

    def work() -> int:
        check_platform()
        code: int = options.command(Layout(root), options)
        return code

    return exit_code(work)


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
) -> Iterator[Context]:
    """Make the environments and, if they are needed, run the services until the block ends."""
    tools_bin = ensure_tools(layout)
    ckan_bin = ensure_ckan(layout, series)
    servers = Services(layout, tools_bin, for_tests=for_tests)
    try:
        if services:
            servers.acquire()
        yield Context(layout, series, servers, ckan_bin)
    finally:
        if services:
            with undisturbed():
                servers.release()


DEMO_SETTINGS = {
    "ckanext.freshness.requests_per_second": "50",
    "ckanext.freshness.copies.organizations": "rural-health",
}
"""The demo's servers answer at once and want no pauses, and it keeps copies of one organization's files."""


def demo(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev demo [--no-serve] [--source URL]``"""
    instance = Instance(layout, options.ckan, Kind.DEMO)
    with (
        prepared(layout, options.ckan) as context,
        alone(instance.home / "demo.lock", "The demo"),
    ):
        port = choose_port(instance.state.get("site_port"))
        instance.keep(site_port=port)
        enabled = f"{plugins(layout.root / 'test.ini')} dcat"
        base = f"http://{HOST}:{port}"
        settings = {"ckan.site_url": base, "ckan.plugins": enabled, **DEMO_SETTINGS}
        if options.source is None or urlsplit(options.source).hostname in LOOPBACK:
            settings["ckanext.freshness.allowed_networks"] = "127.0.0.0/8 ::1/128"
        context.site(Kind.DEMO, settings)
        arguments = [f"--state={instance.home / 'demo.json'}", f"--port={port}"]
        arguments += [f"--source={options.source}"] if options.source else []
        arguments += ["--no-serve"] if options.no_serve else []
        return context.run(instance, ["python", "-m", "demo", *arguments])


def run(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev run COMMAND...``"""
    if not options.arguments:
        raise StackError("Run what? For example: ./dev run python, ./dev run rq info")
    with prepared(layout, options.ckan) as context:
        return context.run(context.site(Kind.DEMO), options.arguments)


def ckan(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev ckan ...``"""
    options.arguments.insert(0, "ckan")
    return run(layout, options)


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
        variables = {tests.SITES: ":".join(str(site.ini) for site in sites)}
        ours = [f"--ckan-ini={sites[0].ini}", *tests.distribution(plan.workers, len(sites))]
        return context.run(sites[0], [*pytest, *ours, *plan.arguments], **variables)


def test_peers(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev test peers [ckan] [harvest] [dcat] [pytest arguments]``"""
    with (
        prepared(layout, options.ckan, for_tests=True) as context,
        # One series at a time, because the tests of ckanext-harvest listen on a port of their own.
        alone(layout.dev / "peers.lock", "A run of the tests of peers"),
    ):
        site = Instance(layout, options.ckan, Kind.PEERS)

        def run(settings: Mapping[str, str], arguments: Sequence[str | Path]) -> int:
            site.keep(settings=settings)
            template = Instance(layout, options.ckan, Kind.TEMPLATE)
            copy_template(template, [site], context.services, context.ckan_bin)
            pytest = ["python", "-m", "pytest", f"--ckan-ini={site.ini}"]
            return context.run(site, [*pytest, *arguments])

        return peers.main(
            options.arguments[1:],
            run=run,
            plugins=plugins(layout.root / "test.ini").partition(" harvest ")[0],
            packages=next((context.ckan_bin.parent / "lib").glob("python*/site-packages")),
            listed=layout.root / "stack" / "peers.txt",
            folder=site.home / "peers",
        )


def upgrade(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev upgrade``"""
    folder = layout.dev / "upgrade"
    file = layout.root / "ckanext/freshness/tests/model/upgrade_of_ckan.py"
    with (
        prepared(layout, "2.11", for_tests=True) as before,
        prepared(layout, "2.12", for_tests=True) as after,
        alone(layout.dev / "upgrade.lock", "./dev upgrade"),
    ):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        copies = "ckanext.freshness.copies"
        sites = []
        for context in (before, after):
            site = Instance(layout, context.series, Kind.UPGRADE)
            site.keep(settings={f"{copies}.all": "true", f"{copies}.location": str(folder)})
            template = Instance(layout, context.series, Kind.TEMPLATE)
            copy_template(template, [site], context.services, context.ckan_bin)
            sites.append(site)
        old, new = sites

        def run_test(name: str, context: Context, site: Instance) -> int:
            given = [f"--rootdir={layout.root}", f"--ckan-ini={site.ini}", "-n0"]
            return context.run(site, ["python", "-m", "pytest", *given, f"{file}::{name}"])

        code = run_test("test_a_site_of_2_11", before, old)
        drop(new, after.services)
        rename = f"ALTER DATABASE {old.name} RENAME TO {new.name}"
        after.services.postgres.sql(after.services.port(after.services.postgres), rename)
        code = code or after.run(new, ["ckan", "db", "upgrade"])
        code = code or after.run(new, ["ckan", "search-index", "rebuild", "--quiet"])
        return code or run_test("test_the_same_site_on_2_12", after, new)


@contextmanager
def test_sites(context: Context, wanted: int) -> Iterator[list[Instance]]:
    """Return the wanted test sites that no other run uses, at least one."""
    with ExitStack() as stack:
        found: list[Instance] = []
        for slot in range(TEST_SLOTS):
            instance = Instance(context.layout, context.series, Kind.TEST, slot)
            lock = Lock(instance.home / f"{instance.label}.lock")
            if len(found) < wanted and lock.take(wait=False):
                stack.callback(lock.free)
                found.append(instance)
        if not found:
            raise StackError(
                f"Other test runs use all {TEST_SLOTS} test sites; wait for one to end."
            )
        yield found


def bench(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev bench NAME [arguments]``, on a site of its own."""
    with (
        prepared(layout, options.ckan) as context,
        alone(layout.dev / "bench.lock", "A benchmark"),
    ):
        site = context.site(Kind.BENCH)
        return context.run(site, ["python", "-m", "benchmarks", *options.arguments])


def package(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev package [--tests] [--release]``"""
    left = packages.left_to_do(layout)
    if options.release and left:
        raise StackError("\n".join(left))
    site = Instance(layout, options.ckan, Kind.WHEEL)
    venv = site.home / "wheel"
    with (
        prepared(layout, options.ckan, for_tests=True) as context,
        alone(layout.dev / "package.lock", "./dev package"),
    ):
        wheel, archive = packages.build(layout)
        ckan_bin = packages.install(layout, options.ckan, wheel, venv)
        drop(site, context.services)
        site.keep(settings=packages.settings(layout))
        write_ini(site, context.services)
        ensure_data(site, context.services, ckan_bin)
        packages.harvest_check_and_look(site, ckan_bin)
    code = packages.test_source(archive, layout) if options.tests or options.release else 0
    for line in left:
        say(f"Before a release: {line}")
    print(wheel, archive, sep="\n")
    return code


def services_start(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services start``"""
    with prepared(layout, options.ckan, for_tests=options.for_tests) as context:
        context.site(Kind.DEMO)
        context.services.keep(True)
    return services_status(layout, options)


def services_stop(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services stop``"""
    if services := existing_services(layout):
        services.keep(False)
        if not services.release():
            say("Another ./dev still uses the services; they stop when it ends.")
    return 0


def services_status(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev services status``; exit code 0 if all run, else 3 as ``systemctl status`` has it."""
    instance = Instance(layout, options.ckan, Kind.DEMO)
    services = existing_services(layout)
    if services and all(services.running(service) for service in services.all):
        postgres, redis, solr = services.postgres, services.redis, services.solr
        print("PostgreSQL ", postgres.url(services.port(postgres), instance.name))
        print("Redis      ", redis.url(services.port(redis), instance.redis_database))
        print("Solr       ", solr.url(services.port(solr), instance.name))
        print("ini file   ", instance.ini)
        return 0
    print("The services are not running.")
    return 3


def existing_services(layout: Layout) -> Services | None:
    """Return the services, if they exist and their tools are installed. Install nothing."""
    exist = tools_are_made(layout) and layout.services.exists()
    return Services(layout, layout.tools / "bin") if exist else None


def clean(layout: Layout, options: argparse.Namespace) -> int:
    """``./dev clean``"""
    if services := existing_services(layout):
        services.keep(False)
        if not services.release():
            raise StackError("Another ./dev of this checkout is running; end it first.")
    if layout.dev.exists():
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

    sub = add("demo", demo, "harvest small sources into a CKAN and serve it")
    sub.add_argument("--no-serve", action="store_true", help="harvest, print a summary and stop")
    sub.add_argument(
        "--source", metavar="URL", help="a FAIR Data Point to harvest, in place of our sources"
    )
    add(
        "test",
        test,
        "run the tests with pytest; arguments are pytest's. `test peers` runs those of CKAN and of other "
        "extensions, without and with our plugins",
    )
    add("upgrade", upgrade, "take a site with data from CKAN 2.11 to 2.12, and compare all of it")
    add(
        "bench",
        bench,
        "measure harvests, checks and more beside their peers; bench --help lists them",
    )
    sub = add(
        "package",
        package,
        "build the wheel and the source distribution, check them, and harvest with a CKAN that has the wheel",
    )
    sub.add_argument("--tests", action="store_true", help="also the tests of the unpacked source")
    sub.add_argument(
        "--release", action="store_true", help="the same, and refuse what must not be published yet"
    )
    sub = add("services", services_status, "start, stop or show PostgreSQL, Redis and Solr")
    actions = sub.add_subparsers(required=True, metavar="start|stop|status")
    for name, function, text in (
        ("start", services_start, "start them and let them run"),
        ("stop", services_stop, "stop them"),
        ("status", services_status, "show their addresses and the demo's ini file"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        if name == "start":
            action.add_argument(
                "--for-tests", action="store_true", help="as ./dev test starts them"
            )
        action.set_defaults(command=function)
    add("ckan", ckan, "the ckan command, on the demo's site; arguments are its own")
    add("run", run, "any command and its arguments, CKAN_INI being the demo's")
    add("clean", clean, "stop everything and remove .dev/")
    return top
