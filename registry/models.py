"""The catalogue: benchmarks, their subsets of tasks, and the scorers (impls)."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class Benchmark(models.Model):
    id = models.CharField(primary_key=True, max_length=40)  # bm_<uuid>
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="benchmarks")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    category = models.CharField(max_length=80, blank=True)
    tags = ArrayField(models.CharField(max_length=60), default=list, blank=True)
    visibility = models.CharField(max_length=10, default="private")  # derived from its runs
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class Subset(models.Model):
    """A set of samples. Frozen: addressed by its content. Rolling: grows by numbered revisions."""

    id = models.CharField(primary_key=True, max_length=80)  # sub_<hash> or sub_<uuid>
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="subsets")
    slug = models.CharField(max_length=80)
    name = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    rolling = models.BooleanField(default=False)
    state = models.CharField(max_length=10, default="ready")  # staging (upload under way), ready, retired
    revision = models.IntegerField(default=1)
    content_id = models.CharField(max_length=80, null=True, blank=True)  # set once frozen
    task_count = models.IntegerField(default=0)
    kinds = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    answers = models.CharField(max_length=10, default="open")  # open, closed
    grader = models.JSONField(null=True, blank=True)
    source = models.JSONField(null=True, blank=True)  # where a pipeline took the rows from
    visibility = models.CharField(max_length=10, default="private", db_default="private")  # derived from its runs
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "slug"], condition=models.Q(deleted_at=None), name="subset_slug_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.benchmark_id}/{self.slug}"


class Task(models.Model):
    """One sample. ``row`` is its JSON text as uploaded (key order and numbers kept, nothing dropped)."""

    subset = models.ForeignKey(Subset, on_delete=models.CASCADE, related_name="tasks")
    position = models.IntegerField()
    revision = models.IntegerField(default=1)  # the subset revision that added it
    task_id = models.CharField(max_length=300)
    folded_id = models.CharField(max_length=900)  # NFC and case folded: what must be unique
    digest = models.CharField(max_length=64)  # of the row's canonical JSON: what content ids are made of
    row = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subset", "position"], name="task_position_once"),
            models.UniqueConstraint(fields=["subset", "folded_id"], name="task_id_once"),
        ]

    def __str__(self) -> str:
        return self.task_id


class Impl(models.Model):
    """A scorer: the bytes of one task_impl.py and what else decides a score. Shared by all who register them."""

    id = models.CharField(primary_key=True, max_length=80)  # imp_<hash>
    subset = models.ForeignKey(Subset, on_delete=models.PROTECT, related_name="impls")
    language = models.CharField(max_length=20, default="python")
    code = models.TextField()
    code_sha256 = models.CharField(max_length=64)
    pass_threshold = models.FloatField(default=1.0)
    network = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    judge = models.JSONField(null=True, blank=True)
    isolation = models.CharField(max_length=10, default="batch")  # batch, task
    grader = models.JSONField(null=True, blank=True)  # set where we compiled the code ourselves
    verdict = models.JSONField(null=True, blank=True)  # of its self-test: {"ok", "badge", "checks", "at"}
    visibility = models.CharField(max_length=10, default="private", db_default="private")  # derived from its runs
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.id


class ImplRegistration(models.Model):
    """One account's own label and description of an impl."""

    impl = models.ForeignKey(Impl, on_delete=models.CASCADE, related_name="registrations")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="impls")
    label = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    copied = models.BooleanField(default=False)  # taken over from a run of somebody else's code, unread
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["impl", "owner"], condition=models.Q(deleted_at=None), name="impl_registered_once"
            )
        ]

    def __str__(self) -> str:
        return self.label or self.impl_id
