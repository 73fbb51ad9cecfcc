"""A site served by two worker processes, as by gunicorn or uwsgi: ``python -m ... INI FD``.

The application is made once, then forked. Each worker answers one request after the other, and keeps its state
from one request to the next. SIGTERM ends both after their requests.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from ckan.cli import CKANConfigLoader
from ckan.config.middleware import make_app
from ckan.lib import webassets_tools
from werkzeug.serving import make_server

from ckanext.freshness.ckan_adapter.database import disconnect

WORKERS = 2


def main(ini: str, fd: int) -> None:
    app = make_app(CKANConfigLoader(ini).get_config())
    build_assets()
    disconnect()
    for _ in range(WORKERS):
        if os.fork() == 0:
            _serve(app, fd)
    signal.signal(signal.SIGTERM, lambda number, frame: os.killpg(0, signal.SIGUSR1))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    print("ready", flush=True)
    for _ in range(WORKERS):
        os.wait()


def build_assets() -> None:
    """Build all scripts and styles: of two first requests at once, one fails to make the same folder."""
    for bundle in webassets_tools.env:
        bundle.urls()


def _serve(app: object, fd: int) -> None:
    server = make_server("127.0.0.1", 0, app, fd=fd)  # type: ignore[arg-type]
    server.socket.settimeout(0.2)
    is_over = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal is_over
        is_over = True

    signal.signal(signal.SIGUSR1, end)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.timeout = 0.2
    while not is_over:
        # The other worker may have taken the request.
        server.handle_request()
    os._exit(0)


if __name__ == "__main__":
    os.setpgrp()
    main(sys.argv[1], int(sys.argv[2]))
