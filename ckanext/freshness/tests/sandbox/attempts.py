"""Attempts of a parser to break out of the sandbox."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from typing import BinaryIO

from ckanext.freshness.sandbox import Unopened

ACTIONS: dict[str, Callable[[], object]] = {
    "open": lambda: open(sys.executable, "rb"),  # noqa: SIM115
    "socket": socket.socket,
    "pipe": os.pipe,
    "command": lambda: subprocess.Popen(["true"], stdout=subprocess.PIPE),
    "url": lambda: urllib.request.urlopen("http://127.0.0.1:9/"),
}


class Panic(BaseException):
    """As the panics of extensions in Rust, not an Exception."""


def misbehave(request: bytes, file: BinaryIO) -> bytes:
    """Do what the request names, and return the process's id."""
    name, _, text = request.decode().partition(" ")
    if name == "raise":
        raise {"ValueError": ValueError, "Panic": Panic, "SystemExit": SystemExit}[text]("é" * 9000)
    if name == "exit":
        os._exit(int(text))
    if name == "signal":
        os.kill(os.getpid(), signal.Signals[text])
    if name == "say":
        os.write(2, text.encode())
        os.abort()
    if name == "flood":
        while True:
            os.write(2, b"x" * 10_000)
    if name == "lie":
        os.write(0, text.encode())
        os._exit(0)
    return str(os.getpid()).encode()


def attempt(request: bytes, file: BinaryIO) -> bytes:
    """Return the name of the error that an attempt ends with, and the content of the file."""
    content = file.read()
    try:
        ACTIONS[request.decode()]()
    except OSError as error:
        cause: OSError = getattr(error, "reason", error)  # urllib puts it there
        return errno.errorcode[cause.errno or 0].encode() + content
    return b"done" + content


def repeat(request: bytes, file: BinaryIO) -> bytes:
    """Return the request a thousand times.

    :raises Unopened: it is empty
    """
    if not request:
        raise Unopened("is empty")
    return request * 1000
