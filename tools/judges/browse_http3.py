"""Load a page over HTTP/3 again and again with aioquic, and write the times of each load as a line of JSON.

It runs in the guest: ``browse_http3.py LOADS THINK_S SEED RESOURCES``. The last is JSON: of each resource its name, its
port and the name of the one that refers to it. A resource is requested as soon as that one is complete.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

ADDRESS = os.environ["AQMLAB_SERVER"]


class Client(QuicConnectionProtocol):
    """A connection at the client."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)
        self.ends: dict[int, asyncio.Future[None]] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        """Note the ends of responses."""
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived | DataReceived) and part.stream_ended:
                self.ends.pop(part.stream_id).set_result(None)

    async def fetch(self, name: str) -> None:
        """Request a resource, and wait for the end of its response."""
        stream = self._quic.get_next_available_stream_id()
        self.ends[stream] = asyncio.get_running_loop().create_future()
        headers = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"judges.example")]
        self.http.send_headers(stream, [*headers, (b":path", f"/{name}".encode())], end_stream=True)
        self.transmit()
        await self.ends[stream]


async def load(resources: list[tuple[str, int, str]]) -> dict[str, float]:
    """Load the page over new connections; return the end of each resource in seconds from the start."""
    start = time.monotonic()
    ends: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        connections: dict[int, asyncio.Task[Client]] = {}

        async def connection(port: int) -> Client:
            configuration = QuicConfiguration(
                alpn_protocols=H3_ALPN,
                max_datagram_size=1452,
                max_data=15 * 2**20,
                max_stream_data=6 * 2**20,
                verify_mode=ssl.CERT_NONE,
                server_name="judges.example",
            )
            opened = connect(ADDRESS, port, configuration=configuration, create_protocol=Client)
            client = await stack.enter_async_context(opened)
            assert isinstance(client, Client)
            return client

        async def fetch(name: str, port: int) -> None:
            if port not in connections:
                connections[port] = asyncio.create_task(connection(port))
            client = await connections[port]
            await client.fetch(name)
            ends[name] = time.monotonic() - start
            children = [(child, at) for child, at, parent in resources if parent == name and child != name]
            await asyncio.gather(*(fetch(child, at) for child, at in children))

        await fetch(*resources[0][:2])
        ends["load"] = max(ends.values())
    return ends


async def main() -> None:
    """Load the page."""
    loads, think_s, seed, text = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    draws = random.Random(seed)
    for _ in range(loads):
        await asyncio.sleep(draws.expovariate(1 / think_s))
        print(json.dumps(await load(json.loads(text))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
