"""The catalogue, read only."""

from collections.abc import Sequence

from .._http import Http, decoded, segment
from .._objects import Object
from .._pages import Page
from .base import Resource

Expand = Sequence[str] | str | None


class RegistryBenchmarks(Resource):
    """``bw.registry.benchmarks``"""

    def list(
        self, tag: str | None = None, sort: str | None = None, limit: int = 50, page_token: str | None = None
    ) -> Page:
        return self._page("/registry/benchmarks", tag=tag, sort=sort, limit=limit, page_token=page_token)

    def get(self, bm_id: str, expand: Expand = None) -> Object:
        return self._get(f"/registry/benchmarks/{segment(bm_id)}", expand=expand)

    def find(self, name: str) -> Object | None:
        """The benchmark of that name (case does not matter), else the only one that holds it, else None.

        Searched here, in the first 100 rows of the list.
        """
        wanted = name.casefold()
        rows = self.list(limit=100).data[:100]
        same = [row for row in rows if str(row["name"]).casefold() == wanted]
        near = [row for row in rows if wanted in str(row["name"]).casefold()]
        if same:
            return same[0]  # type: ignore[no-any-return]
        return near[0] if len(near) == 1 else None

    def range(self, bm_id: str, tasks: str) -> Object:
        """Runs that cover an ad-hoc range of tasks, such as ``"0-5"``."""
        return self._get(f"/registry/benchmarks/{segment(bm_id)}/range", tasks=tasks)


class RegistrySubsets(Resource):
    """``bw.registry.subsets``"""

    def get(self, sub_id: str, expand: Expand = None) -> Object:
        return self._get(f"/registry/subsets/{segment(sub_id)}", expand=expand)

    def leaderboard(self, sub_id: str) -> Object:
        return self._get(f"/registry/subsets/{segment(sub_id)}/leaderboard")

    def runs(self, sub_id: str, limit: int | None = None) -> Page:
        """Every run against this subset that you may see."""
        return self._page(f"/registry/subsets/{segment(sub_id)}/runs", limit=limit)


class RegistryImpls(Resource):
    """``bw.registry.impls``"""

    def get(self, imp_id: str, expand: Expand = None) -> Object:
        return self._get(f"/registry/impls/{segment(imp_id)}", expand=expand)

    def code(self, imp_id: str) -> str:
        """The text of ``task_impl.py``."""
        return code_text(self._http, f"/registry/impls/{segment(imp_id)}/code")

    def runs(self, imp_id: str, limit: int | None = None) -> Page:
        """Every run scored by this impl that you may see."""
        return self._page(f"/registry/impls/{segment(imp_id)}/runs", limit=limit)


class Registry:
    """``bw.registry``"""

    def __init__(self, http: Http) -> None:
        self.benchmarks = RegistryBenchmarks(http)
        self.subsets = RegistrySubsets(http)
        self.impls = RegistryImpls(http)


def code_text(http: Http, path: str) -> str:
    """An impl's code, whether the server wraps it in JSON or sends the text."""
    answer = decoded(http.raw("GET", path))
    return str(answer["code"]) if isinstance(answer, dict) else str(answer)
