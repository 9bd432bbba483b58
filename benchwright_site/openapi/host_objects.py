"""What the API answers about host policies and blocked hosts."""

from benchwright_site.openapi.words import COUNT, FLAG, TEXT, TIME, Schema, array, choice, maybe, named, page
from secrets_vault.host_policy.blocked import WORDS

MODE = choice("allow", "block")
_BLOCKED: dict[str, Schema] = {
    "host": {**TEXT, "description": "As the run asked for it; `…` stands for all beyond the first 1,000 of a run."},
    "reason": {**TEXT, "description": f"Why: {', '.join(WORDS)}."},
    "message": TEXT,
    "attempts": COUNT,
    "first_at": TIME,
    "last_at": TIME,
    "run": {**TEXT, "description": "The run; over all runs, the last one that met the host."},
    "policy": {**maybe(MODE), "description": "What an entry of your host policy says of it now; null: none names it."},
    "allowable": {**FLAG, "description": "Whether an entry can open it; where none can, `message` says why."},
}
HOST_OBJECTS: dict[str, Schema] = {
    "HostPolicyEntry": named(
        "host_policy_entry",
        "One line of a host policy: a host, or `*.suffix`, that is allowed or blocked.",
        optional=("warnings",),
        id=TEXT,
        host_pattern=TEXT,
        mode=MODE,
        created_at=TIME,
        warnings=array(TEXT),
    ),
    "HostPolicy": page(
        "HostPolicyEntry",
        default={**MODE, "description": "What happens to hosts that no entry names."},
        built_in={**array(TEXT), "description": "What the default `allow` lets Find and Analyze read."},
    ),
    "HostPolicyDefault": named("host_policy_default", "What happens to hosts that no entry names.", mode=MODE),
    "StarterPack": page("HostPolicyEntry", added={**COUNT, "description": "How many were not there before."}),
    "BlockedHost": named("blocked_host", "A host that a run tried to reach and was not allowed to.", _BLOCKED),
    "BlockedHostList": page("BlockedHost"),
    "BlockedHostTotal": named("blocked_host", "The same over all runs of the account.", _BLOCKED, runs=COUNT),
    "BlockedHostTotalList": page("BlockedHostTotal"),
}
