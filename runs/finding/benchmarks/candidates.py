"""What a request may mean, as the owner of a run is shown it and as the next phase takes it."""

from dataclasses import dataclass
from typing import Any

from registry import catalog
from runs.finding.benchmarks.names import Target
from runs.finding.datasets import Named
from runs.finding.known import Known

Json = dict[str, Any]


@dataclass(frozen=True)
class Candidate:
    """``id``: what an answer names. ``confidence``: 0..1. ``source``: as the next phase takes it."""

    id: str
    name: str
    confidence: float
    reason: str
    source: Json

    def doc(self) -> Json:
        """{"id", "kind", "ref", "name", "part", "confidence", "reason"}"""
        part = self.source.get("part") or self.source.get("subset")
        kind, ref = self.source["kind"], self.source["ref"]
        said = {"confidence": round(self.confidence, 2), "reason": self.reason}
        return {"id": self.id, "kind": kind, "ref": ref, "name": self.name, "part": part, **said}


def of(target: Target, part: str | None, confidence: float, reason: str) -> Candidate:
    """``part``: a part of the entry, or the id of a subset of the benchmark; None for the whole."""
    end = f"/{part}" if part else ""
    if target.entry is not None:
        entry = target.entry
        name = entry.name if part is None else f"{entry.name}: {entry.part(part).name}"
        source: Json = {"kind": "catalogue", "ref": entry.slug, "part": part, "name": entry.name}
        return Candidate(f"{target.id}{end}", name, confidence, reason, source)
    known = target.known
    chosen = next((one for one in known.subsets if one.id == part), None)
    name = known.name if chosen is None or len(known.subsets) == 1 else f"{known.name}: {chosen.name or chosen.slug}"
    source = {
        "kind": "registry",
        "ref": known.id,
        "subset": part,
        "name": known.name,
        "part": chosen.slug if chosen else None,
    }
    return Candidate(f"{target.id}{end}", name, confidence, reason, source)


def of_named(named: Named, confidence: float, reason: str) -> Candidate:
    source = named.source()
    return Candidate(f"{named.kind}:{named.ref}", source["name"], confidence, reason, source)


def of_rows(named: Named, confidence: float, reason: str) -> Candidate:
    """Rows that the request does not name itself: config and split stand in the id, since nothing else tells them."""
    source = named.source()
    return Candidate(named.choice(), source["name"], confidence, reason, source)


def chosen(choice: str, known: Known) -> tuple[Target, str | None] | None:
    """The target and part behind a candidate's id; None where there is none such (any more)."""
    kind, _, rest = choice.partition(":")
    ref, _, part = rest.partition("/")
    if kind == "catalogue":
        try:
            entry = catalog.get(ref)
            return Target(entry), entry.part(part).slug if part else None
        except KeyError:
            return None
    for benchmark in known.benchmarks:
        if kind == "registry" and benchmark.id == ref:
            return Target(benchmark=benchmark), part or None
    return None
