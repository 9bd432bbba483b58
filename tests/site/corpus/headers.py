"""Headers: (case, name, value, status, code). A status of 0: as without the header."""

NO_TOKEN = [
    ("C-12", "", 401), ("C-12", " ", 401), ("C-12", "Bearer", 401), ("C-12", "Bearer ", 401), ("C-12", "Bearer  ", 401),
    ("C-12", "Basic YTpi", 401), ("C-12", "Digest x", 401), ("C-12", "Token {token}", 401), ("C-12", "{token}", 401),
    ("C-12", "Bearer {token} x", 401), ("C-12", "Bearer {token},Bearer {token}", 401), ("C-12", "Bearer {token}\t", 401),
    ("C-12", "Bearer {token}x", 401), ("C-12", "Bearer {cut}", 401), ("C-12", "Bearer {upper}", 401),
    ("C-12", "Bearer bw_test_pat_" + "a" * 38, 401), ("C-12", "Bearer bw_live_pat_" + "a" * 38, 401),
    ("C-12", "Bearer bw_live_pat_" + "0" * 38, 401), ("C-12", "Bearer BW_LIVE_PAT_" + "a" * 38, 401),
    ("C-12", "Bearer bw_live_pat_" + "é" * 38, 401), ("C-12", "Bearer bw_live_pat_" + "\u0663" * 38, 401),
    ("C-12", "Bearer " + "x" * 10_240, 401), ("C-12", "Bearer null", 401), ("C-12", "Bearer undefined", 401),
    ("C-12", "Bearer bw_live_pat_", 401), ("C-12", "Bearer ' OR 1=1--", 401), ("C-12", "Bearer \x00", 401),
    ("C-12", "Bearer \"{token}\"", 401), ("C-12", "Bearer:{token}", 401), ("C-12", "Bearer={token}", 401),
    ("C-12", "Bearer eyJhbGciOiJub25lIn0.e30.", 401), ("C-12", "Bearer %62w_live_pat_", 401),
    ("C-12", "Bearer {token}\u00a0", 401), ("C-12", "\u0042earer\u00a0{token}", 401),
]  # fmt: skip

NO_KEY = ["", " ", "   ", '""', '" "', "k" * 256, '"' + "k" * 256 + '"', "a\tb", "a\x00b", "a\x7fb", "clé", "😀", "\u200b", "a\u00a0b",
          "k" * 10_000]  # fmt: skip
KEY = ["k", "k" * 255, '"k"', "a b", "~!@#$%^&*()", "a,b", "'", '"', "null"]

NO_JSON = [
    "", "text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "application/json; charset=latin-1", "application/json; charset=utf-16", "application/jsonp", "application/json-patch+json",
    "application/vnd.api+json", "application/javascript", "application/octet-stream", "*/*", "json", "application/",
    "application/x-ndjson", "application/cbor", "image/png", "text/html; charset=utf-8",
]  # fmt: skip
JSON = ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON",
        "application/json; charset=utf8"]  # fmt: skip
ENCODED = ["gzip", "deflate", "br", "zstd", "compress", "gzip, gzip", "x-gzip", "identity, gzip", "GZIP", "nonsense"]

NO_REQUEST_ID = ["a b", "a\r\nSet-Cookie: x=1", "a\nb", "x" * 129, "x" * 10_240, "é", "<script>", "a\x00", "b\n", '"', "a\tb",
                 "{}", "😀", "\u2028", "a;b", "a,b", "'", "%0d%0a", "\\r\\n"]  # fmt: skip
OVERRIDES = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
METHODS = ["TRACE", "CONNECT", "BREW", "PROPFIND", "LINK", "PURGE", "SEARCH", "QUERY", "FOO", "G" * 300]
NO_EVENT_ID = ["-1", "abc", "1.5", "1e3", "\u0663", "9" * 19, "1 ", "0x1", "null", "1,2", "٣"]
TAGS = ["x", '"x"', 'W/"x"', '"', "*, x", '"a", "b"', "é", "x" * 5000, '""', "\x00"]
