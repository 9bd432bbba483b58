"""Lists that page by themselves."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from ._objects import Object

Fetch = Callable[[str], Mapping[str, Any]]  # page token -> the next page's body


class LazyList(Sequence[Any]):
    """Rows of a list, fetched a page at a time as they are needed.

    An index or a slice fetches up to it, iterating fetches as it goes. ``len()``, ``in``, negative indexes and open
    slices need every page and fetch them. Fetched rows are kept, so a second pass is free.
    """

    def __init__(self, rows: Sequence[Any], token: str | None, fetch: Fetch) -> None:
        self._rows = list(rows)
        self._token = token
        self._fetch = fetch

    def _more(self) -> bool:
        if not self._token:
            return False
        page = self._fetch(self._token)
        following = page.get("next_page_token")
        self._rows.extend(page["data"])
        self._token = following if following != self._token else None  # a server that repeats itself ends the list
        return True

    def _reach(self, count: int | None) -> None:
        while (count is None or len(self._rows) < count) and self._more():
            pass

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            ends = (index.start, index.stop)
            counted = index.stop is not None and all(end is None or end >= 0 for end in ends) and (index.step or 1) > 0
            self._reach(index.stop if counted else None)
        else:
            self._reach(index + 1 if index >= 0 else None)
        return self._rows[index]

    def __iter__(self) -> Iterator[Any]:
        for position in itertools.count():
            self._reach(position + 1)
            if position >= len(self._rows):
                return
            yield self._rows[position]

    def __len__(self) -> int:
        self._reach(None)
        return len(self._rows)

    def __bool__(self) -> bool:
        self._reach(1)
        return bool(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # a list, like any other

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self._rows))}{', …' if self._token else ''}]"


class Page:
    """A list's answer: ``.data`` pages by itself, ``.next_page_token`` is this page's own; iterable itself."""

    def __init__(self, body: Mapping[str, Any], fetch: Fetch) -> None:
        self.body = body
        self.next_page_token: str | None = body.get("next_page_token")
        self.data = LazyList(body["data"], self.next_page_token, fetch)

    def __getitem__(self, name: str) -> Any:
        return self.data if name == "data" else self.body[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.body else default

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "body" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.body, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:
        return bool(self.data)

    def __repr__(self) -> str:
        extra = "".join(f", {k!r}: {v!r}" for k, v in self.body.items() if k not in ("object", "data"))
        return f"{{'object': 'list', 'data': {self.data!r}{extra}}}"


class TaskPage(Page):
    """Results of a run: ``summary`` of the whole run, ``data`` slim rows, ``payload(tsk_id)`` one row in full."""

    def __init__(self, body: Mapping[str, Any], fetch: Fetch, payload: Callable[[str], Object]) -> None:
        super().__init__(body, fetch)
        self.payload = payload
