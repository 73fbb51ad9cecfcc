"""The parts of one CKAN site: a database, a Solr core, a Redis database, an ini file, storage."""

from __future__ import annotations

import configparser
import hashlib
import io
import json
import secrets
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from stack.commands import clean_environment, quiet
from stack.layout import RELEASES, Layout, python_label
from stack.messages import step
from stack.services import Services
from stack.system import exclusive, write_private

TEST_SLOTS = 10
"""The number of test sites of one checkout and one CKAN series: each worker of a test run uses one."""


class Kind(Enum):
    """The purpose of an instance. The value is its place among the Redis databases of its environment."""

    DEMO = 0
    BENCH = 1
    TEMPLATE = 2
    """The site whose database is copied for each test run; no test uses it."""
    TEST = 3
    UPGRADE = 13
    """The site whose database `./dev upgrade` takes from one CKAN series to the next."""
    WHEEL = 14
    """The site on which `./dev package` tries the wheel."""
    PEERS = 15
    """The site for the tests of CKAN and of other extensions."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One CKAN site: a kind, for tests one of several slots, on one CKAN series and Python."""

    layout: Layout
    series: str
    kind: Kind
    slot: int = 0

    @property
    def home(self) -> Path:
        return self.layout.environment(self.series)

    @property
    def label(self) -> str:
        """The instance's name among those of its environment."""
        name = self.kind.name.lower()
        return f"{name}-{self.slot}" if self.slot else name

    @property
    def is_for_tests(self) -> bool:
        return self.kind in (Kind.TEMPLATE, Kind.TEST, Kind.UPGRADE, Kind.PEERS)

    @property
    def ini(self) -> Path:
        """The ini file that `write_ini` makes."""
        return self.home / f"{self.label}.ini"

    @property
    def name(self) -> str:
        """The name of its database and core, unique in the checkout."""
        series = self.series.replace(".", "")
        python = python_label().replace(".", "")
        return f"ckan{series}_{python}_{self.label.replace('-', '_')}"

    @property
    def redis_database(self) -> int:
        """The number of its Redis database, unique in the checkout (stack.redis.DATABASES)."""
        minor = int(python_label().rpartition(".")[2])
        environment = list(RELEASES).index(self.series) * 8 + minor % 8
        return environment * 16 + self.kind.value + self.slot

    @property
    def state(self) -> dict[str, Any]:
        """The values that are kept between two starts. Its ``settings`` go into the ini file."""
        return json.loads(self._state.read_text()) if self._state.exists() else {}

    def keep(self, **values: object) -> dict[str, Any]:
        """Add to the state, and return all of it."""
        state = self.state | values
        write_private(self._state, json.dumps(state))
        return state

    @property
    def _state(self) -> Path:
        return self.home / f"{self.label}.json"

    @property
    def storage(self) -> Path:
        """Uploads and caches."""
        return self.home / "storage" / self.label


def environment(instance: Instance, bins: list[Path]) -> dict[str, str]:
    """Return the environment of a command that works on the instance.

    Python keeps the modules that it compiles below .dev/. To compile those of CKAN takes twice as long as to
    start it.
    """
    base = clean_environment(
        CKAN_INI=str(instance.ini),
        VIRTUAL_ENV=str(bins[0].parent),
        PYTHONPYCACHEPREFIX=str(instance.layout.compiled),
    )
    return base | {"PATH": ":".join([*map(str, bins), base.get("PATH", "/usr/bin:/bin")])}


def write_ini(instance: Instance, services: Services) -> None:
    """Write the ini file: the checkout's settings, replaced by the addresses of the services and by `state`.

    One file without ``use = config:...``, since CKAN 2.11 seeks the logging sections in the first.
    """
    instance.storage.mkdir(parents=True, exist_ok=True)
    test_ini = instance.layout.root / "test.ini"
    demo_ini = instance.layout.root / "stack" / "demo.ini"
    for_tests = instance.is_for_tests
    parser = _read(test_ini if for_tests else demo_ini)
    settings = parser["app:main"]
    settings["sqlalchemy.url"] = services.postgres.url(
        services.port(services.postgres), instance.name
    )
    settings["ckan.redis.url"] = services.redis.url(
        services.port(services.redis), instance.redis_database
    )
    settings["solr_url"] = services.solr.url(services.port(services.solr), instance.name)
    settings["ckan.storage_path"] = f"%(here)s/storage/{instance.label}"
    if not for_tests:
        secret = _secret(instance.home / "secret")
        settings["ckan.plugins"] = plugins(test_ini)
        settings["ckan.site_id"] = instance.name
        settings["SECRET_KEY"] = secret
        settings["api_token.jwt.encode.secret"] = f"string:{secret}"
        settings["api_token.jwt.decode.secret"] = f"string:{secret}"
    settings.update(instance.state.get("settings", {}))
    text = io.StringIO()
    text.write("# Made by ./dev; changes are lost.\n")
    parser.write(text)
    write_private(instance.ini, text.getvalue())


