"""What happens to each connection and request: asked of the gateway, checked, given what it may carry, or refused."""

import asyncio
import base64
import logging
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_plus

from mitmproxy import http, tls
from mitmproxy.proxy import layer, layers
from mitmproxy.proxy.layers.http import HTTPMode

from egress.answers import Refused, status_of
from egress.hosts import OddHost, plain, split
from egress.limits import Limits
from egress.link import Link, LinkLost
from egress.passing import UNPACKED, Passage
from egress.redaction import Redactor
from egress.resolving import Forbidden, Resolver, Unresolved

log = logging.getLogger("egress")
DROPPED = (
    "proxy-authorization",
    "proxy-connection",
    "proxy-authenticate",
    "upgrade",
    "http2-settings",
    "te",
    "keep-alive",
)
TUNNELS = 443


@dataclass
class Seat:
    """One connection from a sandbox."""

    lease: str
    link: Link
    handler: Any  # mitmproxy's ConnectionHandler
    token: str = ""
    host: str = ""  # of its tunnel
    server_name: str | None = None  # what the client's TLS asked for
    flows: "set[Watch]" = field(default_factory=set)


@dataclass(eq=False)
class Watch:
    """One request under way."""

    flow: http.HTTPFlow
    began: float
    touched: float
    begun: bool = False  # its answer has


