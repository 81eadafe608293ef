"""Serve the files of a directory over HTTP/3 with aioquic, in the guest: ``serve_http3.py SITE PORT PORT ...``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

SITE = Path(sys.argv[1])


class Server(QuicConnectionProtocol):
    """A connection at the server, which answers each request at once."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Answer the requests that have come."""
        for request in self.http.handle_event(event):
            if isinstance(request, HeadersReceived):
                path = dict(request.headers)[b":path"].decode()
                self.http.send_headers(request.stream_id, [(b":status", b"200")])
                content = (SITE / "files" / path.removeprefix("/")).read_bytes()
                self.http.send_data(request.stream_id, content, end_stream=True)
                self.transmit()


async def main() -> None:
    """Serve until the end of the run."""
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=H3_ALPN, max_datagram_size=1452, congestion_control_algorithm="cubic"
    )
    configuration.load_cert_chain(SITE / "cert.pem", SITE / "key.pem")
    for port in sys.argv[2:]:
        await serve("0.0.0.0", int(port), configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
