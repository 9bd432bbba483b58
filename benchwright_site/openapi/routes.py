"""Each route of /v1: its name, what it answers, and the query that it reads. A test wants a row for every route."""

from dataclasses import dataclass

from benchwright_site.openapi.parameters import (
    FIELDS,
    IF_MATCH,
    IF_NONE_MATCH,
    LAST_EVENT_ID,
    RANGE,
    Parameter,
    compared,
    expand,
    paged,
    query,
    several,
)
from benchwright_site.openapi.words import choice, mapping
from runs.artifacts.reading import SERVED
from runs.artifacts.records import TYPES as ARTIFACT_TYPES
from runs.events import TYPES as EVENT_TYPES
from runs.forking.flips import KINDS
from runs.reporting.narrating import SLICES
from runs.reporting.storing import FORMATS
from runs.summary import OUTCOMES


@dataclass(frozen=True)
class Route:
    """``answer``: a schema's name; None: no body. ``media``: of the answer, where not JSON alone. ``also``: further
    statuses; 200 (beside 201) and 206 have the same body."""

    name: str
    answer: str | None
    parameters: tuple[Parameter, ...] = ()
    media: tuple[str, ...] = ("application/json",)
    also: tuple[int, ...] = ()


_FLAG = {"type": "boolean"}
_VISIBILITY = query("visibility", "Only private or public ones.", choice("private", "public"))
_AFTER = query("after_seq", "Only events after this `seq`.", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1})
_ONE = (FIELDS, IF_NONE_MATCH)
_STATUSES = ("queued", "running", "needs_input", "ok", "failed", "halted")
_ROW_SORTS = ("task", "score", "duration_ms", "cost", "tokens_in", "tokens_out", "created_at", "task_id")
_BLOCKED = (query("host", "Only this host."), query("reason", "Only for this reason."))
_CODE = ("text/plain", "application/json")
_RUNS_OF = (
    *paged("created_at", "started_at", "finished_at", default="-created_at"),
    query("status", "Only in this state.", choice(*_STATUSES)),
)