class Judged:
    """mitmproxy's addon."""

    def __init__(self, resolver: Resolver, limits: Limits, *, verbose: bool = False) -> None:
        self.resolver = resolver
        self.limits = limits
        self.verbose = verbose
        self.seats: dict[str, Seat] = {}

    # -- the way in ------------------------------------------------------------------------------------------------
    def next_layer(self, choice: layer.NextLayer) -> None:
        """HTTP for the proxy itself; in a tunnel TLS, and in that HTTP. Nothing is ever passed on unread."""
        if choice.layer:
            return
        context = choice.context
        depth = [type(each) for each in context.layers]
        if layers.HttpLayer not in depth:
            choice.layer = layers.HttpLayer(context, HTTPMode.regular)
        elif layers.ClientTLSLayer in depth:
            choice.layer = layers.HttpLayer(context, HTTPMode.transparent)
        elif data := choice.data_client():
            if data[0] == 0x16:
                outer = layers.ServerTLSLayer(context)
                outer.child_layer = layers.ClientTLSLayer(context)
                choice.layer = outer
            else:  # whatever it is, it is answered with 400
                choice.layer = layers.HttpLayer(context, HTTPMode.transparent)

    async def http_connect(self, flow: http.HTTPFlow) -> None:
        seat = self.seats[flow.client_conn.id]
        try:
            seat.token = _token(flow.request)
            if seat.host:
                raise Refused(403, "destination_forbidden", "A tunnel can't be opened in a tunnel")
            host, port = _spelled(flow.request.host, flow.request.port)
            if port != TUNNELS:
                raise Refused(403, "destination_forbidden", f"A tunnel may lead to port {TUNNELS} only, not to {port}")
            await self._judgement(seat, "connect", host, port, "https", "CONNECT", "")
            await self._check_address(seat, host, port)
            seat.host = host
            flow.request.host = host
        except Refused as no:
            refuse(flow, no)

    def tls_clienthello(self, hello: tls.ClientHelloData) -> None:
        seat = self.seats[hello.context.client.id]
        seat.server_name = hello.client_hello.sni or ""

    async def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.error:  # refused already as unreadable
            return
        seat = self.seats[flow.client_conn.id]
        try:
            host, port = self._destination(seat, flow.request)
            path = flow.request.path.partition("?")[0]
            judgement = await self._judgement(
                seat, "request", host, port, flow.request.scheme, flow.request.method, path
            )
            await self._check_address(seat, host, port)
        except Refused as no:
            refuse(flow, no)
            return
        flow.request.host, flow.request.port = host, port
        flow.request.headers["host"] = f"[{host}]" if ":" in host else host
        _prepare(flow.request, judgement.get("inject") or [])
        flow.metadata["redactor"] = Redactor(base64.b64decode(each) for each in judgement.get("redact") or [])
        flow.request.stream = True
        self.begin(seat, flow)

    def _destination(self, seat: Seat, request: http.Request) -> tuple[str, int]:
        """Where a request goes, if all that it says of that agrees. Refused."""
        if request.method in ("TRACE", "CONNECT"):
            raise Refused(405, "method_not_allowed", f"{request.method} is not passed on")
        if not seat.host:
            if request.scheme != "http":
                raise Refused(400, "bad_request", "Without a tunnel only http:// can be asked for")
            seat.token = _token(request)
            host, port = _spelled(request.host, request.port)
            if port != 80:
                raise Refused(403, "destination_forbidden", f"Plain http may lead to port 80 only, not to {port}")
        else:
            host, port = seat.host, TUNNELS
            if seat.server_name is None:
                raise Refused(400, "bad_request", "What is in a tunnel must be TLS")
            if not _same_name(seat.server_name, host):
                raise Refused(421, "misdirected_request", f"The tunnel leads to {host}, its TLS asks for another host")
            if request.authority:
                raise Refused(421, "misdirected_request", "In a tunnel a request names its path only")
        named = request.host_header
        if named is None or _spelled(*_split(named, port)) != (host, port):
            raise Refused(421, "misdirected_request", f"The request's Host is another one than {host}")
        return host, port

    async def _judgement(
        self, seat: Seat, kind: str, host: str, port: int, scheme: str, method: str, path: str
    ) -> dict[str, Any]:
        question = {
            "lease": seat.lease, "token": seat.token, "kind": kind, "host": host, "port": port, "scheme": scheme,
            "method": method, "path": path[:300],
        }  # fmt: skip
        try:
            said = await seat.link.judge(question)
        except LinkLost as lost:
            raise Refused(503, "unavailable", f"Nobody can say whether this is allowed: {lost}") from None
        if self.verbose:
            log.info("%s %s %s://%s%s: %s", seat.lease[:8], method, scheme, host, path, said.get("code") or "allowed")
        if not said.get("allow"):
            raise Refused(int(said.get("status") or 403), str(said.get("code")), str(said.get("words")))
        return said

    async def _check_address(self, seat: Seat, host: str, port: int) -> None:
        try:
            await self.resolver.checked(host, port)
        except Forbidden as bad:
            seat.link.tell({"op": "forbidden", "lease": seat.lease, "host": host})
            raise Refused(403, "destination_forbidden", f"{bad}; only public addresses can be reached") from None
        except Unresolved as bad:
            raise Refused(502, "upstream_error", f"{bad}: DNS does not know it") from None

    # -- the way back ----------------------------------------------------------------------------------------------
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        answer, redactor = flow.response, flow.metadata.get("redactor")
        if answer is None or redactor is None:  # an answer of ours
            return
        self._touch(flow, begun=True)
        if answer.status_code < 200:
            self.end(flow, "upstream_error", "the host answered with a status that was not asked for")
            return
        encoding = answer.headers.get("content-encoding", "").strip().lower()
        empty = flow.request.method == "HEAD" or answer.status_code in (204, 304)
        if encoding in ("", "identity") or empty:
            encoding = ""
        elif encoding not in UNPACKED and redactor:
            self.end(flow, "upstream_error", "the host packed its answer in a way that was not asked for")
            return
        clean_headers(answer, redactor)
        if empty:
            return
        length = answer.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.limits.answer_bytes:
            self.end(flow, "upstream_limit", f"the host's answer has more than {self.limits.answer_bytes >> 20} MiB")
            return
        unpack = encoding if encoding in UNPACKED else ""
        if unpack:
            del answer.headers["content-encoding"]
        if unpack or redactor:
            _reframe(flow.request, answer)
        events = answer.headers.get("content-type", "").lower().startswith("text/event-stream")
        passage = Passage(
            redactor,
            self.limits.answer_bytes,
            lambda code, words: self.end(flow, code, words),
            encoding=unpack,
            events=events,
        )

        def take(data: bytes) -> list[bytes]:
            self._touch(flow)
            return passage(data)

        answer.stream = take

    def response(self, flow: http.HTTPFlow) -> None:
        """The whole answer is there. Where it was broken off meanwhile, its end must not look like one."""
        self._over(flow)
        stopped = flow.metadata.get("stopped")
        if stopped is None or flow.response is None:
            return
        if flow.response.stream:
            flow.kill()
        else:
            refuse(flow, stopped)

    def error(self, flow: http.HTTPFlow) -> None:
        self._over(flow)

    # -- requests under way ----------------------------------------------------------------------------------------
    def begin(self, seat: Seat, flow: http.HTTPFlow) -> None:
        now = time.monotonic()
        watch = Watch(flow, now, now)
        flow.metadata["watch"] = watch
        seat.flows.add(watch)

    def _touch(self, flow: http.HTTPFlow, *, begun: bool = False) -> None:
        watch = flow.metadata.get("watch")
        if watch is not None:
            watch.touched = time.monotonic()
            watch.begun = watch.begun or begun

    def _over(self, flow: http.HTTPFlow) -> None:
        seat = self.seats.get(flow.client_conn.id)
        watch = flow.metadata.get("watch")
        if seat is None or watch is None:
            return
        seat.flows.discard(watch)
        redactor = flow.metadata["redactor"]
        if redactor.found:
            seat.link.tell({"op": "reflected", "lease": seat.lease, "host": flow.request.host, "count": redactor.found})
            redactor.found = 0

    def end(self, flow: http.HTTPFlow, code: str, words: str) -> None:
        """Break a request off: its client gets ``code``, or a cut connection where the answer has begun."""
        seat = self.seats.get(flow.client_conn.id)
        connection = flow.server_conn
        if seat is None:
            return
        connection.error = f"{code}: {words}"
        flow.metadata["stopped"] = Refused(status_of(code), code, words)
        transport = seat.handler.transports.get(connection)
        if transport is not None and transport.handler is not None:
            asyncio.get_running_loop().call_soon(transport.handler.cancel, "ended")

    async def look_forever(self) -> None:
        """Ends what takes too long."""
        while True:
            await asyncio.sleep(self.limits.tick)
            now = time.monotonic()
            for seat in list(self.seats.values()):
                for watch in list(seat.flows):
                    words = self.limits.overdue(watch.began, watch.touched, now, begun=watch.begun)
                    if words:
                        self.end(watch.flow, "upstream_timeout", words)


