"""Serve segments over HTTP/1.1, in the guest: ``/BYTES`` has this many bytes."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """The answers on a connection."""

    protocol_version = "HTTP/1.1"
    # The headers leave with the first bytes of the segment.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a request for a segment."""
        size = int(self.path.removeprefix("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, *_: object) -> None:
        """Write no log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
