"""Write the generated pages of docs/: problems.md, api.md and cases.md. ``make docs``."""

import os
import sys
from pathlib import Path

import django
from django.apps import apps

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
if not apps.ready:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchwright_site.settings")
    django.setup()

from benchwright_site.api import api  # noqa: E402
from kernel.errors import PROBLEMS  # noqa: E402 (the clone is put on the path first)
from scripts import api_page, cases  # noqa: E402

HEAD = """# Problem codes

Every refusal and failure is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, `detail`, `code`,
`request_id` and, for fields, `errors: [{"loc": […], "msg": "…"}]`. `detail` says what happened to this request; this
page says what each code means in general. This page is written by `make docs` from `kernel/errors.py` and
`scripts/document.py`.

| code | status | meaning | what to do |
|---|---|---|---|
"""

WHAT_TO_DO = {
    "bad_request": "Check the request line, the headers and the encoding.",
    "malformed_json": "Send strict UTF-8 JSON: no NaN, no repeated keys, no lone surrogates, no trailing text.",
    "invalid_parameter": "Correct the parameter that `errors` names; unknown and repeated parameters are refused too.",
    "invalid_page_token": "Use a token only with the account, the route and the filters it came from; else start anew.",
    "invalid_filter": "Use a filter that `detail` lists.",
    "invalid_sort": "Use a sort key that `detail` lists; `-` in front reverses it.",
    "invalid_expand": "Use a field that `detail` lists.",
    "invalid_idempotency_key": "Send 1 to 255 printable ASCII characters.",
    "unauthenticated": "Send `Authorization: Bearer bw_live_pat_…`; make a token on /manage/tokens.",
    "token_expired": "Make another token on /manage/tokens.",
    "token_revoked": "Make another token on /manage/tokens.",
    "insufficient_scope": "Use a token with the scope that `detail` names.",
    "session_required": "Tokens are made, rotated and revoked in a signed-in browser only.",
    "reauthentication_required": "Enter the password again, then repeat.",
    "csrf_failed": "Reload the page and send the form again.",
    "model_not_allowed": "A run's key may only call the run's own model; name it in `sut`.",
    "parameter_not_allowed": "Leave the parameter out.",
    "secret_revoked": "The key of this run was deleted while it ran: add another and replay the run.",
    "not_found": "Check the id and whose it is: what belongs to others looks like what is not there.",
    "method_not_allowed": "Use a method that the `Allow` header lists.",
    "idempotency_in_progress": "Wait as long as `Retry-After` says and send the same request again.",
    "subset_frozen": "A frozen subset never changes: make another one, or a rolling one.",
    "subset_incomplete": "Send the missing pieces of the upload, then launch.",
    "subset_exists": "Use the subset that `detail` names: it holds the same tasks.",
    "slug_taken": "Choose another slug.",
    "secret_rule_conflict": "Make one of the two host patterns narrower, or delete one secret.",
    "name_taken": "Choose another name.",
    "run_not_replayable": "Replay a run that has ended and has a scorer and a task list.",
    "not_comparable": "Ask for the flips of a fork or a replay whose parent you may see and whose tasks are the same.",
    "run_terminal": "Nothing is left to change: replay it to run it again.",
    "not_waiting": "Read the run: only one that is `needs_input` can be answered.",
    "run_active": "Wait for its end, or halt it first.",
    "no_result": "Publish a run in which at least one task was scored.",
    "impl_unavailable": "Choose another scorer, or register one.",
    "secret_found": "Rotate the secret that `detail` names, destroy the run, and run it again without the leak.",
    "scan_pending": "Wait as long as `Retry-After` says and ask again; `manage.py doctor` says whether a gateway runs.",
    "in_use": "Remove what depends on it first; `detail` names it.",
    "gone": "It was destroyed and can't come back.",
    "precondition_failed": "Read it again, apply the change to what it is now, and send the new `ETag`.",
    "payload_too_large": "Send less at a time: the SDK cuts uploads into pieces by itself.",
    "range_not_satisfiable": "Ask for bytes before the end: `Content-Range` says how many there are.",
    "unsupported_media_type": "Send `Content-Type: application/json`.",
    "validation_failed": "Correct the fields that `errors` names.",
    "unknown_field": "Remove the field or correct its name; `detail` names the nearest known one.",
    "mutually_exclusive": "Send exactly one of them.",
    "idempotency_key_reused": "Use a new key for another request.",
    "duplicate_task_id": "Give each task its own id; ids are compared without regard to case and Unicode form.",
    "too_many_rows": "Send at most 1,000 rows at a time: the SDK does so by itself.",
    "secret_in_payload": "Keep it in the vault (`benchwright secrets add`) and send the rest; renew it if it is real.",
    "missing_secret": "Add a key for the provider's host: `benchwright secrets add`.",
    "not_available": "`detail` names what this installation offers instead.",
    "rate_limited": "Wait as long as `Retry-After` says.",
    "too_many_runs": "Wait until some of the account's runs have ended, or halt some; then launch again.",
    "too_many_streams": "Close a stream first.",
    "internal_error": "Try again; if it stays, report the `request_id`.",
    "upstream_error": "The model's provider failed after all retries: try again later.",
    "unavailable": "A part is starting or away: try again in a moment; `manage.py doctor` finds the cause.",
}


def problems_page() -> str:
    rows = (
        f"| `{code}` | {status} | {title} | {WHAT_TO_DO.get(code, '')} |"
        for code, (status, title) in sorted(PROBLEMS.items(), key=lambda item: (item[1][0], item[0]))
    )
    return HEAD + "\n".join(rows) + "\n"


def described_api() -> str:
    """docs/api.md."""
    return api_page.page(api.get_openapi_schema(path_prefix="/v1"))


def pages() -> dict[str, str]:
    """Name -> text of every generated page."""
    return {"problems.md": problems_page(), "api.md": described_api(), "cases.md": cases.page()}


def main() -> None:
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text)
        sys.stdout.write(f"· docs/{name}\n")


if __name__ == "__main__":
    main()
