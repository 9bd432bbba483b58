"""Rows as files, in every format that is read."""

import csv
import io
import json
from typing import Any

from arro3.core import Array, DataType, Table, list_array
from arro3.io import write_parquet

Rows = list[dict[str, Any]]


def jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def commas(rows: Rows) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parquet(columns: dict[str, Any], metadata: dict[str, Any] | None = None) -> bytes:
    """``columns``: name -> values: texts, whole numbers, bytes, or lists of texts."""
    table = Table.from_pydict({name: _column(values) for name, values in columns.items()})
    if metadata is not None:
        schema = table.schema.with_metadata({b"huggingface": json.dumps(metadata).encode()})
        table = table.with_schema(schema)
    out = io.BytesIO()
    write_parquet(table, out)
    return out.getvalue()


def _column(values: list[Any]) -> Array:
    if isinstance(values[0], list):
        ends = [0]
        for each in values:
            ends.append(ends[-1] + len(each))
        return list_array(Array(ends, DataType.int32()), _column([one for each in values for one in each]))
    kinds = {str: DataType.utf8(), int: DataType.int64(), float: DataType.float64(), bytes: DataType.binary()}
    return Array(values, kinds[type(values[0])])