def plugins(test_ini: Path) -> str:
    """Return the list of plugins from test.ini."""
    return _read(test_ini)["app:main"]["ckan.plugins"]


def _read(ini: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    # CKAN's options are case-sensitive.
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(ini)
    return parser


def ensure_data(instance: Instance, services: Services, ckan_bin: Path) -> None:
    """Make database and core if they are missing, and bring the tables up to date."""
    with exclusive(instance.home / f"{instance.label}-data.lock", f"it prepares {instance.name}"):
        _ensure_data(instance, services, ckan_bin)


def copy_template(
    template: Instance, instances: list[Instance], services: Services, ckan_bin: Path
) -> None:
    """Give each instance a fresh copy of the template's database, a core and an ini file."""
    write_ini(template, services)
    with exclusive(template.home / f"{template.label}-data.lock", f"it prepares {template.name}"):
        _ensure_data(template, services, ckan_bin)
        for instance in instances:
            write_ini(instance, services)
            _ensure_core(instance, services, ckan_bin)
            drop(instance, services)
            create = f"CREATE DATABASE {instance.name} TEMPLATE {template.name}"
            services.postgres.sql(services.port(services.postgres), create)


def _ensure_core(instance: Instance, services: Services, ckan_bin: Path) -> bool:
    """Make the core if it is missing, and return whether it is new."""
    schema = next(
        (ckan_bin.parent / "lib").glob("python*/site-packages/ckan/config/solr/schema.xml")
    )
    port = services.port(services.solr)
    return services.solr.ensure_core(port, instance.name, schema, in_memory=instance.is_for_tests)


def _ensure_data(instance: Instance, services: Services, ckan_bin: Path) -> None:
    port = services.port(services.postgres)
    core_is_new = _ensure_core(instance, services, ckan_bin)
    wanted = _migrations(instance, ckan_bin)
    if instance.kind in (Kind.TEMPLATE, Kind.BENCH) and _stamp(instance, services) != wanted:
        # A migration may have been edited that was applied. Nobody misses the rows of these two.
        drop(instance, services)
    exists = services.postgres.sql(
        port, f"SELECT 1 FROM pg_database WHERE datname = '{instance.name}'"
    )
    if not exists:
        services.postgres.sql(port, f"CREATE DATABASE {instance.name} TEMPLATE template0")
    if _stamp(instance, services) != wanted:
        with step(f"Making the tables of {instance.name}"):
            _ckan(instance, ckan_bin, "db", "init")
            _ckan(instance, ckan_bin, "db", "pending-migrations", "--apply")
        services.postgres.sql(port, f"COMMENT ON DATABASE {instance.name} IS '{wanted}'")
    if core_is_new and exists:
        with step("Indexing the datasets again"):
            _ckan(instance, ckan_bin, "search-index", "rebuild")


def drop(instance: Instance, services: Services) -> None:
    """Drop the database, if it is there."""
    services.postgres.sql(
        services.port(services.postgres),
        f"DROP DATABASE IF EXISTS {instance.name} WITH (FORCE)",
    )


def _stamp(instance: Instance, services: Services) -> str:
    """Return the digest of the files that made an instance's tables, which lies in its database."""
    return services.postgres.sql(
        services.port(services.postgres),
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database "
        f"WHERE datname = '{instance.name}'",
    )


def _ckan(instance: Instance, ckan_bin: Path, *arguments: str) -> None:
    quiet(
        [ckan_bin / "ckan", *arguments],
        instance.home / "logs" / f"{instance.label}-{arguments[0]}.log",
        what=f"ckan {' '.join(arguments)}",
        advice="Is a plugin of test.ini broken? ./dev clean and a new start make everything afresh.",
        environment=environment(instance, [ckan_bin]),
    )


def _migrations(instance: Instance, ckan_bin: Path) -> str:
    """Return a digest of all files that decide about the tables."""
    digest = hashlib.sha256()
    digest.update(plugins(instance.layout.root / "test.ini").encode())
    packages = next((ckan_bin.parent / "lib").glob("python*/site-packages"))
    ours = instance.layout.root / "ckanext"
    for folder in (packages / "ckan", packages / "ckanext", ours):
        for path in sorted(folder.glob("**/migration/**/versions/*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            if folder == ours:
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _secret(path: Path) -> str:
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text()
