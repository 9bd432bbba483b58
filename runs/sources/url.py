"""Rows at any https address: {"source": "url", "url", "answers_url"?, "format"?, "revision"?}.

``answers_url``: a second file with the right answers, joined to the first by id. ``revision``: a label of yours;
a new one has the file fetched anew.
"""

from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from runs.sources.base import Fetched, Locator
from runs.sources.files import fetching
from runs.sources.files.formats import FORMATS, format_of
from runs.sources.files.joining import joined
from runs.sources.troubles import SourceError, missing
from runs.sources.web import Web


class Url:
    keys = ("url", "answers_url", "format", "revision")

    def check(self, locator: Locator) -> None:
        url = locator.get("url")
        if not isinstance(url, str) or not url:
            raise missing("url", "url")
        if urlsplit(url).scheme != "https" or urlsplit(url).username is not None:
            raise SourceError(
                "bad_locator",
                f"{url[:200]} is no plain https address.",
                "Rows are fetched from https addresses, without a password in them.",
            )
        if locator.get("format") not in (None, *FORMATS):
            raise SourceError("bad_locator", f"There is no format {locator['format']!r}.", f"Use {', '.join(FORMATS)}.")

    async def fetch(self, locator: Locator, web: Web) -> Fetched:
        urls = [str(locator[key]) for key in ("url", "answers_url") if locator.get(key)]
        read = [await _file(web, url, str(locator.get("format") or "")) for url in urls]
        rows = joined(read[0].rows, read[1].rows, urls) if len(read) > 1 else read[0].rows
        first = read[0].answer
        revision = str(locator.get("revision") or "") or first.headers.get("etag", "").strip('"W/') or first.sha256
        return Fetched(rows, revision[:64], private=web.used_secrets(), facts=fetching.merged(read))


async def _file(web: Web, url: str, form: str) -> fetching.File:
    name = PurePosixPath(unquote(urlsplit(url).path)).name or url
    found = await fetching.fetched(web, url, name, form or format_of(name))
    if not isinstance(found, fetching.File):
        raise _unavailable(url, found.status)
    return found


def _unavailable(url: str, status: int) -> SourceError:
    host = urlsplit(url).hostname
    if status in (401, 403):
        return SourceError(
            "rows_gated",
            f"{host} does not show {url} to everybody (it answers {status}).",
            f"Add a secret whose rule names {host} (page Secrets, or bw.secrets.create), then launch again.",
        )
    return SourceError(
        "rows_unavailable",
        f"There are no rows at {url}: {host} answers {status}.",
        "Look at the address: it must lead to the file itself, not to a page that shows it.",
    )
