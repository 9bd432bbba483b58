"""Query strings: (case, query, status, code or None), for every list; and for every get of one thing."""

BAD, TOKEN, FILTER, SORT = "invalid_parameter", "invalid_page_token", "invalid_filter", "invalid_sort"
_NO_LIMIT = ["-1", "-0", "abc", "1.5", "1e3", "0x10", "%D9%A3", "%EF%BC%95", "--1", "1%00", "%20", "1,2", "NaN", "null",
             "true", "[]", "1%0a", "9" * 3000 + "x", "%ff", "'", "1;2"]  # fmt: skip
_LIMIT = ["", "0", "1", "000", "007", "%2B5", "1000", "1001", "1000000000", "9" * 40]
_NO_TOKEN = ["x", "..", "AAAA", "A" * 16, "A" * 60, "A" * 5000, "%00", "%0a", "%F0%9F%98%80", "null", "=", "a%20b", "a+b",
             "-" * 40, "eyJhIjoxfQ", "%ff%fe", "'%20OR%201=1--"]  # fmt: skip
_NO_SORT = [
    "x",
    "-x",
    "--created_at",
    "created_at,id",
    "id",
    "password",
    "created_at%00",
    "owner__password",
    "-",
    "+",
    "%20",
]
_UNKNOWN = ["colour=red", "LIMIT=1", "limit[]=1", "page=2", "offset=1", "cursor=x", "owner=1", "owner__email=a", "id__gt=0", "_=1",
            "a%00=1", "%ff=1", "=1", "metadata__x=1", "select=*", "q=x", "created_at__gt=1", "%5B%5D=1", "a%5Bb=1"]  # fmt: skip
_TWICE = ["limit=1&limit=2", "limit=1&limit=1", "sort=created_at&sort=created_at", "page_token=a&page_token=b"]

LISTS = [
    *(("A-15", f"limit={raw}", 400, BAD) for raw in _NO_LIMIT),
    *(("A-15", f"limit={raw}", 200, None) for raw in _LIMIT),
    *(("A-16", f"page_token={raw}", 400, TOKEN) for raw in _NO_TOKEN),
    *(("A-15", f"sort={raw}", 400, SORT) for raw in _NO_SORT),
    *(("A-23", raw, 400, BAD) for raw in _TWICE),
    *(("A-15", raw, 400, FILTER) for raw in _UNKNOWN),
]
_NO_EXPAND = ["x", "owner", "owner.email", "benchmark.owner", "subsets.tasks", "parent_run.parent_run", "a,b", "__class__",
              "%00", "*", "benchmark.subsets.benchmark.subsets", "%F0%9F%98%80", "x" * 3000]  # fmt: skip
_NO_FIELD = ["x", "password", "owner.email", "__dict__", "%00", "*", "id,x", "x" * 3000]

EXPANDABLE = [*(("A-19", f"expand={raw}", 400, "invalid_expand") for raw in _NO_EXPAND),
              *(("A-19", f"fields={raw}", 400, BAD) for raw in _NO_FIELD)]  # fmt: skip
# No get takes these.
SINGLE = [("A-15", raw, 400, None) for raw in ["verbose=1", "limit=1", "a%00=1", "%ff=1", "token=x", "access_token=x"]]

# Of runs alone.
RUNS = [
    *(("A-15", f"{name}{op}={raw}", 400, BAD) for name in ("started_at", "finished_at") for op in ("", "[gte]")
      for raw in ("x", "2026", "2026-13-01", "2026-02-30", "now", "1e99", "-1", "%00", "2026-01-01T25:00:00Z", "0")),
    *(("A-15", f"started_at[gte]={raw}", 200, None) for raw in
      ("2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00+17:21", "0001-01-02T00:00:00Z",
       "9999-12-30T00:00:00Z")),
    *(("A-15", f"started_at[{op}]=2026-01-01", 400, FILTER) for op in ("ne", "in", "gte%00", "", "GTE", "regex")),
    *(("A-15", f"status={raw}", 400, FILTER) for raw in ("x", "OK", "ok,failed", "%20")),
    *(("A-15", raw, 400, FILTER) for raw in ("status[gte]=ok", "status[]=ok", "metadata=x", "metadata[a][b]=1")),
    *(("A-15", f"metadata[{key}]={value}", 200, None) for key, value in
      (("a", "1"), ("'", "'"), ("a b", "x"), ("%F0%9F%98%80", "%F0%9F%98%80"), ("a__b", "1"), ("%25", "%25"), ("x" * 900, "x"))),
    ("A-15", "metadata[a]=%00", 400, BAD),
    ("A-15", "benchmark=%00", 400, BAD),
    ("A-15", "benchmark=nothing", 200, None),
]  # fmt: skip
