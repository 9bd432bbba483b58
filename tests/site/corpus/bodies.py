"""Bodies that no route takes, whatever it is about: (case, body, status, code)."""

MALFORMED = (400, "malformed_json")
INVALID = (422, "validation_failed")

_NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e400", "123456789e9999", "-NaN", "nan", "inf"]
_PLACES = ['{{"a":{}}}', '{{"a":[{}]}}', '{{"a":{{"b":[1,{}]}}}}', "[{}]", "{}"]
_NOT_JSON = [
    " ", "\n\t\r\n", "{", "}", "[", "]", "{]", "[}", '{"a":1', '{"a":}', '{"a"}', '{"a":1,}', "[1,]", "[,1]", "{,}",
    "{'a':1}", "{a:1}", '{"a":1}}', '{"a":1} x', '{"a":1}{"b":2}', "// c\n{}", "/* c */{}", '{"a":1} // c', "# c\n{}",
    '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":0x1F}', '{"a":0b1}', '{"a":1_000}', '{"a":1e}', '{"a":--1}',
    '{"a":True}', '{"a":None}', '{"a":undefined}', '{"a":nul}', '{"a":tru}', '{"a":"x}', '{"a":"\\x41"}', '{"a":"\\u12"}',
    '{"a":"\\u{41}"}', '{"a":"\\"}', '{"a":"line\nbreak"}', '{"a":"tab\there"}', '{"a":"\x01"}', '{"a" 1}', '{"a":1 "b":2}',
    '{"a":1;"b":2}', "a=1&b=2", "<a>1</a>", "--x\r\nContent-Disposition: form-data\r\n\r\n1", "null null", "{}\x00",
    "\x00{}", "\ufeff{}", '{"a":\u00a01}', "\u2028{}", "{“a”:1}", "function(){}", "$ref", "{{7*7}}", "%7B%7D",
]  # fmt: skip
_NOT_UTF8 = [
    b'{"a":"\xff"}', b'{"a":"\xc3\x28"}', b'{"a":"\xc0\x80"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}',
    b'{"a":"\xe2\x82"}', b'\xff\xfe{\x00}\x00', '{"a":1}'.encode("utf-16"), '{"a":1}'.encode("utf-32"),
    '{"a":"é"}'.encode("latin-1"), b"\x80", b"\x1f\x8b\x08\x00\x00\x00\x00\x00", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04",
]  # fmt: skip
_TWICE = [
    '{"a":1,"a":2}', '{"a":1,"a":1}', '{"a":1,"b":2,"a":3}', '{"x":{"a":1,"a":2}}', '{"x":[{"a":1,"a":2}]}',
    '{"a":1,"\\u0061":2}', '{"":1,"":2}', '{"é":1,"\\u00e9":2}', '{"a":{},"a":{}}', '{"a":1,"a":2,"a":3}',
    '{"a":null,"a":null}', '{"idempotency_key":"a","idempotency_key":"a"}',
]  # fmt: skip
_TEXTS = ["\\u0000", "a\\u0000b", "\\ud800", "\\udfff", "\\ud800\\u0041", "\\udc00\\ud800", "\\uD83D", "x\\uDE00"]
_WHERE = ['{{"a":"{}"}}', '{{"{}":1}}', '{{"a":["{}"]}}', '{{"a":{{"{}":1}}}}']
_DEEP = [(101, "["), (101, '{"a":'), (5_000, "["), (100_000, "["), (50_000, '{"a":'), (1_000, '[{"a":')]
_NO_OBJECT = ["[]", '["a"]', '"text"', "1", "1.5", "true", "false", "[[]]", '[{"name":"x"}]', '""', "0"]


def _deep(levels: int, opened: str) -> bytes:
    closed = {"[": "]", '{"a":': "}", '[{"a":': "}]"}[opened]
    return (opened * levels + "1" + closed * levels).encode()


BODIES = [
    ("A-01", b"", *INVALID),
    *(("A-01", place.format(number).encode(), *MALFORMED) for number in _NO_NUMBERS for place in _PLACES),
    *(("A-01", text.encode(), *MALFORMED) for text in _NOT_JSON),
    *(("A-01", raw, *MALFORMED) for raw in _NOT_UTF8),
    *(("A-01", _deep(levels, opened), *MALFORMED) for levels, opened in _DEEP),
    *(("A-02", text.encode(), *MALFORMED) for text in _TWICE),
    *(("A-04", where.format(text).encode(), *INVALID) for text in _TEXTS for where in _WHERE),
    *(("A-05", f'{{"a":{"9" * digits}}}'.encode(), *INVALID) for digits in (1_001, 5_000, 200_000)),
    *(("A-05", text.encode(), *INVALID) for text in _NO_OBJECT),
    ("A-07", b'{"a":"' + b"x" * (33 << 20) + b'"}', 413, "payload_too_large"),
]
