"""Which formats of files can be read, and how one is told. Pure."""

FORMATS = ("parquet", "jsonl", "json", "csv", "tsv")
_ENDINGS = {"ndjson": "jsonl", "jsonlines": "jsonl", "pq": "parquet"}
# The first that a media type holds: "json" stands in the others' names, too.
_TYPES = (("ndjson", "jsonl"), ("jsonl", "jsonl"), ("json", "json"), ("csv", "csv"), ("parquet", "parquet"))


def format_of(name: str, content_type: str = "") -> str:
    """One of FORMATS by a file's name (``.gz`` at its end does not count), else by its media type; "" for neither."""
    ending = name.lower().removesuffix(".gz").rpartition(".")[2]
    ending = _ENDINGS.get(ending, ending)
    if ending in FORMATS:
        return ending
    return next((form for part, form in _TYPES if part in content_type.lower()), "")