ROUTES: dict[str, Route] = {
    "GET /me": Route("me", "Account"),
    "POST /leaked_tokens": Route("report_leaked_tokens", "LeakReport"),
    "GET /registry/benchmarks": Route(
        "list_benchmarks",
        "BenchmarkList",
        (
            *paged("created_at", "updated_at", "name", default="-created_at"),
            query("tag", "Only those with this tag."),
            query("category", "Only of this category."),
            query("name", "Only with this name."),
            _VISIBILITY,
            expand("subsets"),
        ),
    ),
    "GET /registry/benchmarks/{benchmark_id}": Route("get_benchmark", "Benchmark", (expand("subsets"), *_ONE)),
    "GET /registry/subsets/{subset_id}": Route("get_subset", "Subset", (expand("benchmark"), *_ONE)),
    "POST /benchmarks": Route("create_benchmark", "Benchmark"),
    "PATCH /benchmarks/{benchmark_id}": Route("update_benchmark", "Benchmark", (IF_MATCH,)),
    "DELETE /benchmarks/{benchmark_id}": Route("delete_benchmark", None),
    "POST /benchmarks/{benchmark_id}/subsets": Route("create_subset", "Subset"),
    "POST /subsets/{subset_id}/tasks": Route("append_tasks", "Subset"),
    "PATCH /subsets/{subset_id}": Route("update_subset", "Subset", (IF_MATCH,)),
    "DELETE /subsets/{subset_id}": Route("delete_subset", None),
    "GET /impls": Route(
        "list_impls",
        "ImplList",
        (
            *paged("created_at", default="-created_at"),
            query("subset", "The scorers of this subset that you can use."),
            query("label", "Only with this label."),
        ),
        also=(404,),
    ),
    "POST /impls": Route("create_impl", "Impl"),
    "POST /impls/from_run": Route("create_impl_from_run", "Impl", also=(404, 409, 410)),
    "GET /registry/subsets/{subset_id}/runs": Route("list_subset_runs", "RunList", _RUNS_OF),
    "GET /registry/impls/{impl_id}/runs": Route("list_impl_runs", "RunList", _RUNS_OF),
    "GET /impls/{impl_id}": Route("get_impl", "Impl", (expand("subset"), *_ONE)),
    "PATCH /impls/{impl_id}": Route("update_impl", "Impl", (IF_MATCH,)),
    "DELETE /impls/{impl_id}": Route("delete_impl", None),
    "GET /impls/{impl_id}/code": Route("get_impl_code", "ImplCode", media=_CODE),
    "GET /registry/impls/{impl_id}": Route("get_registry_impl", "Impl", (expand("subset"), *_ONE)),
    "GET /registry/impls/{impl_id}/code": Route("get_registry_impl_code", "ImplCode", media=_CODE),
    "GET /secrets": Route(
        "list_secrets",
        "SecretList",
        (*paged("created_at", "updated_at", "name", default="-created_at"), query("name", "Only with this name.")),
    ),
    "POST /secrets": Route("create_secret", "Secret"),
    "GET /secrets/{secret_id}": Route("get_secret", "Secret", (IF_NONE_MATCH,)),
    "GET /secrets/{secret_id}/uses": Route(
        "list_secret_uses",
        "SecretUseList",
        (
            *paged("last_at", "first_at", "uses", default="-last_at"),
            query("run", "Only by this run."),
            query("host", "Only at this host."),
        ),
    ),
    "PATCH /secrets/{secret_id}": Route("update_secret", "Secret", (IF_MATCH,)),
    "DELETE /secrets/{secret_id}": Route("delete_secret", None),
    "GET /host_policy": Route(
        "list_host_policy",
        "HostPolicy",
        (
            *paged("created_at", "host_pattern", default="-created_at"),
            query("mode", "Only entries that allow, or that block.", choice("allow", "block")),
            query("host_pattern", "Only entries with this very pattern."),
        ),
    ),
    "POST /host_policy": Route("add_host", "HostPolicyEntry", also=(200,)),
    "PUT /host_policy/default": Route("set_host_default", "HostPolicyDefault"),
    "POST /host_policy/starter_pack": Route("add_starter_pack", "StarterPack"),
    "GET /host_policy/blocked_hosts": Route(
        "list_blocked_hosts",
        "BlockedHostTotalList",
        (*paged("last_at", "host", default="-last_at"), *_BLOCKED),
    ),
    "DELETE /host_policy/{entry_id}": Route("remove_host", None),
    "GET /connections": Route(
        "list_connections",
        "ConnectionList",
        (
            *paged("created_at", "updated_at", "name", default="-created_at"),
            query("name", "Only with this name."),
            query("kind", "Only of this kind: ai_model, compute."),
            query("provider", "Only of this provider."),
        ),
    ),
    "POST /connections": Route("create_connection", "Connection"),
    "GET /connections/{connection_id}": Route("get_connection", "Connection", (IF_NONE_MATCH,)),
    "PATCH /connections/{connection_id}": Route("update_connection", "Connection", (IF_MATCH,)),
    "DELETE /connections/{connection_id}": Route("delete_connection", None),
    "POST /connections/{connection_id}/test": Route("test_connection", "ConnectionTest"),
    "POST /runs": Route("launch_run", "Run"),
    "GET /runs": Route(
        "list_runs",
        "RunList",
        (
            *paged("created_at", "started_at", "finished_at", default="-created_at"),
            query("status", "Only with this status.", choice(*_STATUSES)),
            query("benchmark", "Only of this benchmark."),
            _VISIBILITY,
            *compared("started_at", "Only started then."),
            *compared("finished_at", "Only ended then."),
            query(
                "metadata",
                "`metadata[key]=value`: only runs whose metadata holds it.",
                mapping({"type": "string", "maxLength": 200}),
                style="deepObject",
                explode=True,
            ),
            FIELDS,
        ),
    ),
    "GET /runs/{run_id}": Route("get_run", "Run", (expand("benchmark", "parent_run"), *_ONE)),
    "PATCH /runs/{run_id}": Route("update_run", "Run", (IF_MATCH,)),
    "DELETE /runs/{run_id}": Route("destroy_run", None),
    "POST /runs/{run_id}/approve": Route("approve_run", "Run"),
    "POST /runs/{run_id}/fork": Route("fork_run", "Run"),
    "GET /runs/{run_id}/children": Route(
        "list_children",
        "RunList",
        (
            *paged("created_at", default="-created_at"),
            query("relation", "Only forks, or only replays.", choice("fork", "replay")),
            query("status", "Only in this state.", choice(*_STATUSES)),
        ),
    ),
    "GET /runs/{run_id}/flips": Route(
        "list_flips",
        "FlipList",
        (
            *paged("task", default="task", limit=100),
            query("kind", "fixed: failed before and passes now; broken: the reverse.", choice(*KINDS)),
        ),
        also=(409,),
    ),
    "POST /runs/{run_id}/halt": Route("halt_run", "Run"),
    "POST /runs/{run_id}/publish": Route("publish_run", "Run"),
    "GET /runs/{run_id}/events": Route(
        "list_events",
        "EventList",
        (
            *paged("seq", default="seq", limit=500),
            _AFTER,
            several("types", "Only events of these types, separated by commas.", *EVENT_TYPES),
        ),
    ),
    "GET /runs/{run_id}/stream": Route(
        "stream_events", "Event", (_AFTER, LAST_EVENT_ID), media=("text/event-stream",), also=(204,)
    ),
    "GET /runs/{run_id}/tasks": Route(
        "list_task_results",
        "TaskResultList",
        (
            *paged(*_ROW_SORTS, default="task", limit=100),
            query("passed", "`false`: only failed ones.", _FLAG),
            several("outcome", "Only with these outcomes, separated by commas.", *OUTCOMES),
            query("version", "Results of this version instead of the newest.", {"type": "integer", "minimum": 0}),
            query("kind", "Only tasks of this kind."),
        ),
    ),
    "GET /runs/{run_id}/tasks/{result_id}": Route("get_task_result", "TaskPayload", (FIELDS,)),
    "GET /runs/{run_id}/fingerprint": Route("get_fingerprint", "Fingerprint", (FIELDS,)),
    "GET /runs/{run_id}/report": Route(
        "get_report",
        "Report",
        (query("format", "`html` where absent: one file without scripts.", choice(*FORMATS)), IF_NONE_MATCH),
        media=("text/html", "text/markdown", "application/json"),
        also=(409,),
    ),
    "GET /runs/{run_id}/remedies": Route("get_remedies", "Remedies", (FIELDS,)),
    "GET /runs/{run_id}/audit": Route("get_audit", "Audit", (FIELDS,)),
    "GET /runs/{run_id}/narrate": Route(
        "narrate_run",
        "Narration",
        (query("slice", "`recent` where absent: where it stands and what was last.", choice(*SLICES)), FIELDS),
    ),
    "POST /runs/{run_id}/narrate": Route("ask_driver_to_narrate", "Narration"),
    "GET /runs/{run_id}/blocked_hosts": Route(
        "list_blocked_hosts_of_run",
        "BlockedHostList",
        (*paged("last_at", "first_at", "host", "attempts", default="first_at", limit=100), *_BLOCKED),
    ),
    "GET /runs/{run_id}/artifacts": Route(
        "list_artifacts",
        "ArtifactList",
        (
            *paged("created_at", default="created_at", limit=100),
            query("type", "Only of this type.", choice(*ARTIFACT_TYPES)),
            query("task_id", "Only of this task."),
            query("include_versions", "All versions instead of the newest.", _FLAG),
        ),
    ),
    "GET /runs/{run_id}/artifacts/{artifact_id}": Route("get_artifact", "Artifact", (FIELDS,)),
    "GET /runs/{run_id}/artifacts/{artifact_id}/content": Route(
        "get_artifact_content",
        "bytes",
        (RANGE, IF_NONE_MATCH),
        media=(*sorted(SERVED), "application/octet-stream"),
        also=(206, 416),
    ),
}
