"""Well-known benchmarks as data: names, where their rows come from, how they are graded (docs/catalogue.md)."""

from registry.catalog.entries import Entry, Part
from registry.catalog.loading import CatalogFault, all_entries, get

__all__ = ["CatalogFault", "Entry", "Part", "all_entries", "get"]
