"""``benchwright run``: the group."""

from ...groups import table_group

COMMANDS = {
    "launch": ("runs.launch:launch", "Launch a run (the default: `benchwright run …`)."),
    "show": ("runs.read:show_one", "One run."),
    "tasks": ("runs.read:tasks", "Results, task by task."),
    "task": ("runs.read:task", "One result in full."),
    "ls": ("runs.read:list_runs", "Own runs, newest first."),
    "log": ("runs.left:log", "What solve and score printed for a task."),
    "artifacts": ("runs.left:artifacts", "What a run left: code, logs, summary and more."),
    "artifact": ("runs.left:artifact", "The bytes of one artifact."),
    "fingerprint": ("runs.left:fingerprint", "What decides a run's score, in one hash."),
    "blocked-hosts": ("runs.left:blocked_hosts", "Hosts that a run was not allowed to reach."),
    "events": ("runs.read:events", "What happened, as stored."),
    "report": ("runs.telling:report", "The report of an ended run."),
    "narrate": ("runs.telling:narrate", "How the run goes, in plain words."),
    "remedies": ("runs.telling:remedies", "What mends what did not pass, and its price."),
    "audit": ("runs.telling:audit", "Outputs that a second reader reads otherwise."),
    "review": ("runs.telling:review", "A run's flags; comment on one, or settle it."),
    "wait": ("runs.act:wait", "Watch a run to its end."),
    "kill": ("runs.act:halt", "Stop a run; it stays readable."),
    "halt": ("runs.act:halt", "The same as kill."),
    "delete": ("runs.act:delete", "DESTROY a run, results and all."),
    "publish": ("runs.act:publish", "Show a run to everyone."),
    "update": ("runs.act:update", "Change visibility or metadata."),
    "plan": ("runs.planning:plan", "What a run in words found, and what it asks."),
    "approve": ("runs.planning:approve", "Answer what a run asks, and let it go on."),
    "fork": ("runs.forks:fork", "A new run with a changed scorer."),
    "flips": ("runs.forks:flips", "Tasks that ended otherwise than in the run that it was made of."),
    "children": ("runs.forks:children", "The forks and replays of a run."),
}


@table_group("run", COMMANDS, default="launch", no_args_is_help=True)
def group() -> None:
    """Launch a run, watch it, read it, stop it.

    Without a command's name it launches: `benchwright run "<request>"`, `benchwright run --benchmark bm_…`,
    `benchwright run --replay-from <run>`. Wherever a run's id is asked for, @last is the one launched last.
    """