def refuse(flow: http.HTTPFlow, no: Refused) -> None:
    headers = {"content-type": "application/json", "connection": "close"}
    if no.status == 407:
        headers["proxy-authenticate"] = 'Basic realm="benchwright"'
    flow.response = http.Response.make(no.status, no.body(), headers)
    flow.response.reason = no.code  # clients show it where they hide the body of a refused tunnel
    flow.client_conn.refused = no  # its body, if it has one, is of no use any more


def clean_headers(answer: http.Response, redactor: Redactor) -> None:
    """Take values out of an answer's headers, Location and reason among them, and what was meant for us alone."""
    fields = [(redactor.clean(name), redactor.clean(value)) for name, value in answer.headers.fields]
    answer.headers.fields = tuple(
        each for each in fields if each[0].lower() not in (b"proxy-authenticate", b"alt-svc", b"trailer")
    )
    answer.reason = redactor.clean(answer.reason.encode("latin-1", "replace")).decode("latin-1")


def _reframe(request: http.Request, answer: http.Response) -> None:
    """The body's length will change: chunks for those who know them, else the end of the connection."""
    answer.headers.pop("content-length", None)
    if request.http_version == "HTTP/1.1":
        answer.headers["transfer-encoding"] = "chunked"
        answer.http_version = "HTTP/1.1"
    else:
        answer.headers.pop("transfer-encoding", None)
        answer.headers["connection"] = "close"


def _prepare(request: http.Request, inject: list[dict[str, str]]) -> None:
    """The request as it goes out: without what is between client and proxy, with what was attached to it."""
    listed = [name.strip().lower() for name in request.headers.get("connection", "").split(",")]
    for name in (*DROPPED, *listed):
        if name not in ("close", "keep-alive", "content-length", "transfer-encoding", "host", ""):
            request.headers.pop(name, None)
    request.headers.pop("connection", None)
    request.headers["accept-encoding"] = "identity"
    for each in inject:
        value = base64.b64decode(each["value"])
        if "header" in each:
            request.headers.pop(each["header"], None)
            request.headers.fields = (*request.headers.fields, (each["header"].encode(), value))
        else:
            path, _, query = request.path.partition("?")
            name = quote(each["query"], safe="")
            kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != each["query"]]
            request.path = f"{path}?{'&'.join([*kept, f'{name}={quote(value, safe=str())}'])}"


def _token(request: http.Request) -> str:
    """The run's token: the password of the proxy's credentials. Refused 407 where there are none."""
    kind, _, text = request.headers.get("proxy-authorization", "").partition(" ")
    if kind.lower() == "bearer" and text:
        return str(text.strip())
    try:
        pair = base64.b64decode(text, validate=True).decode("ascii") if kind.lower() == "basic" else ""
    except ValueError:
        pair = ""
    token = pair.partition(":")[2]
    if not token:
        raise Refused(
            407, "proxy_authentication_required", "Use HTTPS_PROXY as the sandbox has it, credentials included"
        )
    return token


def _spelled(host: str, port: int) -> tuple[str, int]:
    try:
        return plain(host), port
    except OddHost as odd:
        raise Refused(400, "bad_request", f"The host can't be read: {odd}") from None


def _split(authority: str, port: int) -> tuple[str, int]:
    try:
        return split(authority, port)
    except OddHost as odd:
        raise Refused(400, "bad_request", f"The Host header can't be read: {odd}") from None


def _same_name(server_name: str, host: str) -> bool:
    """SNI names no addresses, so there it may be missing."""
    if not server_name:
        return ":" in host or host.replace(".", "").isdigit()
    try:
        return plain(server_name) == host
    except OddHost:
        return False
