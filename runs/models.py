"""The facts of a run. What is planned is fixed at launch; everything else is written once and never changed."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from kernel import ids
from kernel.fields import LeanKey

# Rows of the hot path are written only under a shard's fence, which proves the run: a foreign key's own check would
# cost as much as the row. Their unique constraints begin with the run, so it needs no index of its own.
HOT: dict[str, Any] = {"db_constraint": False, "db_index": False}


class Run(models.Model):
    """One evaluation of one SUT on one subset with one impl."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    status = models.CharField(max_length=12, default="queued")  # states.py is the only writer
    mode = models.CharField(max_length=10)  # request, benchmark, replay, fork
    request = models.TextField(blank=True)
    benchmark = models.ForeignKey("registry.Benchmark", on_delete=models.PROTECT, null=True, related_name="+")
    subset = models.ForeignKey("registry.Subset", on_delete=models.PROTECT, null=True, related_name="+")
    subset_revision = models.IntegerField(null=True)
    impl = models.ForeignKey("registry.Impl", on_delete=models.PROTECT, null=True, related_name="+")
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="children")
    relation = models.CharField(max_length=10, null=True)  # replay, fork
    completes = models.BooleanField(default=False)
    # {"model", "provider", "base_url", "params", "connection"}: what is asked of whom
    sut = models.JSONField(default=dict)
    # whose key pays: {"secret", "version", "inject_kind", "inject_target", "host"} or {"platform": true} or {}
    sut_key = models.JSONField(default=dict)
    driver = models.JSONField(null=True)
    harness = models.CharField(max_length=20, default="benchwright")
    backend = models.CharField(max_length=20, default="local")
    unsandboxed = models.BooleanField(default=False)
    concurrency = models.IntegerField(default=16)
    trials = models.IntegerField(default=1)
    limits = models.JSONField(default=dict)
    hints = models.JSONField(default=list)
    phase_models = models.JSONField(default=dict)
    secrets = ArrayField(models.CharField(max_length=120), default=list)  # names that the launch asked for
    foreign_impl = models.BooleanField(default=False)  # somebody else's code: only what was named is leased
    metadata = models.JSONField(default=dict)
    visibility = models.CharField(max_length=10, default="private")
    scan_state = models.CharField(max_length=8, default="")  # runs.publishing: "", wanted, later, clean, found
    scan = models.JSONField(default=dict)  # {"at", "seq"}; of what was found also {"secret", "where"}
    # The plan, fixed at launch
    plan = ArrayField(models.CharField(max_length=20), default=list)  # phase names in order
    findings = models.JSONField(default=dict)  # what each authoring phase found, by its name
    asked = models.JSONField(null=True)  # while needs_input: {"phase", "question", "choices", …}
    answers = models.JSONField(default=list)  # what was said to that: [{"phase", "at", …}]
    # Of a fork: what it shall change, where it sets in, and whether it asks the model again
    description = models.TextField(blank=True)
    from_phase = models.CharField(max_length=20, blank=True)
    fork_mode = models.CharField(max_length=10, blank=True)  # rerun, rescore
    task_count = models.IntegerField(default=0)
    task_positions = ArrayField(models.IntegerField(), null=True)  # a slice; null = the first task_count
    planned = models.IntegerField(default=0)  # cells = tasks × trials: the denominator
    # Tallies, moved with the facts they count in one transaction
    last_seq = models.BigIntegerField(default=0)
    passed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    unscored = models.IntegerField(default=0)
    errored = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    cost_model = models.BigIntegerField(default=0)  # micro-cents, metered
    cost_driver = models.BigIntegerField(default=0)  # micro-cents: what driver and judge cost
    unpriced_beside = models.IntegerField(default=0)  # calls of driver and judge whose price is not known
    unpriced_calls = models.IntegerField(default=0)
    estimated_calls = models.IntegerField(default=0)  # their tokens are ours to guess: the answers told no usage
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)
    served = models.JSONField(default=dict)  # {"<model> via <upstream>": calls}
    summary = models.JSONField(null=True)  # frozen at the end
    halt_requested = models.CharField(max_length=60, null=True)
    halt_note = models.CharField(max_length=200, blank=True)  # what the person who halted it said
    halt_reason = models.CharField(max_length=60, null=True)
    error = models.JSONField(null=True)
    revision = models.IntegerField(default=1)  # of the mutable fields, for ETag
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(null=True)  # when the sweeper last rang
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at", "-id"], name="run_by_owner"),
            models.Index(
                fields=["created_at"], condition=models.Q(status__in=["queued", "running"]), name="run_active"
            ),
            models.Index(
                fields=["id"], condition=models.Q(scan_state__in=["wanted", "later", "found"]), name="run_to_scan"
            ),
        ]
        constraints = [
            # No foreign keys: a tally can never pass the plan.
            models.CheckConstraint(
                condition=models.Q(
                    planned__gte=models.F("passed")
                    + models.F("failed")
                    + models.F("unscored")
                    + models.F("errored")
                    + models.F("skipped")
                ),
                name="run_tally_within_plan",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class Phase(models.Model):
    """One phase of a run's plan."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="phases", db_index=False)
    name = models.CharField(max_length=20)
    position = models.IntegerField()
    status = models.CharField(max_length=12, default="pending")  # pending, running, completed, failed, halted
    attempt = models.IntegerField(default=0)
    cost = models.BigIntegerField(default=0)  # micro-cents of the driver's calls in it
    tokens = models.BigIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="phase_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.name}"


class Shard(models.Model):
    """A lease on a piece of a phase: tasks [start, stop) of the run's list. Times are the database's clock."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="shards", db_index=False)
    phase = models.CharField(max_length=20)
    number = models.IntegerField()
    start = models.IntegerField()
    stop = models.IntegerField()
    status = models.CharField(max_length=10, default="pending")  # pending, leased, done
    attempt_no = models.IntegerField(default=0)  # the fence: every write of a worker names it
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "phase", "number"], name="shard_once")]
        indexes = [
            models.Index(fields=["lease_until"], condition=models.Q(status="leased"), name="shard_lapsing"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.phase} {self.number}"


class RunEvent(models.Model):
    """What happened, gapless per run. Stored before anybody is told."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="events", **HOT)
    seq = models.BigIntegerField()
    type = models.CharField(max_length=30)
    data = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="event_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.seq} {self.type}"


class Output(models.Model):
    """What solve returned for a cell, stored before it is scored: a crash never loses a paid answer.

    ``ordinal`` = index in the run's task list × trials + trial. ``outcome`` is set instead of ``output`` where solve
    ended without one: {"error_class", "message"}.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="outputs", **HOT)
    ordinal = models.IntegerField()
    attempt = models.IntegerField()
    output = models.TextField(null=True)  # JSON text, so that types come back as they were
    fault = models.JSONField(null=True)
    facts = models.JSONField(default=dict)  # the gateway's account of the calls
    duration_ms = models.IntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "ordinal", "attempt"], name="output_once")]

    def __str__(self) -> str:
        return f"{self.run_id} cell {self.ordinal}"


