"""What a launch body sets beyond what runs: each field checked, absent ones left to their default."""

from collections.abc import Mapping
from typing import Any

from kernel import secret_signs, strict_json
from kernel.errors import DomainError, invalid
from runs import limits
from runs.schemas import How, ModelChoice

HARNESSES = ("benchwright", "inspect", "lmeval", "lighteval", "harbor")
BACKENDS = ("local", "e2b", "sandbox0")
MODEL_ROLES = (*limits.PHASES, "judge")
METADATA_BYTES = 64 << 10
METADATA_KEYS = 500


def fields(body: How, constraints: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The run fields that the body sets; absent ones keep their default or the parent's.

    ``constraints``: the older spelling of ``limits.run``.
    """
    _supported("harness", body.harness, HARNESSES)
    _supported("compute", body.compute, BACKENDS)
    found: dict[str, Any] = {"backend": body.compute or "local", "visibility": body.visibility or "private"}
    for name in ("harness", "trials", "concurrency", "hints", "secrets"):
        if getattr(body, name) is not None:
            found[name] = getattr(body, name)
    if body.limits is not None or constraints is not None:
        found["limits"] = limits.from_constraints(constraints or {}, body.limits or {})
    if body.metadata is not None:
        found["metadata"] = checked_metadata(body.metadata)
    if body.phase_models is not None:
        found["phase_models"] = _phase_models(body.phase_models)
    if isinstance(body.driver, ModelChoice):
        found["driver"] = body.driver.model_dump()
    return found


def refuse_secrets(body: How, **words: str | None) -> None:
    """Raise secret_in_payload where a field that is kept and shown holds what looks like a secret.

    ``words``: what the body says in its own fields of text.
    """
    for name, said in {**words, "hints": body.hints, "metadata": body.metadata}.items():
        secret_signs.refuse(said, "body", name)
    for name in ("sut", "model"):
        sut = getattr(body, name)
        if sut is not None:
            secret_signs.refuse(sut.params, "body", name, "params")


def _supported(field_name: str, value: str | None, known: tuple[str, ...]) -> None:
    """The first of ``known`` is here; the others are named but not installed."""
    if value is None or value == known[0]:
        return
    loc = ["body", field_name]
    if value not in known:
        raise invalid(loc, f"Unknown {field_name} {value!r}: {limits.nearest(value, known)}")
    raise DomainError(
        "not_available",
        f"{field_name} {value!r} is not available on this installation; leave it out to use {known[0]!r}",
        errors=[{"loc": loc, "msg": f"use {known[0]!r}"}],
    )


def _phase_models(asked: Mapping[str, ModelChoice]) -> dict[str, Any]:
    for name in asked:
        if name not in MODEL_ROLES:
            raise invalid(
                ["body", "phase_models", name], f"{name!r} is not a phase: {limits.nearest(name, MODEL_ROLES)}"
            )
    return {name: choice.model_dump() for name, choice in asked.items()}


def checked_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The caller's metadata, within its size. Raises validation_failed, secret_in_payload."""
    if len(metadata) > METADATA_KEYS:
        raise invalid(["body", "metadata"], f"metadata may hold {METADATA_KEYS} keys, not {len(metadata)}")
    size = len(strict_json.dumps(metadata))
    if size > METADATA_BYTES:
        raise invalid(["body", "metadata"], f"metadata may hold {METADATA_BYTES} bytes, not {size}")
    secret_signs.refuse(metadata, "body", "metadata")
    return metadata


def metadata_cap(metadata: Mapping[str, Any]) -> int | None:
    """``metadata.limit``: how many samples run."""
    asked = metadata.get("limit")
    return None if asked is None else limits.count(asked, ["body", "metadata", "limit"])
