"""/v1/runs: the doors of runs. They hold no rules: read the request, call one function, render."""

from ninja import Router

from runs.api import artifacts, blocked, changes, following, listing, results, scoring

router = Router(tags=["runs"])
for part in (changes, listing, following, results, artifacts, blocked, scoring):
    router.add_router("", part.router)
