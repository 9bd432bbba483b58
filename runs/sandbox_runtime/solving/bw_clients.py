"""HTTP libraries inside solve: unmodified for the user, quick and with the right key underneath.

``requests.post(url, json=…)`` to the gateway takes a short way with kept connections; anything unusual about a
call goes the library's own way. A test runs both ways against one server and compares what they give.
"""

import datetime
import io
import re
import time

import bw_channel
import bw_environ
import bw_http
from bw_imports import after_import

PLAIN_PATH = re.compile(r"/[A-Za-z0-9/_.~-]*")
PLAIN_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?|")


def install(url: str) -> None:
    """Adapt requests and httpx for the gateway at ``url`` when they are imported."""
    after_import("requests", lambda module: Requests(module, url))
    after_import("httpx", lambda module: give_keys_to_httpx(module, url))


def right_key(value, url: str, base: str):
    """The Authorization value to send: the running task's key instead of what the module saw when it was imported."""
    key = bw_environ.current_key.get()
    if key and isinstance(value, str) and value.endswith(bw_channel.NO_TASK) and url.startswith(base + "/"):
        return value[: -len(bw_channel.NO_TASK)] + key
    return value


def give_keys_to_httpx(module, base: str) -> None:
    def adapt(request) -> None:
        said = request.headers.get("Authorization")
        given = right_key(said, str(request.url), base)
        if given != said:
            request.headers["Authorization"] = given

    send, send_async = module.Client.send, module.AsyncClient.send

    def send_here(self, request, **options):
        adapt(request)
        return send(self, request, **options)

    async def send_async_here(self, request, **options):
        adapt(request)
        return await send_async(self, request, **options)

    module.Client.send, module.AsyncClient.send = send_here, send_async_here


class Requests:
    """The short way for requests."""

    def __init__(self, module, base: str) -> None:
        self.module = module
        self.base = base
        self.prefix = base + "/"
        self.original = module.api.request
        self.defaults = list(module.utils.default_headers().items())
        self.adapter = module.adapters.HTTPAdapter()
        module.api.request = module.request = self.request
        self.send = module.Session.send
        base_class = self

        def send_here(session, request, **options):
            said = request.headers.get("Authorization")
            given = right_key(said, request.url, base)
            if given != said:
                request.headers["Authorization"] = given
            return base_class.send(session, request, **options)

        module.Session.send = send_here

    def request(self, method, url, **options):
        plan = self.plan(method, url, options)
        if plan is None:
            return self.original(method, url, **options)
        return self.quick(url, *plan)

    def plan(self, method, url, options: dict):
        """(headers, body, connect timeout, read timeout), or None where the library itself must go."""
        known = {name for name, value in options.items() if value is not None} <= {"headers", "json", "timeout"}
        if not known or type(url) is not str or not url.startswith(self.prefix) or options.get("json") is None:
            return None
        if str(method).upper() != "POST" or not PLAIN_PATH.fullmatch(url, len(self.base)):
            return None
        content, timeout = options["json"], options.get("timeout")
        if type(content) is dict and content.get("stream"):
            return None
        connect, read = timeout if type(timeout) is tuple and len(timeout) == 2 else (timeout, timeout)
        if not all(value is None or (type(value) in (int, float) and value > 0) for value in (connect, read)):
            return None
        try:
            body = self.module.compat.json.dumps(content, allow_nan=False).encode()
        except ValueError:
            return None
        headers = self.headers(options.get("headers") or {}, body)
        return None if headers is None else (headers, body, connect, read)

    def headers(self, given, body: bytes):
        """What requests itself would send, or None when a given header is unusual."""
        merged = self.module.structures.CaseInsensitiveDict(self.defaults)
        for name, value in given.items():
            if type(name) is not str or type(value) is not str:
                return None
            if not PLAIN_VALUE.fullmatch(value) or not name.isascii() or not name.replace("-", "").isalnum():
                return None
            merged[name] = value
        if "Content-Length" in merged or "Transfer-Encoding" in merged or "Host" in merged:
            return None
        if "Connection" in given and merged["Connection"].lower() != "keep-alive":
            return None
        merged["Content-Length"] = str(len(body))
        merged.setdefault("Content-Type", "application/json")
        if "Authorization" in merged:
            merged["Authorization"] = right_key(merged["Authorization"], self.prefix, self.base)
        return merged

    def quick(self, url: str, headers, body: bytes, connect, read):
        asked = self.asked(url, headers, body)
        wrong = self.module.exceptions
        began = time.perf_counter()
        try:
            answer = bw_http.post(url[len(self.base) :], list(headers.items()), body, connect, read)
        except bw_http.ConnectTimedOut as error:
            raise wrong.ConnectTimeout(error, request=asked) from error
        except bw_http.ReadTimedOut as error:
            raise wrong.ReadTimeout(error, request=asked) from error
        except OSError as error:
            raise wrong.ConnectionError(error, request=asked) from error
        return self.answered(url, asked, answer, time.perf_counter() - began)

    def asked(self, url: str, headers, body: bytes):
        asked = self.module.PreparedRequest()
        asked.method, asked.url, asked.headers, asked.body = "POST", url, headers, body
        asked._cookies = self.module.cookies.RequestsCookieJar()
        asked.hooks = self.module.hooks.default_hooks()
        return asked

    def answered(self, url: str, asked, answer, seconds: float):
        response = self.module.Response()
        headers = self.module.structures.CaseInsensitiveDict()
        for name, value in answer.headers:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        encoded = "Content-Encoding" in headers
        raw = self.module.packages.urllib3.response.HTTPResponse(
            body=io.BytesIO(answer.body if encoded else b""),
            headers=answer.headers,
            status=answer.status,
            reason=answer.reason,
            version=answer.version,
            preload_content=False,
        )
        try:
            response._content = raw.read(decode_content=True) if encoded else answer.body
        except self.module.packages.urllib3.exceptions.DecodeError as error:
            raise self.module.exceptions.ContentDecodingError(error, request=asked) from error
        response._content_consumed = True
        response.status_code, response.reason, response.headers = answer.status, answer.reason, headers
        response.encoding = self.module.utils.get_encoding_from_headers(headers)
        response.url, response.request, response.raw = url, asked, raw
        response.connection = self.adapter
        response.elapsed = datetime.timedelta(seconds=seconds)
        return response
