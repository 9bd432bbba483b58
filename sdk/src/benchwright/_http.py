"""One HTTP conversation with the server: keep-alive, retries, and answers or typed errors."""

import email.utils
import json
import random
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from . import __version__
from ._objects import Object, wrap
from .errors import APIConnectionError, APIError, ConfigError, for_answer

_RETRIED = frozenset({429, 502, 503, 504})
_SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE", "PATCH"})
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST_WAIT = 60.0  # seconds; a longer Retry-After is the caller's to wait


@dataclass
class Call:
    """One request. ``body`` is JSON, or bytes that are JSON already. ``key`` makes a POST repeatable."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str | None = None
    if_match: str | None = None
    timeout: float | None = None
    repeatable: bool = False

    def may_repeat(self) -> bool:
        """Whether sending it twice does what sending it once does."""
        if self.method == "POST":
            return self.repeatable or self.key is not None
        return self.method in _SAFE and not (self.method == "PATCH" and self.if_match)


class Http:
    """The transport under all resources. Safe to share among threads."""

    def __init__(self, base_url: str, token: str | None, timeout: float, max_retries: int) -> None:
        self.base_url = base_url
        self.token = token
        self.timeout = timeout
        self.max_retries = max_retries
        self.sleep: Callable[[float], None] = time.sleep
        self._client: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"Http({self.base_url!r})"

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def client(self) -> httpx.Client:
        """The connection pool, made at the first use."""
        if self._client is None:
            # A proxy of the environment can't reach our own loopback.
            trust = urlsplit(self.base_url).hostname not in _LOOPBACK
            self._client = httpx.Client(
                base_url=self.base_url + "/v1", timeout=self._timeout(None), trust_env=trust, follow_redirects=False
            )
        return self._client

    def headers(self, **more: str | None) -> dict[str, str]:
        """Headers of every request. Raises ConfigError when there is no token."""
        if not self.token:
            raise ConfigError(
                f"No token for {self.base_url}. Set BW_PAT, pass api_key=, or run `benchwright login`. "
                f"Tokens are minted at {self.base_url}/manage."
            )
        if not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise ConfigError("The token holds spaces or signs that no token has. Copy it again, whole and alone.")
        fixed = {"Authorization": f"Bearer {self.token}", "User-Agent": f"benchwright-python/{__version__}"}
        return fixed | {name.replace("_", "-"): value for name, value in more.items() if value is not None}

    def json(self, method: str, path: str, **options: Any) -> Any:
        """The decoded answer: an Object, a list, or text when it is not JSON. None for 204."""
        reply = self.send(Call(method, path, **options))
        if reply.status_code == 204 or not reply.content:
            return None
        value = decoded(reply)
        if isinstance(value, str) and "html" in reply.headers.get("content-type", ""):
            raise APIConnectionError(
                f"{self.base_url} answered {method} {path} with a web page: it is no Benchwright server. "
                "Check BW_BASE_URL, and that no proxy or sign-in page stands in between."
            )
        return Object(value, reply.headers) if isinstance(value, dict) else wrap(value)

    def raw(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer as it is, for bytes and headers."""
        return self.send(Call(method, path, **options))

    def send(self, call: Call) -> httpx.Response:
        """Send with retries. Raises a subclass of APIError, or APIConnectionError when no answer came."""
        request = self._build(call)
        tried = 0
        while True:
            try:
                reply = self.client().send(request)
            except httpx.RequestError as error:
                again = tried < self.max_retries and (call.may_repeat() or isinstance(error, _UNSENT))
                if not again:
                    raise self.unreachable(error, call) from error
                wait = backoff(tried)
            else:
                self._note_deprecation(reply)
                if reply.status_code < 300:
                    return reply
                problem = for_answer(
                    reply.status_code, decoded(reply), reply.headers, f"{call.method} {call.path}", self.base_url
                )
                if call.method == "DELETE" and tried and reply.status_code in (404, 410):
                    return reply.__class__(204, request=request)  # the lost first answer had done it
                delay = self._retry_delay(call, reply, problem, tried)
                if delay is None:
                    raise problem
                wait = delay
            tried += 1
            self.sleep(wait)

    def stranger(self, method: str, path: str, wanted: str) -> ConfigError:
        """What to say when the answer is not ``wanted``. The token was sent, so the error says where to."""
        return ConfigError(
            f"{self.base_url} answered {method} {path}, but not with {wanted}: it is no Benchwright server, and it was "
            "sent your token. Check BW_BASE_URL and --base-url."
        )

    def unreachable(self, error: Exception, call: Call) -> APIConnectionError:
        """What to say when no answer came."""
        slow = isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout)
        cause = f"no answer within {call.timeout or self.timeout:g} s" if slow else str(error) or type(error).__name__
        unknown = (
            "" if call.may_repeat() or isinstance(error, _UNSENT) else " It may have been carried out: look first."
        )
        return APIConnectionError(
            f"Could not reach {self.base_url} ({call.method} {call.path}): {cause}.{unknown} "
            "Check that the server runs and that BW_BASE_URL is right; `benchwright doctor` tells more."
        )

    def _build(self, call: Call) -> httpx.Request:
        content = call.body if isinstance(call.body, bytes) or call.body is None else encoded(call.body)
        headers = self.headers(
            Accept="application/json",
            Content_Type=None if content is None else "application/json",
            Idempotency_Key=call.key,
            If_Match=_quoted(call.if_match),
        )
        params = {name: text for name, value in call.params.items() if (text := _query(value)) is not None}
        return self.client().build_request(
            call.method, call.path, params=params, content=content, headers=headers, timeout=self._timeout(call.timeout)
        )

    def _timeout(self, seconds: float | None) -> httpx.Timeout:
        whole = self.timeout if seconds is None else seconds
        return httpx.Timeout(whole, connect=min(whole, 10.0))

    def _retry_delay(self, call: Call, reply: httpx.Response, problem: APIError, tried: int) -> float | None:
        in_flight = problem.code == "idempotency_in_progress" and call.key is not None
        refused_unread = reply.status_code == 429
        if tried >= self.max_retries and not (in_flight and tried < self.max_retries + 10):
            return None
        if not in_flight and not (reply.status_code in _RETRIED and (call.may_repeat() or refused_unread)):
            return None
        asked = retry_after(reply.headers.get("retry-after"))
        if asked is not None and asked > LONGEST_WAIT:
            return None
        return max(backoff(tried), (asked or 0.0) * random.uniform(1.0, 1.1))  # noqa: S311  # jitter is no secret

    def _note_deprecation(self, reply: httpx.Response) -> None:
        if "deprecation" in reply.headers:
            until = reply.headers.get("sunset", "")
            text = f"{reply.request.method} {reply.request.url.path} uses something deprecated"
            warnings.warn(text + (f", to be removed on {until}" if until else ""), DeprecationWarning, stacklevel=5)