class TaskResult(models.Model):
    """How one cell ended. ``version`` counts results of the cell; the live one counts."""

    id = LeanKey(primary_key=True, max_length=40)  # tsk_<ulid>
    run = models.ForeignKey(Run, models.CASCADE, related_name="results", **HOT)
    ordinal = models.IntegerField()
    position = models.IntegerField()  # of the task in its subset
    task_id = models.CharField(max_length=300)
    kind = models.CharField(max_length=80, blank=True)
    trial = models.IntegerField(default=0)
    attempt = models.IntegerField(default=1)
    version = models.IntegerField(default=1)
    live = models.BooleanField(default=True)
    outcome = models.CharField(max_length=10)  # passed, failed, unscored, errored, skipped
    score = models.FloatField(null=True)
    error_class = models.CharField(max_length=40, null=True)
    error_message = models.TextField(null=True)
    output_preview = models.CharField(max_length=200, blank=True)
    explanation = models.TextField(null=True)
    metrics = models.JSONField(null=True)
    duration_ms = models.IntegerField(default=0)
    model_ms = models.IntegerField(default=0)
    tokens_in = models.IntegerField(default=0)
    tokens_out = models.IntegerField(default=0)
    cost = models.BigIntegerField(default=0)  # micro-cents; of the calls whose price is known
    unpriced = models.IntegerField(default=0, db_default=0)  # calls whose price is not
    calls = models.IntegerField(default=0)
    stop_reason = models.CharField(max_length=40, null=True)
    reused = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "ordinal", "version"], name="result_version_once"),
            models.UniqueConstraint(fields=["run", "ordinal"], condition=models.Q(live=True), name="result_live_once"),
            models.CheckConstraint(
                condition=models.Q(score=None) | models.Q(score__gte=0, score__lte=1), name="result_score_in_range"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Artifact(models.Model):
    """Bytes that a run left behind: ``size`` bytes from ``start`` on in the file that ``blob`` names."""

    id = LeanKey(primary_key=True, max_length=40)  # art_<ulid>
    run = models.ForeignKey(Run, models.CASCADE, related_name="artifacts", **HOT)
    type = models.CharField(max_length=20)
    name = models.CharField(max_length=400)
    version = models.IntegerField(default=1)
    ordinal = models.IntegerField(null=True)  # of the cell that it is about
    task_id = models.CharField(max_length=300, null=True)
    content_type = models.CharField(max_length=80)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)  # of these bytes alone
    blob = models.CharField(max_length=64, db_index=True)
    start = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "type", "name", "version"], name="artifact_version_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.name}"


