"""How quickly a run of a million cells is read: its first and its last page, itself, and the list of runs.

    python -m benchmarks.reads [--cells 1000000] [--tries 60]

Targets: a page ≤ 50 ms at p95, `GET /v1/runs/{id}` ≤ 15 ms at p50. One client, one connection, the real web part.
"""

import argparse
import http.client
import json
import time
from collections.abc import Callable
from urllib.parse import quote

from benchmarks import own

if __name__ == "__main__":
    own.enter("benchmarks.reads")

from django.http import QueryDict

from benchmarks import rows
from kernel import listing, paging, strict_json
from runs.api.results import FILTERS, SORTS
from runs.models import Run, TaskResult

LISTED_RUNS = 60


class Client:
    def __init__(self, port: int, token: str) -> None:
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> tuple[float, bytes]:
        """(milliseconds, body) of a GET that must succeed."""
        began = time.perf_counter()
        self.line.request("GET", path, headers=self.headers)
        answer = self.line.getresponse()
        body = answer.read()
        took = (time.perf_counter() - began) * 1000
        assert answer.status == 200, (answer.status, body[:300])
        return took, body


def last_page(run: Run, limit: int = 100) -> str:
    """The token of the page that ends the list: what following 10,000 `next_page_token`s would give."""
    query = listing.parse(
        QueryDict(f"limit={limit}"), sorts=tuple(SORTS), default="task", filters=FILTERS, default_limit=limit
    )
    context = strict_json.canonical([[str(part) for part in (run.owner_id, "tasks", run.id)], query.signature()])
    before = TaskResult.objects.get(run=run, ordinal=run.planned - limit - 1, live=True)
    return paging._sealed(before.ordinal, before.pk, context)


def timed(client: Client, path: str, tries: int, check: Callable[[bytes], bool] = bool) -> dict[str, float]:
    took = []
    for _ in range(tries + 3):
        ms, body = client.get(path)
        assert check(body), body[:300]
        took.append(ms)
    took = took[3:]
    return {"p50_ms": round(own.percentile(took, 0.5), 1), "p95_ms": round(own.percentile(took, 0.95), 1)}


def ends(body: bytes) -> bool:
    page = json.loads(body)
    return page["next_page_token"] is None and len(page["data"]) == 100


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cells", type=int, default=1_000_000)
    ap.add_argument("--tries", type=int, default=60)
    args = ap.parse_args()
    user, token = rows.owner()
    on = rows.impl(user)
    big = rows.run(on, args.cells)
    rows.results(big, args.cells)
    for number in range(LISTED_RUNS):
        rows.results(rows.run(on, 40), 40, args.cells + number * 40)
    rows.settle()
    found: dict[str, object] = {"cells": args.cells}
    with own.web() as web:
        client, path = Client(web.port, token), f"/v1/runs/{big.id}"
        token_of_last = quote(last_page(big), safe="")
        found["run"] = timed(client, path, args.tries)
        found["first_page"] = timed(client, f"{path}/tasks?limit=100", args.tries)
        found["last_page"] = timed(client, f"{path}/tasks?limit=100&page_token={token_of_last}", args.tries, ends)
        found["worst_first_filtered"] = timed(client, f"{path}/tasks?limit=100&passed=false&sort=-score", 5)
        found["runs_list"] = timed(client, "/v1/runs?limit=50", args.tries)
        found["events_page"] = timed(client, f"{path}/events", 5)
    met = found["run"]["p50_ms"] <= 15 and max(found[key]["p95_ms"] for key in ("first_page", "last_page")) <= 50
    own.report("reads", **found, met=met)


if __name__ == "__main__":
    main()
