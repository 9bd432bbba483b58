"""Every source of rows by the name that locators use."""

from kernel.table import Table

SOURCES = Table(
    "source",
    {
        "huggingface": "runs.sources.huggingface.source:HuggingFace",
        "package": "runs.sources.package:Package",
        "url": "runs.sources.url:Url",
    },
)
