"""HTTP libraries inside solve: unmodified for the user, quick and with the right key underneath.

``requests.post(url, json=…)`` to the gateway takes a short way with kept connections; anything unusual about a
call goes the library's own way. A test runs both ways against one server and compares what they give.
"""

import io
import re
import time

import bw_channel
import bw_environ
import bw_http
from bw_imports import after_import

PLAIN_PATH = re.compile(r"/[A-Za-z0-9/_.~-]*")
KNOWN = {"headers", "json", "timeout"}
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
        self.defaults = {name.lower(): (name, value) for name, value in module.utils.default_headers().items()}
        self.names: set = set()  # header names that were found usual
        self.answers = Answers(module)
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
        for name, value in options.items():
            if value is not None and name not in KNOWN:
                return None
        if type(url) is not str or not url.startswith(self.prefix) or options.get("json") is None:
            return None
        if str(method).upper() != "POST" or not PLAIN_PATH.fullmatch(url, len(self.base)):
            return None
        content, timeout = options["json"], options.get("timeout")
        if type(content) is dict and content.get("stream"):
            return None
        connect, read = timeout if type(timeout) is tuple and len(timeout) == 2 else (timeout, timeout)
        if not usual_timeout(connect) or not usual_timeout(read):
            return None
        try:
            body = bw_http.dumps(content).encode()
        except ValueError:
            return None
        headers = self.headers(options.get("headers") or {}, body)
        return None if headers is None else (headers, body, connect, read)

    def headers(self, given, body: bytes):
        """What requests itself would send, {small name: (name, value)}, or None when a given header is unusual."""
        merged = self.defaults.copy()
        for name, value in given.items():
            if type(name) is not str or type(value) is not str or not PLAIN_VALUE.fullmatch(value):
                return None
            if name not in self.names and not self.usual_name(name):
                return None
            merged[name.lower()] = (name, value)
        if "content-length" in merged or "transfer-encoding" in merged or "host" in merged:
            return None
        if merged["connection"][1].lower() != "keep-alive":
            return None
        merged["content-length"] = ("Content-Length", str(len(body)))
        merged.setdefault("content-type", ("Content-Type", "application/json"))
        if "authorization" in merged:
            name, value = merged["authorization"]
            merged["authorization"] = (name, right_key(value, self.prefix, self.base))
        return merged

    def usual_name(self, name: str) -> bool:
        if not name.isascii() or not name.replace("-", "").isalnum():
            return False
        if len(self.names) < 1000:
            self.names.add(name)
        return True

    def quick(self, url: str, headers: dict, body: bytes, connect, read):
        wrong = self.module.exceptions
        began = time.perf_counter()
        try:
            answer = bw_http.post(url[len(self.base) :], headers.values(), body, connect, read)
        except bw_http.ConnectTimedOut as error:
            raise wrong.ConnectTimeout(error, request=self.answers.asked(url, headers, body)) from error
        except bw_http.ReadTimedOut as error:
            raise wrong.ReadTimeout(error, request=self.answers.asked(url, headers, body)) from error
        except OSError as error:
            raise wrong.ConnectionError(error, request=self.answers.asked(url, headers, body)) from error
        return self.answers.response(url, headers, body, answer, time.perf_counter() - began)


def usual_timeout(value) -> bool:
    return value is None or (type(value) in (int, float) and value > 0)


class Answers:
    """Makes a requests.Response of an answer. What few ask for is made when somebody does."""

    def __init__(self, module) -> None:
        import datetime  # requests has loaded it

        self.module = module
        self.seconds = datetime.timedelta
        self.adapter = module.adapters.HTTPAdapter()
        self.encodings: dict = {}
        self.later = {"headers": self.headers, "raw": self.raw, "request": self.request, "cookies": self.cookies}
        self.blank = vars(module.Response())
        for name in ("history", *self.later):
            del self.blank[name]
        module.Response.__getattr__ = self.missing

    @property
    def missing(self):
        later = self.later

        def __getattr__(response, name):
            known = response.__dict__.get("_bw_answer")
            if known is None or name not in later:
                raise AttributeError(f"{type(response).__name__!r} object has no attribute {name!r}")
            made = response.__dict__[name] = later[name](*known)
            return made

        return __getattr__

    def response(self, url: str, sent: dict, body: bytes, answer, seconds: float):
        response = self.module.Response.__new__(self.module.Response)
        response.__dict__.update(self.blank)
        known = response._bw_answer = (url, sent, body, answer)
        response.url, response.status_code, response.reason = url, answer.status, answer.reason
        response.history, response.connection = [], self.adapter
        response.elapsed = self.seconds(seconds=seconds)
        response._content_consumed = True
        response._content = answer.body
        if "content-encoding" in answer.lower:
            self.decode(response, known)
        response.encoding = self.encoding(answer)
        return response

    def decode(self, response, known: tuple) -> None:
        try:
            response._content = response.raw.read(decode_content=True)
        except self.module.packages.urllib3.exceptions.DecodeError as error:
            raise self.module.exceptions.ContentDecodingError(error, request=self.request(*known)) from error

    def encoding(self, answer):
        said = answer.lower.get("content-type", "")
        if len(answer.lower) != len(answer.headers):  # a header came twice
            return self.module.utils.get_encoding_from_headers(self.headers("", {}, b"", answer))
        if said not in self.encodings:
            if len(self.encodings) > 100:
                self.encodings.clear()
            self.encodings[said] = self.module.utils.get_encoding_from_headers(self.headers("", {}, b"", answer))
        return self.encodings[said]

    def headers(self, url: str, sent: dict, body: bytes, answer):
        headers = self.module.structures.CaseInsensitiveDict()
        for name, value in answer.headers:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return headers

    def raw(self, url: str, sent: dict, body: bytes, answer):
        return self.module.packages.urllib3.response.HTTPResponse(
            body=io.BytesIO(answer.body if "content-encoding" in answer.lower else b""),
            headers=answer.headers,
            status=answer.status,
            reason=answer.reason,
            version=answer.version,
            preload_content=False,
        )

    def request(self, url: str, sent: dict, body: bytes, answer):
        return self.asked(url, sent, body)

    def asked(self, url: str, sent: dict, body: bytes):
        asked = self.module.PreparedRequest()
        asked.method, asked.url, asked.body = "POST", url, body
        asked.headers = self.module.structures.CaseInsensitiveDict(sent.values())
        asked._cookies = self.module.cookies.RequestsCookieJar()
        asked.hooks = self.module.hooks.default_hooks()
        return asked

    def cookies(self, url: str, sent: dict, body: bytes, answer):
        return self.module.cookies.RequestsCookieJar()
