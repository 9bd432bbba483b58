"""Files of strangers into plain rows: every format, odd files, hostile files."""

import gzip
import io
import json
import zipfile
from typing import Any

import pytest

from runs.sources.files import parsing
from runs.sources.files.formats import format_of
from runs.sources.files.parsing import Unreadable
from tests.runs.sources.writing import commas, jsonl, parquet

ROWS = [{"q": "What is 1 + 1?", "a": "2"}, {"q": "Wie heißt „Rot“ auf Englisch?", "a": "red"}]


def read(data: bytes, form: str, *, member: str = "", most: int = 1 << 20) -> tuple[list[dict[str, Any]], Any]:
    rows, facts = parsing.rows_of(io.BytesIO(data), form, most_bytes=most, member=member)
    return list(rows), facts


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (jsonl(ROWS), "jsonl"),
        (jsonl(ROWS), "json"),  # lines under another name
        (json.dumps(ROWS).encode(), "json"),
        (json.dumps({"version": 1, "data": ROWS}).encode(), "json"),
        (json.dumps({"q": [row["q"] for row in ROWS], "a": [row["a"] for row in ROWS]}).encode(), "json"),
        (b"\xef\xbb\xbf" + json.dumps(ROWS).encode(), "json"),
        (gzip.compress(jsonl(ROWS), mtime=0), "jsonl"),
        (commas(ROWS), "csv"),
        (commas(ROWS).replace(b",", b";"), "csv"),
        (commas(ROWS).replace(b",", b"\t"), "tsv"),
        (gzip.compress(commas(ROWS), mtime=0), "csv"),
        (parquet({"q": [row["q"] for row in ROWS], "a": [row["a"] for row in ROWS]}), "parquet"),
    ],
)
def test_it_reads_rows(data: bytes, form: str) -> None:
    assert read(data, form)[0] == ROWS


def test_it_names_rows_that_are_kept_under_ids() -> None:
    assert read(b'{"x1": {"q": "a"}, "x2": {"q": "b"}}', "json")[0] == [{"id": "x1", "q": "a"}, {"id": "x2", "q": "b"}]


def test_it_reads_nested_columns_and_the_names_of_labels() -> None:
    features = {"info": {"features": {"answer": {"_type": "ClassLabel", "names": ["A", "B"]}, "q": {"_type": "Value"}}}}
    data = parquet({"q": ["x"], "choices": [["yes", "no"]], "answer": [1], "picture": [b"\x89PNG"]}, features)
    rows, facts = read(data, "parquet")
    assert rows == [{"q": "x", "choices": ["yes", "no"], "answer": 1}]
    assert facts == {"left_out": ["picture"], "labels": {"answer": ["A", "B"]}}


def test_it_makes_values_plain() -> None:
    rows, _ = read(
        b'{"nan": NaN, "inf": -Infinity, "nul": "a\\u0000b", "half": "\\ud800", "big": 123456789012345678901}', "json"
    )
    assert rows == [{"nan": None, "inf": None, "nul": "a\ufffdb", "half": "\ufffd", "big": 123456789012345678901}]


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        (b"", "parquet", "no parquet"),
        (b"PAR1" + b"\0" * 64 + b"PAR1", "parquet", "no parquet"),
        (parquet({"q": ["x"] * 500})[:-40], "parquet", "no parquet"),
        (b"\xff\xfe{}", "json", "not UTF-8"),
        (b"<html>Sign in</html>", "json", "not JSON"),
        (b'{"q": 1}\n{"q": ', "jsonl", "line 2 is not JSON"),
        (b"[1, 2]", "json", "row 1 is int"),
        (b"7", "json", "neither a list nor an object"),
        (b'[{"q": ' + b"[" * 200_000 + b"]" * 200_000 + b"}]", "json", "too deeply"),
        (b'[{"q": ' + b"[" * 80 + b"]" * 80 + b"}]", "json", "too deeply"),
        (b'{"q": 1' + b"0" * 2000 + b"}", "json", "digits"),
        (gzip.compress(b"x", mtime=0)[:-9], "csv", "gzip"),
        (gzip.compress(b"\n" * (2 << 20), mtime=0), "csv", "the limit"),
        (b"q" * (2 << 20), "csv", "the limit"),
    ],
)  # fmt: skip
def test_it_says_what_is_wrong_with_a_file(data: bytes, form: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        read(data, form)


def archive(**files: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name.replace("__", "/"), data)
    return held.getvalue()


def test_it_reads_one_file_of_an_archive() -> None:
    data = archive(**{"p__rows.jsonl.gz": gzip.compress(jsonl(ROWS), mtime=0), "p__x.py": b"import os"})
    assert read(data, "jsonl", member="p/rows.jsonl.gz")[0] == ROWS
    with pytest.raises(Unreadable, match=r"holds no p/other.jsonl; files of rows in it: p/rows.jsonl.gz"):
        read(data, "jsonl", member="p/other.jsonl")
    with pytest.raises(Unreadable, match="no zip archive"):
        read(b"nothing", "jsonl", member="p/rows.jsonl")


def test_a_bomb_in_an_archive_is_not_unpacked() -> None:
    with pytest.raises(Unreadable, match="unpacks to 2,097,152 bytes; the limit is 1,048,576"):
        read(archive(bomb=b"\n" * (2 << 20)), "jsonl", member="bomb")


@pytest.mark.parametrize(
    ("name", "content_type", "form"),
    [
        ("a/b/test-00000-of-00001.parquet", "", "parquet"), ("x.JSONL", "", "jsonl"), ("x.jsonl.gz", "", "jsonl"),
        ("x.ndjson", "", "jsonl"), ("rows", "application/x-ndjson", "jsonl"), ("rows", "text/csv; a=b", "csv"),
        ("rows", "application/json", "json"), ("x.zip", "", ""), ("README", "text/html", ""), ("x.tsv.gz", "", "tsv"),
    ],
)  # fmt: skip
def test_it_tells_the_format(name: str, content_type: str, form: str) -> None:
    assert format_of(name, content_type) == form
