"""Reads what a request in words asks for: ``read``. docs/catalogue.md says how."""

from runs.finding.known import Known, KnownBenchmark, KnownSubset
from runs.finding.reading import read
from runs.finding.readings import Problem, Reading

__all__ = ["Known", "KnownBenchmark", "KnownSubset", "Problem", "Reading", "read"]
