"""Authoring: benchmarks and impls. Subsets have a file of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._http import Http, given, segment
from .._objects import Object
from .._pages import Page
from .base import Resource
from .registry import code_text
from .subsets import Subsets


class Benchmarks(Resource):
    """``bw.benchmarks``"""

    def __init__(self, http: Http) -> None:
        super().__init__(http)
        self.subsets = Subsets(http)

    def create(
        self,
        name: str,
        description: str | None = None,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        body = given(name=name, description=description, category=category, tags=tags)
        return self._create("/benchmarks", body, idempotency_key)

    def update(self, bm_id: str, *, if_match: str | None = None, **fields: Any) -> Object:
        """Change name, description, category or tags."""
        return self._patch(f"/benchmarks/{segment(bm_id)}", fields, if_match)

    def delete(self, bm_id: str) -> Object | None:
        return self._delete(f"/benchmarks/{segment(bm_id)}")


class Impls(Resource):
    """``bw.impls``"""

    def create(
        self,
        subset: str,
        code: str,
        label: str | None = None,
        benchmark: str | None = None,
        language: str = "python",
        description: str | None = None,
        pass_threshold: float | None = None,
        network: Sequence[str] | None = None,
        judge: Mapping[str, Any] | None = None,
        isolation: str | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """Register the text of a ``task_impl.py`` as a scorer of ``subset``. The same bytes give the same id."""
        body = given(
            benchmark=benchmark,
            subset=subset,
            label=label,
            language=language,
            code=code,
            description=description,
            pass_threshold=pass_threshold,
            network=network,
            judge=judge,
            isolation=isolation,
        )
        return self._create("/impls", body, idempotency_key)

    def create_from_run(
        self,
        from_run: str,
        benchmark: str | None = None,
        subset: str | None = None,
        label: str | None = None,
        idempotency_key: str | None = None,
    ) -> Object:
        """Freeze the scorer of a run as an impl of another subset."""
        body = given(from_run=from_run, benchmark=benchmark, subset=subset, label=label)
        return self._create("/impls/from_run", body, idempotency_key)

    def list(self, subset: str | None = None, limit: int | None = None, page_token: str | None = None) -> Page:
        return self._page("/impls", subset=subset, limit=limit, page_token=page_token)

    def get(self, imp_id: str) -> Object:
        return self._get(f"/impls/{segment(imp_id)}")

    def code(self, imp_id: str) -> str:
        """The text of ``task_impl.py``."""
        return code_text(self._http, f"/impls/{segment(imp_id)}/code")

    def update(self, imp_id: str, *, if_match: str | None = None, **fields: Any) -> Object:
        """Change label or description; the code never changes under an id."""
        return self._patch(f"/impls/{segment(imp_id)}", fields, if_match)

    def delete(self, imp_id: str) -> Object | None:
        return self._delete(f"/impls/{segment(imp_id)}")
