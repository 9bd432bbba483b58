"""The forms of an author: a benchmark, a subset with its rows, rows for a rolling subset, a scorer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from pydantic import BaseModel, ValidationError

from accounts.principal import Principal
from kernel import bodies
from kernel.errors import DomainError, invalid
from registry import authoring, scorers
from registry.models import Benchmark, ImplRegistration, Subset
from registry.pages import rows_file, uploading
from registry.pages.rows_file import FileFaults, Found
from registry.pages.scorer_form import ScorerForm
from registry.schemas import BenchmarkBody, ImplBody, SubsetBody

KEPT = 1 << 20  # bytes of an uploaded file that a refused form shows again, to be mended in place


@dataclass
class Form:
    """What was typed, as text, and what is wrong with it: field -> words; "" is the form as a whole."""

    values: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)
    faults: FileFaults | None = None
    unit: str = "line"

    @classmethod
    def of(cls, sent: Mapping[str, str], *names: str, **defaults: str) -> "Form":
        return cls({name: str(sent.get(name, defaults.get(name, ""))).replace("\x00", "") for name in names})

    def refuse(self, refusal: DomainError) -> None:
        """Put a refusal beside the fields that it names, else at the top."""
        said = False
        for fault in refusal.errors:
            name = next((str(part) for part in fault["loc"] if part != "body"), "")
            if name in self.values:
                self.errors.setdefault(name, refusal.detail if len(refusal.errors) == 1 else str(fault["msg"]))
                said = True
        if not said:
            self.errors[""] = refusal.detail

    @property
    def refused(self) -> bool:
        return bool(self.errors) or self.faults is not None


def checked(body: type[BaseModel], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as the API takes them. Raises DomainError."""
    try:
        return body.model_validate(dict(fields)).model_dump()
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise bodies.refused({**one, "loc": ("body", *one["loc"])} for one in faults) from None


def make_benchmark(principal: Principal, form: Form) -> Benchmark | None:
    """None where it can't be; then ``form.errors`` tell why."""
    if not form.values["name"].strip():
        form.errors["name"] = "Give it a name."
        return None
    tags = [tag.strip() for tag in form.values["tags"].split(",") if tag.strip()]
    try:
        fields = checked(BenchmarkBody, {**form.values, "tags": tags})
        return authoring.create_benchmark(principal, **fields)
    except DomainError as refusal:
        form.refuse(refusal)
        return None


def rows_of(form: Form, sent: "UploadedFile[bytes] | None") -> Found | None:
    """The rows of the uploaded file, else of the pasted text; None with the faults told in the form.

    The text of a file that is not too long is put into the form, so that a fault can be mended in place.
    """
    limit = settings.ROWS_BODY_LIMIT_BYTES
    if sent is not None and (sent.size or 0) > limit:
        form.errors["rows"] = f"The file has {sent.size:,} bytes; at most {limit:,} can be sent. Send it in parts."
        return None
    data = sent.read() if sent is not None else form.values["rows"].encode("utf-8", "replace")
    if sent is not None:
        form.values["rows"] = data.decode("utf-8", "replace").replace("\x00", "") if len(data) <= KEPT else ""
    try:
        found = rows_file.read(data, sent.name or "" if sent is not None else "")
    except FileFaults as faults:
        form.faults = faults
        return None
    form.unit = found.unit
    return found


def make_subset(
    principal: Principal, benchmark_id: str, form: Form, scorer: ScorerForm, sent: "UploadedFile[bytes] | None"
) -> Subset | None:
    """None where it can't be; then the forms tell why, and nothing is stored."""
    found = rows_of(form, sent)
    if found is None:
        return None
    try:
        plain = {name: form.values[name] for name in ("slug", "name", "description", "answers")}
        fields = checked(SubsetBody, {**plain, "rolling": form.values["way"] == "rolling"})
        fields = {name: fields[name] for name in (*plain, "rolling")}
        if not found.tasks and not fields["rolling"]:
            raise invalid(["body", "rows"], "A frozen subset needs at least one row. Choose a file or paste some.")
        return uploading.create(principal, benchmark_id, {**fields, **scorer.meant()}, found)
    except FileFaults as faults:
        form.faults = faults
    except DomainError as refusal:
        if not scorer.refuse(refusal):
            form.refuse(refusal)
    return None


def add_rows(principal: Principal, subset_id: str, form: Form, sent: "UploadedFile[bytes] | None") -> Found | None:
    """The rows that were added; None where they can't be, and then the form tells why."""
    found = rows_of(form, sent)
    if found is None:
        return None
    if not found.tasks:
        form.errors["rows"] = "There is no row in it. Choose a file or paste some rows."
        return None
    try:
        uploading.append(principal, subset_id, found)
    except FileFaults as faults:
        form.faults = faults
    except DomainError as refusal:
        form.refuse(refusal)
    return None if form.refused else found


def make_scorer(principal: Principal, subset_id: str, form: Form, scorer: ScorerForm) -> ImplRegistration | None:
    """None where it can't be; then the forms tell why."""
    if not scorer.kind:
        form.errors[""] = "Choose how answers are scored."
        return None
    try:
        threshold = form.values["pass_threshold"].strip() or "1"
        if not re.fullmatch(r"[01](\.[0-9]{1,6})?|\.[0-9]{1,6}", threshold, re.ASCII):
            raise invalid(["body", "pass_threshold"], "Write a number from 0 to 1.")
        plain = {"subset": subset_id, "label": form.values["label"].strip(), "pass_threshold": float(threshold)}
        fields = checked(ImplBody, {**plain, "isolation": form.values["isolation"] or "batch"})
        kept = {name: fields[name] for name in ("label", "pass_threshold", "isolation")}
        return scorers.create(principal, subset_id, **kept, **scorer.meant())
    except DomainError as refusal:
        if not scorer.refuse(refusal):
            form.refuse(refusal)
    return None