class ModelCall(models.Model):
    """The gateway's journal. A settled call is never made again for the same (run, cell, request, occurrence)."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls", **HOT)
    ordinal = models.IntegerField()  # of the cell; below 0 another model was asked: runs.gateway_keys.role_of
    attempt = models.IntegerField()
    request_hash = models.CharField(max_length=64)
    occurrence = models.IntegerField()
    status = models.CharField(max_length=10)  # sent, settled, failed, unknown
    http_status = models.IntegerField(null=True)
    request = models.BinaryField(null=True)  # zlib
    response = models.BinaryField(null=True)  # zlib; SSE text where it was streamed
    streamed = models.BooleanField(default=False)
    model_served = models.CharField(max_length=200, null=True)
    upstream = models.CharField(max_length=200, null=True)
    finish_reason = models.CharField(max_length=40, null=True)
    tokens_in = models.IntegerField(default=0)
    tokens_out = models.IntegerField(default=0)
    tokens_reasoning = models.IntegerField(default=0)
    tokens_cached = models.IntegerField(default=0)
    cost = models.BigIntegerField(null=True)  # micro-cents; null = unpriced
    priced_by = models.CharField(max_length=40, null=True)  # reported, table version, free
    usage_estimated = models.BooleanField(default=False)
    tries = models.IntegerField(default=1)
    waited_ms = models.IntegerField(default=0)
    latency_ms = models.IntegerField(default=0)
    error_class = models.CharField(max_length=40, null=True)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "ordinal", "request_hash", "occurrence"], name="call_once")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} cell {self.ordinal} call {self.occurrence}"


class ReviewFlag(models.Model):
    """Something about a run that a person should look at. It only shows; it changes no score."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="flags", db_index=False)
    code = models.CharField(max_length=40)
    detail = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "code"], name="flag_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.code}"


class ReviewRemark(models.Model):
    """What somebody said to a flag. Remarks are added, never changed: the newest settlement counts."""

    flag = models.ForeignKey(ReviewFlag, models.CASCADE, related_name="remarks")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    settlement = models.CharField(max_length=10, blank=True)  # "" = a comment; accepted, rejected
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.flag_id} {self.settlement or 'comment'}"


class Snapshot(models.Model):
    """Rows as they were when they were first fetched from a place. Content-addressed; never fetched again."""

    id = models.CharField(primary_key=True, max_length=40)  # snp_<ulid>
    locator = models.JSONField()
    locator_key = models.CharField(max_length=64, unique=True)  # of the locator's canonical JSON
    sha256 = models.CharField(max_length=64)  # of the rows as JSON lines, which the blob store keeps
    size = models.BigIntegerField()  # bytes of these lines
    rows = models.IntegerField()
    revision = models.CharField(max_length=120, blank=True)  # as the place names it
    licence = models.CharField(max_length=120, blank=True)
    facts = models.JSONField(default=dict)  # files with their digests, columns, what was left out
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.id
