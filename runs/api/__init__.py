"""/v1/runs and /v1/connections: doors. They hold no rules: read the request, call one function, render."""

from ninja import Router

from runs.api import (
    artifacts,
    blocked,
    changes,
    connections,
    following,
    forking,
    listing,
    reporting,
    results,
    scoring,
)

router = Router(tags=["runs"])
for part in (changes, forking, listing, following, results, artifacts, blocked, reporting, scoring, connections):
    router.add_router("", part.router)
