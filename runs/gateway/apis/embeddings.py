"""`/v1/embeddings`: vectors for texts. Only the input is counted."""

from typing import Any, ClassVar

import orjson

from runs.gateway.answers import Failed, refusal
from runs.gateway.apis.base import Api, broken, refuse
from runs.providers.data import Provider
from runs.providers.metering import EMBEDDINGS

MOST_INPUTS = 2048
MOST_DIMENSIONS = 16_384


class Embeddings(Api):
    """Embeddings as OpenAI speaks them. There are no streams."""

    name = "embeddings"
    path = b"/v1/embeddings"
    upstream = "/embeddings"
    names = EMBEDDINGS
    needs: ClassVar[tuple[str, tuple[type, ...], str]] = ("input", (str, list), "an input: a text or a list of texts")
    own = frozenset(("input",))
    plain = frozenset(
        (
            "input", "model", "dimensions", "encoding_format", "user", "input_type", "truncate", "normalize",
            "output_dimension", "output_dtype", "add_special_tokens", "truncate_prompt_tokens", "stream",
        )
    )  # fmt: skip
    bounds: ClassVar = {"dimensions": (1, MOST_DIMENSIONS), "output_dimension": (1, MOST_DIMENSIONS)}
    dropped = frozenset(("user",))
    streams = False

    def choices(self, body: dict[str, Any]) -> int:
        asked = body["input"]
        several = isinstance(asked, list) and asked and not isinstance(asked[0], int)
        count = len(asked) if several else 1
        if count > MOST_INPUTS:
            raise refuse("input", f"at most {MOST_INPUTS} inputs in one request")
        return count

    def adapt(self, body: dict[str, Any], provider: Provider, stream: bool) -> dict[str, Any]:
        return body

    def fault(self, answer: dict[str, Any], headers: dict[bytes, bytes], label: str) -> Failed | None:
        if answer.get("error"):
            return broken(answer["error"], headers, label)
        if not isinstance(answer.get("data"), list) or not answer["data"]:
            return refusal(502, headers, orjson.dumps({"error": {"message": "the answer holds no vector"}}), label)
        return None
