"""Access control of the console: authentication of every request by host, origin, token and session cookie.

Any page in a browser and any local program can send requests to the loopback address. A request must therefore have
this host header, come from no other origin, and carry the session cookie, which the browser gets for the printed token.
A form that changes something must also have the session's CSRF token.
"""

from __future__ import annotations

import asyncio
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES = 1_000_000
"""The largest size of a form."""
_MAX_FIELDS = 5_000

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers would send our own forms with the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Rejected(Exception):
    """A refused request, with an HTTP status and a message of one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Middleware that accepts only requests from this origin with the session cookie."""

    def __init__(self, app: ASGIApp, *, host: str) -> None:
        self._app = app
        self._host = host
        self._origin = f"http://{host}"
        self._token: str | None = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        # Cookies ignore ports: two consoles would overwrite each other's cookie.
        self._cookie = f"aqmlab-{host.rpartition(':')[2]}"
        self.csrf = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """The address with the token, which is valid once."""
        return f"{self._origin}/enter?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it to the application."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"the console supports only HTTP, not {scope['type']}")

        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        response = self._reject_or_enter(Request(scope)) or self._app
        try:
            await response(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The console is ending: without an answer there would be a traceback in its terminal.
            if has_started:
                raise
            await PlainTextResponse("the console has ended", 503)(scope, receive, send_with_headers)

    def _reject_or_enter(self, request: Request) -> Response | None:
        """Return the answer to a refused or a first request; ``None`` for an accepted one."""
        headers = request.headers
        if headers.get("host") != self._host:
            return PlainTextResponse("not this host", 421)
        if not self._is_same_origin(headers, changes=request.method not in ("GET", "HEAD")):
            return PlainTextResponse("from another page", 403)
        if request.url.path == "/enter":
            return self._enter(request.query_params.get("token", ""))
        if not secrets.compare_digest(request.cookies.get(self._cookie, "").encode(), self._session.encode()):
            return PlainTextResponse("open the address that aqmlab console printed; it is good for one browser", 403)
        return None

    def _is_same_origin(self, headers: Headers, *, changes: bool) -> bool:
        """Return true if a request is from our pages, or typed; browsers mark all requests that may change data."""
        site = headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        return origin == self._origin if origin is not None or changes else True

    def _enter(self, token: str) -> Response:
        if self._token is None or not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("this address has been used; start aqmlab console again", 403)
        self._token = None
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict")
        return response


async def form(request: Request, csrf: str) -> dict[str, str]:
    """Read the form of a request that changes something.

    Raises
    ------
    Rejected
        When it is too long, not a form, or lacks the session's CSRF token.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise Rejected(413, f"a form has at most {MAX_BYTES:,} bytes")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Rejected(400, "this is no form") from None
    # Browsers submit line breaks as CR LF.
    values = {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}
    if not secrets.compare_digest(values.pop("csrf", "").encode(), csrf.encode()):
        raise Rejected(403, "the page is of another session: load it again")
    return values
