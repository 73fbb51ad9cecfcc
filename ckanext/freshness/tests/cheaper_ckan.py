"""Replacements for parts of CKAN and its libraries that take time, or mind the time, only in tests."""

from __future__ import annotations

import functools
import inspect
import sys
from importlib.metadata import entry_points
from typing import Any

import jinja2
import redis.utils
import yaml
from ckan.lib import api_token, jinja_extensions
from ckan.plugins import core
from jinja2.bccache import Bucket
from passlib.hash import pbkdf2_sha512


class KeptTemplates(jinja2.BytecodeCache):
    """Compiled templates, which the web applications of a process share."""

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._compiled:
            bucket.bytecode_from_string(self._compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.bytecode_to_string()


def install() -> None:
    """Replace them in this process, before plugins are loaded."""
    # CKAN hashes the password of each user with this number of rounds, 25,000 by default: 40 ms each.
    pbkdf2_sha512.default_rounds = 1
    # Whenever a plugin adds templates, CKAN asks for the stack to learn its caller's file. Looking for the
    # source of each frame, the default, takes half of the time of loading plugins.
    inspect.stack = functools.partial(inspect.stack, 0)
    # Each time that a plugin is loaded, all its YAML files are read, and the entry points of all packages.
    yaml.SafeLoader = yaml.CSafeLoader
    core.entry_points = lambda **which: _entry_points(tuple(sys.path), **which)
    # Each new connection to Redis, of which a harvest makes a dozen, looks it up in the package's metadata.
    redis.utils.get_lib_version = functools.cache(redis.utils.get_lib_version)
    # Tests turn the clock back, and CKAN accepts no token that was made later.
    api_token.into_seconds = lambda moment: 0
    # An application of its own would compile each template again, 20 ms each.
    jinja_options = jinja_extensions.get_jinja_env_options
    templates = KeptTemplates()
    jinja_extensions.get_jinja_env_options = lambda: {
        **jinja_options(),
        "bytecode_cache": templates,
    }


@functools.cache
def _entry_points(path: tuple[str, ...], **which: str) -> Any:
    return entry_points(**which)