def backoff(tried: int) -> float:
    """Seconds before the next try: 0.5, 1, 2, 4 … 8, each with jitter of a quarter."""
    return min(8.0, 0.5 * 2.0 ** min(tried, 10)) * random.uniform(0.75, 1.25)  # noqa: S311  # jitter is no secret


def retry_after(value: str | None) -> float | None:
    """Seconds asked for by a Retry-After header: a number or an HTTP date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def new_key() -> str:
    """A random idempotency key: the retries of one call share it, and nothing else does."""
    return f"sdk-{uuid.uuid4().hex}"


def segment(value: str) -> str:
    """An id as one path segment, whatever it holds. Raises ValueError for an empty one."""
    if not value or value in (".", ".."):
        raise ValueError(f"{value!r} is not an id")
    return quote(str(value), safe="")


def encoded(body: Any) -> bytes:
    """A body as JSON bytes. Raises ValueError or TypeError for what JSON can't say (NaN, dates, lone surrogates)."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def decoded(reply: httpx.Response) -> Any:
    kind = reply.headers.get("content-type", "")
    if "json" in kind:
        try:
            return json.loads(reply.content)
        except ValueError:
            pass
    return reply.text


def given(**fields: Any) -> dict[str, Any]:
    """The fields that were given: None means "not said"."""
    return {name: value for name, value in fields.items() if value is not None}


def _query(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(str(item) for item in value)
    return None if value is None else str(value)


def _quoted(tag: str | None) -> str | None:
    return tag if tag is None or tag.startswith(('"', "W/")) or tag == "*" else f'"{tag}"'
