"""A twin of the Hugging Face Hub: its API, its files behind a redirect to a CDN, and its dataset viewer.

``hub.dataset("owner/name", {path: bytes}, …)`` publishes one. What is gated answers as the Hub does, to whom it does.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.twins.hosts_twin import Hosts, Seen, answer

HUB, CDN, VIEWER = "huggingface.co", "cdn-lfs.hf.co", "datasets-server.huggingface.co"
SHA = "5f3e" * 10
TOKEN = "hf_read"


@dataclass
class Published:
    id: str
    files: dict[str, bytes]
    card: dict[str, Any] = field(default_factory=dict)
    sha: str = SHA
    private: bool = False
    gated: Any = False
    parquet: dict[str, dict[str, list[bytes]]] = field(default_factory=dict)  # the Hub's own conversion
    viewer: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    truncated: bool = False
    features: list[dict[str, Any]] = field(default_factory=list)
    downloads: int = 0  # of the last month
    disabled: bool = False
    tags: list[str] = field(default_factory=list)


class HuggingFaceTwin:
    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.datasets: dict[str, Published] = {}
        self.moved: dict[str, str] = {}  # old ids
        self.attached = ""  # what the egress proxy would attach as Authorization, where there is none
        self.busy: list[bytes] = []  # answers that the next requests get, whatever they ask
        for host in (HUB, CDN, VIEWER):
            if host not in hosts.ports:
                hosts.add(host)
            hosts.scripts[host, "*"] = self._answer  # type: ignore[assignment]

    def dataset(self, name: str, files: dict[str, bytes], **more: Any) -> Published:
        made = self.datasets[name] = Published(name, files, **more)
        return made

    def _answer(self, seen: Seen) -> bytes:
        if self.busy:
            return self.busy.pop(0)
        parts = urlsplit(seen.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path)
        if seen.host == CDN:
            return self._cdn(path)
        if seen.host == VIEWER:
            return self._viewer(path, query)
        if path == "/api/datasets":
            return self._search(**query)
        if path.startswith("/api/datasets/"):
            return self._api(path.removeprefix("/api/datasets/"), seen)
        return self._resolve(path.removeprefix("/datasets/"), seen)

    def _search(
        self, limit: str = "1000", search: str = "", author: str = "", full: str = "", sort: str = "trendingScore"
    ) -> bytes:
        """As the Hub lists data sets: pieces of an id, in any case; private ones to nobody here."""
        words = search.casefold()
        held = [each for each in self.datasets.values() if words in each.id.casefold() and not each.private]
        held = [each for each in held if not author or each.id.startswith(f"{author}/")]
        held.sort(key=lambda each: -each.downloads if sort == "downloads" else 0)
        more = ['Link: <https://huggingface.co/api/datasets?cursor=x>; rel="next"'] if len(held) > int(limit) else []
        return said([self._listed(each, full in ("true", "1")) for each in held[: int(limit)]], *more)

    @staticmethod
    def _listed(found: "Published", full: bool) -> dict[str, Any]:
        told = {
            "_id": "621ffdd2", "id": found.id, "author": found.id.partition("/")[0], "disabled": found.disabled,
            "gated": found.gated, "lastModified": "2026-01-02T03:04:05.000Z", "likes": 3, "trendingScore": 0,
            "private": found.private, "sha": found.sha, "description": "", "downloads": found.downloads,
            "tags": [f"license:{found.card.get('license', 'unknown')}", "region:us", *found.tags],
            "createdAt": "2025-01-02T03:04:05.000Z", "key": "",
        }  # fmt: skip
        names = ["README.md", ".gitattributes", *found.files]
        more = {"cardData": found.card, "siblings": [{"rfilename": path} for path in names]}
        return {**told, **more} if full else told

    def _api(self, rest: str, seen: Seen) -> bytes:
        for old, new in self.moved.items():
            if rest == old or rest.startswith(f"{old}/"):
                return answer(b"", f"Location: /api/datasets/{new}{rest[len(old) :]}", status="307 Temporary Redirect")
        found = next(
            (each for each in self.datasets.values() if rest == each.id or rest.startswith(f"{each.id}/")), None
        )
        if found is None or (found.private and not self._authorised(seen)):
            return self._unknown(seen)
        more = rest[len(found.id) :]
        if more == "/parquet":
            base = f"https://{HUB}/api/datasets/{found.id}/parquet"
            return said({
                config: {split: [f"{base}/{config}/{split}/{at}.parquet" for at, _ in enumerate(parts)]
                         for split, parts in splits.items()}
                for config, splits in found.parquet.items()
            })  # fmt: skip
        if more.startswith("/parquet/"):
            config, split, number = more.removeprefix("/parquet/").removesuffix(".parquet").split("/")
            return self._moved(f"/{found.id}@parquet/{config}/{split}/{number}")
        if more.startswith("/revision/") and more.removeprefix("/revision/") not in (found.sha, "main"):
            return said({"error": "Invalid rev id"}, "X-Error-Code: RevisionNotFound", status="404 Not Found")
        return said({
            "_id": "621ffdd2", "id": found.id, "sha": found.sha, "private": found.private, "gated": found.gated,
            "disabled": False, "tags": [f"license:{found.card.get('license', 'unknown')}"], "cardData": found.card,
            "siblings": [{"rfilename": path} for path in ["README.md", ".gitattributes", *found.files]],
        })  # fmt: skip

    def _resolve(self, rest: str, seen: Seen) -> bytes:
        owner, name, _, sha, path = rest.split("/", 4)
        found = self.datasets[f"{owner}/{name}"]
        if (found.gated or found.private) and not self._authorised(seen):
            restricted = f"Access to dataset {found.id} is restricted."
            return said({"error": restricted}, "X-Error-Code: GatedRepo", status="401 Unauthorized")
        if path not in found.files or sha != found.sha:
            return said({"error": "Entry not found"}, "X-Error-Code: EntryNotFound", status="404 Not Found")
        return self._moved(f"/{found.id}/{path}")

    def _authorised(self, seen: Seen) -> bool:
        return f"Bearer {TOKEN}" in (seen.header("authorization"), self.attached)

    def _unknown(self, seen: Seen) -> bytes:
        """The Hub does not tell strangers what there is not."""
        if self._authorised(seen):
            return said({"error": "Repository not found"}, "X-Error-Code: RepoNotFound", status="404 Not Found")
        return said({"error": "Invalid username or password."}, status="401 Unauthorized")

    @staticmethod
    def _moved(path: str) -> bytes:
        return answer(b"", f"Location: https://{CDN}{path}?Signature=abc", status="302 Found")

    def _cdn(self, path: str) -> bytes:
        owner, name, rest = path.removeprefix("/").split("/", 2)
        name, _, converted = name.partition("@")
        found = self.datasets[f"{owner}/{name}"]
        if not converted:
            return answer(found.files[rest], 'ETag: "1"')
        config, split, number = rest.split("/")
        return answer(found.parquet[config][split][int(number)])

    def _viewer(self, path: str, query: dict[str, str]) -> bytes:
        found = self.datasets[query["dataset"]]
        if path == "/splits":
            return said({"splits": [{"dataset": found.id, "config": c, "split": s} for c, s in found.viewer]})
        rows = found.viewer.get((query["config"], query["split"]))
        if rows is None:
            return said({"error": "The dataset viewer has no such split."}, status="404 Not Found")
        start = int(query["offset"])
        page = rows[start : start + min(100, int(query["length"]))]
        return said({
            "features": found.features, "num_rows_total": len(rows), "num_rows_per_page": 100, "partial": False,
            "rows": [{"row_idx": start + at, "row": row, "truncated_cells": ["question"] if found.truncated else []}
                     for at, row in enumerate(page)],
        })  # fmt: skip


def said(value: Any, *headers: str, status: str = "200 OK") -> bytes:
    return answer(json.dumps(value).encode(), "Content-Type: application/json", *headers, status=status)
