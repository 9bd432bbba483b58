"""Subsets: the samples of a benchmark, uploaded in pieces when they are many."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from .._http import encoded, given, new_key, segment
from .._objects import Object
from .._uploading import Piece, in_pieces
from ..errors import APIError, BenchwrightError, RateLimitError, ServerError
from .base import Resource

Rows = Iterable[Mapping[str, Any]]


class Subsets(Resource):
    """``bw.benchmarks.subsets``"""

    def create(
        self,
        benchmark: str,
        slug: str,
        name: str | None = None,
        description: str | None = None,
        tasks: Rows | None = None,
        rolling: bool = False,
        grader: Mapping[str, Any] | None = None,
        answers: str | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """A subset of ``tasks`` (``{"task_id", "input", "expected"}`` and what else the rows hold).

        Frozen at once unless ``rolling``. More than 1,000 rows, or 15 MB, go up in pieces; a refused piece removes
        what went before it, and the error counts rows from the first of all. After a failure of the server or the
        line the same call with the same ``idempotency_key`` goes on where it was; mended rows need another key.
        """
        fields = given(slug=slug, name=name, description=description, grader=grader, answers=answers)
        fields["rolling"] = rolling
        path = f"/benchmarks/{segment(benchmark)}/subsets"
        key = idempotency_key or new_key()
        pieces = in_pieces(tasks or ())
        first = next(pieces)
        if first.last:
            return self._send(path, fields, first, key)
        subset = self._send(path, fields if rolling else fields | {"staged": True}, first, key)
        try:
            return self._rest(subset["id"], pieces, key, staged=not rolling)
        except (ServerError, RateLimitError):
            if idempotency_key is None:  # nobody could take it up again
                self._remove(subset["id"])
            raise
        except (APIError, ValueError, TypeError):
            self._remove(subset["id"])
            raise

    def append_tasks(self, sub_id: str, tasks: Rows, idempotency_key: str | None = None) -> Object:
        """Add rows to a rolling subset. Many rows go up in pieces, each of its own revision."""
        key = idempotency_key or new_key()
        return self._rest(sub_id, in_pieces(tasks), key, staged=False)

    def update(self, sub_id: str, *, if_match: str | None = None, **fields: Any) -> Object:
        """Change name or description; ``rolling=False`` freezes, one way."""
        return self._patch(f"/subsets/{segment(sub_id)}", fields, if_match)

    def delete(self, sub_id: str) -> Object | None:
        return self._delete(f"/subsets/{segment(sub_id)}")

    def _remove(self, sub_id: str) -> None:
        with suppress(BenchwrightError):  # the error that led here is the one to tell
            self.delete(sub_id)

    def _rest(self, sub_id: str, pieces: Iterable[Piece], key: str, staged: bool) -> Object:
        path = f"/subsets/{segment(sub_id)}/tasks"
        answer = Object()
        for piece in pieces:
            extra = {"complete": True} if staged and piece.last else {}
            answer = self._send(path, extra, piece, piece.key(key))
        return answer

    def _send(self, path: str, fields: Mapping[str, Any], piece: Piece, key: str) -> Object:
        head = encoded(fields)[1:-1]
        body = b"{" + head + (b"," if head else b"") + b'"tasks":[' + b",".join(piece.rows) + b"]}"
        try:
            answer: Object = self._http.json("POST", path, body=body, key=key)
        except APIError as error:
            piece.count_from_start(error)
            raise
        return answer
