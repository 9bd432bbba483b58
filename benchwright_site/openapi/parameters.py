"""Query parameters and headers, as the description of the API names them."""

from typing import Any

from benchwright_site.openapi.words import Schema, array, choice
from kernel.listing import DEFAULT_LIMIT, MAX_LIMIT

Parameter = dict[str, Any]


def query(name: str, description: str, schema: Schema | None = None, **more: Any) -> Parameter:
    found = {"type": "string", "maxLength": 500} if schema is None else schema
    return {"name": name, "in": "query", "description": description, "schema": found, **more}


def header(name: str, description: str, schema: Schema) -> Parameter:
    return {"name": name, "in": "header", "description": description, "schema": schema}


def paged(*sorts: str, default: str, limit: int = DEFAULT_LIMIT) -> tuple[Parameter, ...]:
    """What every list takes."""
    both = [word for sort in sorts for word in (sort, f"-{sort}")]
    return (
        query(
            "limit",
            f"Most rows of a page: {limit} where absent or 0, at most {MAX_LIMIT:,} (more is cut to it).",
            {"type": "integer", "minimum": 0},
        ),
        query("page_token", "The `next_page_token` of the page before; same account, route, filters and sort only."),
        query("sort", f"`-` in front reverses. Default `{default}`.", choice(*both)),
    )


def compared(name: str, description: str) -> tuple[Parameter, ...]:
    """A time, exactly or by comparison."""
    time = {"type": "string", "format": "date-time"}
    return (
        query(name, description, time),
        *(query(f"{name}[{op}]", f"`{name}` {sign} this.", time)
          for op, sign in (("gt", ">"), ("gte", "≥"), ("lt", "<"), ("lte", "≤"))),
    )  # fmt: skip


def several(name: str, description: str, *words: str) -> Parameter:
    """A comma-separated list; of ``words`` where given."""
    items: Schema = choice(*words) if words else {"type": "string", "pattern": "^[a-z_]{1,60}$"}
    return query(name, description, array(items), style="form", explode=False)


FIELDS = several("fields", "Only these fields of the answer, and `object` and `id`. Separated by commas.")


def expand(*names: str) -> Parameter:
    return several("expand", "Objects in place of their ids.", *names)


IDEMPOTENCY_KEY = header(
    "Idempotency-Key",
    "The same key with the same body gets the first answer again, with `Idempotent-Replayed: true`.",
    {"type": "string", "pattern": "^[!-~]{1,255}$"},
)
IF_MATCH = header("If-Match", "The ETag that you read: 412 if it was edited since.", {"type": "string"})
IF_NONE_MATCH = header("If-None-Match", "The ETag that you have: 304 if it is still the same.", {"type": "string"})
LAST_EVENT_ID = header(
    "Last-Event-ID", "The `seq` of the last event that you have.", {"type": "string", "pattern": "^[0-9]{1,18}$"}
)
RANGE = header(
    "Range", "`bytes=0-1023`: only this part.", {"type": "string", "pattern": "^bytes=[0-9]{1,9}-[0-9]{0,9}$"}
)

PATHS: dict[str, str] = {
    "run_id": "Of a run: a UUID.",
    "result_id": "Of a task result: `tsk_…`.",
    "artifact_id": "Of an artifact: `art_…`.",
    "benchmark_id": "Of a benchmark: `bm_…`.",
    "subset_id": "Of a subset: `sub_…`.",
    "impl_id": "Of a scorer: `imp_…`.",
    "secret_id": "Of a secret: `sec_…`.",
    "entry_id": "Of an entry of your host policy: `hp_…`.",
    "connection_id": "Of a connection: `con_…`.",
}
