"""The endpoints by their paths, and what to say about all others."""

from collections.abc import Mapping

from runs.gateway.answers import Refused
from runs.gateway.apis.base import Api
from runs.gateway.apis.chat import Chat
from runs.gateway.apis.completions import Completions
from runs.gateway.apis.embeddings import Embeddings
from runs.gateway.apis.messages import Messages
from runs.gateway.apis.responses import Responses
from runs.providers.data import Provider

_PLAIN: tuple[Api, ...] = (Chat(), Completions(), Embeddings(), Responses())
_MESSAGES = Messages()
_PATHS = frozenset(api.path for api in _PLAIN)
# They reach what the run's owner keeps at the provider, or are no model calls.
_REFUSED = (
    b"/v1/files", b"/v1/fine_tuning", b"/v1/fine-tunes", b"/v1/assistants", b"/v1/threads", b"/v1/batches",
    b"/v1/images", b"/v1/audio", b"/v1/videos", b"/v1/realtime", b"/v1/uploads", b"/v1/vector_stores",
    b"/v1/moderations", b"/v1/containers", b"/v1/organization", b"/v1/conversations", b"/v1/evals", b"/v1/responses/",
)  # fmt: skip


def of(provider: Provider) -> Mapping[bytes, Api]:
    """The endpoints that a provider has, by the path that scorers post to."""
    found = {api.path: api for api in _PLAIN if api.name in provider.apis}
    if "messages" in provider.quirks:
        found[_MESSAGES.path] = _MESSAGES
    return found


def refuse_path(method: bytes, path: bytes, provider: Provider) -> Refused:
    """What to say about anything but the provider's endpoints and the list of models."""
    shown, served = path[:200].decode("latin-1"), of(provider)
    use = f"use {' or '.join(sorted(each.decode() for each in served))}"
    if path in served or path == b"/v1/models":
        wanted = "GET" if path == b"/v1/models" else "POST"
        return Refused(405, "method_not_allowed", f"{shown} takes {wanted}, not {method.decode()}")
    if path in _PATHS:
        return Refused(404, "not_found", f"{provider.label} has no {shown}; {use}")
    if path.startswith(_REFUSED):
        return Refused(403, "parameter_not_allowed", f"{shown} is not open to scorers; {use}")
    if b"/v1" + path in served:
        use = f"did you mean /v1{shown}? BW_MODEL_PROXY_URL does not end in /v1"
    return Refused(404, "not_found", f"there is no {shown} here; {use}")
