"""What decides a run's score, in one hash: two runs with the same fingerprint were asked the same, the same way."""

import hashlib
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from kernel import strict_json
from runs import results, suts
from runs.asked import sampling
from runs.compute import runtime
from runs.models import Run


@cache
def runtime_sha256() -> str:
    """Of what travels into every sandbox: bench_task, its readers and the roles."""
    return runtime.runner_sha256()


def _judge(declared: dict[str, Any] | None, phase_models: dict[str, Any]) -> dict[str, Any] | None:
    """Who judges, as it was asked at launch."""
    asked = suts.judge(declared, phase_models)
    return {"model": asked.model, "provider": asked.provider, "params": asked.params} if asked else None


def _endpoint(base_url: str | None) -> str | None:
    """Of the host that was asked. The host itself may be known to the run's owner alone."""
    host = urlsplit(base_url or "").netloc.lower()
    return hashlib.sha256(host.encode()).hexdigest()[:16] if host else None


def fingerprint(run: Run) -> dict[str, Any]:
    """The parts, and the SHA-256 of their canonical JSON."""
    impl, subset = run.impl, run.subset
    parts: dict[str, Any] = {
        "subset": {"id": run.subset_id, "revision": run.subset_revision, "content_id": subset and subset.content_id},
        "tasks": {"count": run.task_count, "positions": run.task_positions},
        "impl": impl
        and {
            "id": impl.id,
            "code_sha256": impl.code_sha256,
            "pass_threshold": impl.pass_threshold,
            "network": impl.network,
            "judge": _judge(impl.judge, run.phase_models),
            "isolation": impl.isolation,
        },
        "harness": {"name": run.harness, "runtime_sha256": runtime_sha256()},
        "trials": run.trials,
        "attempts": results.MAX_ATTEMPTS,
        "model": {
            **{name: run.sut.get(name) for name in ("model", "provider", "params")},
            "endpoint_sha256": _endpoint(run.sut.get("base_url")),
        },
        "limits": {level: run.limits[level] for level in ("task", "attempt") if level in run.limits},
    }
    return {
        "object": "fingerprint",
        "run": str(run.id),
        "sha256": hashlib.sha256(strict_json.canonical(parts)).hexdigest(),
        "parts": parts,
        # It follows from scorer, model and parameters.
        "sampling": sampling.of(run),
        # Seen, not asked for; so beside the hash.
        "served": run.served,
        "backend": run.backend,
        "unsandboxed": run.unsandboxed,
    }
