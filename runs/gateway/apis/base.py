"""What every endpoint has in common. Someone else's scorer spends the run owner's key: closed by default.

``sut.params`` come from the run's owner and are laid over what the scorer sends, past these rules.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import orjson

from runs.gateway.answers import Failed, Refused, parse, refusal
from runs.gateway.apis.events import Events
from runs.gateway.http.inbound import Inbound
from runs.providers.data import Provider
from runs.providers.metering import CHAT, Names

MOST_CHOICES = 8
MOST_TOKENS = 262_144
MOST_LOGPROBS = 20
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


class Asked(NamedTuple):
    """A request as it goes to the provider. ``hash`` is over ``payload``; ``show_usage``: the client asked for it."""

    payload: bytes
    hash: str
    body: dict[str, Any]
    stream: bool
    show_usage: bool
    choices: int  # answers that one request asks for


class Told(NamedTuple):
    """What an answer says of itself."""

    served: str | None  # the model
    upstream: str | None  # who served it, where a router says so
    reason: str | None  # why it ended, in the words of chat completions
    usage: Any  # as it came, to be read by the endpoint's ``names``


class Api:
    """One endpoint: the rules of its requests, and the reading of its answers."""

    name = ""  # as in ``Provider.apis``
    path = b""  # where scorers post to
    upstream = ""  # the path behind the provider's base URL
    names: Names = CHAT  # of its usage
    needs: ClassVar[tuple[str, tuple[type, ...], str]] = ("", (), "")  # a field, its types, in words
    own: frozenset[str] = frozenset()  # fields that sut.params don't touch
    plain: frozenset[str] = frozenset()  # fields that only shape the answer of the one model
    bounds: ClassVar[Mapping[str, tuple[int, int]]] = {}
    looked_at: frozenset[str] = frozenset()  # fields whose values are judged in ``look_at``
    dropped: frozenset[str] = frozenset()  # they tell the provider about us, or keep things there
    caps: frozenset[str] = frozenset()  # names of one and the same limit on the answer's length
    streams = True
    salted = True  # the hash is over the path too, so that no two endpoints share an answer

    # -- requests --------------------------------------------------------------------------------------------------
    def prepare(self, raw: bytes, model: str, provider: Provider, params: Mapping[str, Any]) -> Asked:
        """Checks a request and makes the provider's of it. Refused 400 or 403."""
        body = self._object(raw)
        if body.get("model") != model:
            _check_model(body.get("model"), model, provider)
            body["model"] = model
        self._judge(body)
        choices = self.choices(body)
        if provider.spares:
            _spare(body, model, provider)
        if params:
            self._lay_over(body, params)
            if type(params.get("n")) is int:
                choices = self.choices(body)
        stream = body.pop("stream", False)
        if not isinstance(stream, bool) or (stream and not self.streams):
            words = "must be true or false" if self.streams else "there are no streams here"
            raise Refused(400, "invalid_request", f"stream: {words}", "stream")
        options = body.pop("stream_options", None)
        show = isinstance(options, dict) and options.get("include_usage") is True
        body = self.adapt(body, provider, stream)
        payload = orjson.dumps(body, option=_SORTED)
        digest = hashlib.sha256(payload)
        if self.salted:
            digest.update(self.path)
        return Asked(payload, digest.hexdigest(), body, stream, show, choices)

    def _judge(self, body: dict[str, Any]) -> None:
        bounded, looked_at, dropped = _shape(self, tuple(body))
        for name in bounded:
            least, most = self.bounds[name]
            value = body[name]
            if type(value) is not int or not least <= value <= most:
                raise refuse(name, f"must be a whole number from {least} to {most}")
        if looked_at:
            self.look_at(body)
        for name in dropped:
            del body[name]

    def _object(self, raw: bytes) -> dict[str, Any]:
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError as bad:
            raise Refused(400, "invalid_json", f"the body is not valid JSON: {bad}") from None
        field, types, words = self.needs
        if not isinstance(body, dict) or not isinstance(body.get(field), types):
            raise Refused(400, "invalid_request", f"the body must be an object with {words}", field)
        if None in body.values():
            return {name: value for name, value in body.items() if value is not None}
        return body

    def _lay_over(self, body: dict[str, Any], params: Mapping[str, Any]) -> None:
        for name, value in params.items():
            if name in self.own or name in ("model", "stream", "stream_options"):
                continue
            if name in self.caps:
                for other in self.caps:
                    body.pop(other, None)
            if value is None:
                body.pop(name, None)
            else:
                body[name] = value

    def look_at(self, body: dict[str, Any]) -> None:
        """Judges values. Refused."""

    def choices(self, body: dict[str, Any]) -> int:
        """How many answers a request asks for. Refused where they are too many."""
        count: int = body.get("n", 1)
        return count

    def adapt(self, body: dict[str, Any], provider: Provider, stream: bool) -> dict[str, Any]:
        """The body as this provider wants it. Refused 400 for what it could not keep to."""
        for name, wanted in provider.renames.items():
            if name in body:
                body.setdefault(wanted, body[name])
                del body[name]
        if stream:
            body["stream"] = True
            if "no_stream_options" not in provider.quirks:
                body["stream_options"] = {"include_usage": True}
        return body

    # -- answers ---------------------------------------------------------------------------------------------------
    def read(self, raw: bytes) -> tuple[bytes, dict[str, Any]]:
        """What the client gets for a provider's 200 answer, and the object. ValueError if it is no JSON object."""
        value, odd = parse(raw)
        if not isinstance(value, dict):
            raise ValueError("the provider's answer is no JSON object")
        if self.tidy(value) or odd:
            return orjson.dumps(value), value
        return raw, value

    def tidy(self, value: dict[str, Any]) -> bool:
        """Mends what scorers trip over. True where something was changed."""
        return False

    def fault(self, answer: dict[str, Any], headers: dict[bytes, bytes], label: str) -> Failed | None:
        """The fault inside an answer that calls itself 200: routers report an upstream's failure so. None if good.

        Without this a provider's fault would reach the scorer as an empty or a cut answer, and count as a wrong one.
        """
        error = answer.get("error")
        return broken(error, headers, label) if error else None

    def told(self, answer: dict[str, Any]) -> Told:
        served, upstream = answer.get("model"), answer.get("provider")
        return Told(
            served if isinstance(served, str) else None,
            upstream if isinstance(upstream, str) else None,
            self.reason(answer),
            answer.get("usage"),
        )

    def reason(self, answer: dict[str, Any]) -> str | None:
        """Why the answer ended: stop, length, tool_calls, content_filter or the provider's own word."""
        return None

    def events(self, conn: Inbound, redactor: Any, asked: Asked) -> Events:
        """The reader of one stream."""
        raise NotImplementedError


