"""A mail server that accepts everything. At its end it prints what it got as JSON."""

from __future__ import annotations

import json
import signal
import socketserver
import sys
from typing import Any, ClassVar

ANSWERS = {b"DATA": b"354 Go ahead\r\n", b"QUIT": b"221 Bye\r\n"}


class Session(socketserver.StreamRequestHandler):
    """A connection."""

    received = connections = 0
    recipients: ClassVar[set[bytes]] = set()

    def handle(self) -> None:
        Session.connections += 1
        self.wfile.write(b"220 Ready\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"RCPT":
                Session.recipients.add(line.strip())
            self.wfile.write(ANSWERS.get(verb, b"250 OK\r\n"))
            if verb == b"QUIT":
                break
            if verb == b"DATA":
                while self.rfile.readline() != b".\r\n":
                    pass
                Session.received += 1
                self.wfile.write(b"250 OK\r\n")


def _end(*_: Any) -> None:
    found = {
        "received": Session.received,
        "recipients": len(Session.recipients),
        "connections": Session.connections,
    }
    print(json.dumps(found), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()