def broken(error: Any, headers: dict[bytes, bytes], label: str) -> Failed:
    """What an error object, or a text in its place, inside an answer means."""
    error = {"message": error} if isinstance(error, str) else error
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 502
    return refusal(status, headers, orjson.dumps({"error": error}), label)


def refuse(name: str, why: str) -> Refused:
    return Refused(403, "parameter_not_allowed", f"{name}: {why}", name)


def functions_only(body: dict[str, Any]) -> None:
    """Refuses tools that the provider runs itself, for instance browsing."""
    tools = body.get("tools", [])
    for tool in tools if isinstance(tools, list) else [None]:
        if not isinstance(tool, dict) or tool.get("type") not in ("function", "custom"):
            raise refuse("tools", "only tools of type function; nothing that the provider runs itself")


def _check_model(asked: Any, model: str, provider: Provider) -> None:
    if asked in (None, "", model, f"{provider.name}/{model}"):
        return
    told = f"the scorer asked for the model {str(asked)[:100]!r}, and this run may call {model!r} only: "
    raise Refused(403, "model_not_allowed", told + 'send os.environ["BW_MODEL_MODEL"] as the model', "model")


@lru_cache(256)
def _shape(api: Api, names: tuple[str, ...]) -> tuple[tuple[str, ...], bool, tuple[str, ...]]:
    """Of a body with these fields: those that have bounds, whether values must be looked at, those to drop. Refused."""
    found = set(names)
    if not found <= api.plain:
        name = sorted(found - api.plain)[0][:100]
        raise refuse(name, "not open to scorers; the run's owner can set it in sut.params")
    return tuple(found & api.bounds.keys()), bool(found & api.looked_at), tuple(found & api.dropped)


def _spare(body: dict[str, Any], model: str, provider: Provider) -> None:
    """Takes out what some models refuse and every scorer sends, such as a temperature for those that reason."""
    for spared in provider.spares:
        if spared.names & body.keys() and _matches(spared.models, model):
            for name in spared.names:
                body.pop(name, None)


@lru_cache(256)
def _matches(pattern: str, model: str) -> bool:
    return re.search(pattern, model) is not None
