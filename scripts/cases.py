"""docs/cases.md: what can go wrong, and the test that shows it does not. The tests are found by their names."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Cases and their tests

Each row is something that goes wrong in systems of this kind, and where the tests are that put it to this one. A test
carries its cases in its name: `test_a01_…`, `test_c10_c12_…`. `make docs` writes this page from `scripts/cases.py` and
the tests.

"""
_TEST = re.compile(r"^\s*(?:async )?def (test_((?:[a-m]\d\d_)+)\w*)", re.MULTILINE)

AREAS = {
    "A": "The JSON door",
    "B": "Repeated requests",
    "C": "Tokens, sessions, access",
    "D": "Crashes and faults of a run",
    "E": "Streams",
    "F": "Money",
    "G": "Secrets",
    "H": "Gateway and egress",
    "I": "Sandbox",
    "J": "Scores that can be trusted",
    "K": "Pages, files, exports",
    "L": "Outgoing webhooks",
    "M": "Load and operation",
}
CASES = {
    "A01": "numbers that are not JSON, and anything else that is not: refused, never sent out",
    "A02": "a key given twice in an object",
    "A04": "NUL and lone surrogates in text and keys",
    "A05": "integers that do not fit, and other types in the place of counts and money",
    "A07": "bodies that are too long, compressed, or no JSON at all",
    "A08": "unknown fields, named with the nearest known one",
    "A09": "launch fields that exclude each other",
    "A10": "replays of chosen tasks run those and no others",
    "A11": "errors of the framework are problem documents too",
    "A14": "metadata beyond its bounds",
    "A15": "limits, sorts and filters that can't be read",
    "A16": "page tokens edited, cut, or used elsewhere",
    "A17": "rows that come and go while one pages",
    "A19": "expanding what can't or may not be expanded",
    "A22": "patches of what only the server sets",
    "A23": "parameters given twice",
    "A24": "deprecated fields say so, and until when",
    "A25": "methods: HEAD, OPTIONS, unknown ones, and headers that would change one",
    "A26": "request ids that would break a header or a log line",
    "B01": "the same request again gets the same answer",
    "B02": "the same key for another request",
    "B03": "fifty launches at once with one key",
    "B05": "the same key of another account",
    "B07": "keys that can't be used",
    "B09": "a repeated launch whose run was destroyed",
    "B10": "appended tasks, sent again",
    "B11": "stored answers hold no secret",
    "B12": "a stored answer needs the token and the scope",
    "C01": "the form, checksum and hash of tokens",
    "C02": "a token never makes, rotates or revokes tokens",
    "C03": "a missing scope is named",
    "C04": "what belongs to others answers like what is not there",
    "C05": "every route, every kind of caller",
    "C06": "a child is found below its own parent only",
    "C07": "what strangers see of a public run",
    "C08": "recipes and samples are their owner's",
    "C09": "revoked and expired tokens, also of open streams",
    "C10": "tokens in the wrong place, or in a log",
    "C11": "disabled accounts",
    "C12": "things that look like tokens",
    "C13": "forged forms, and cookies beside tokens",
    "C15": "guessing passwords, in every form that takes one",
    "C16": "one-time codes used twice, and ways around them",
    "C18": "links that would lead away after signing in",
    "C19": "forged addresses, schemes and hosts",
    "C20": "a foreign sign-in with somebody's address",
    "C21": "what the admin shows and lets one change",
    "C22": "sockets from other sites, and to others' runs",
    "C23": "minting asks for a fresh login",
    "C24": "reports of leaked tokens",
    "D01": "a worker dies right after its claim",
    "D02": "a worker dies between a model's answer and its result",
    "D03": "a worker dies after its result was stored",
    "D04": "kills at many points of one run",
    "D05": "a sandbox's supervisor dies",
    "D06": "a worker that was frozen comes back late",
    "D08": "the broker is flushed or away",
    "D09": "messages come three times and out of order",
    "D10": "the web process dies before the wake-up is sent",
    "D11": "the sweeper dies, or there are two",
    "D12": "a phase takes longer than a message stays hidden",
    "D13": "a task that kills its worker each time",
    "D14": "a worker is asked to stop",
    "D15": "old messages after an update",
    "D16": "a worker's memory stays bounded",
    "D17": "the disk of artifacts is full",
    "D18": "a row without its file, or a file without its row",
    "D19": "clocks that jump",
    "D22": "halting at every moment, and twice",
    "D23": "a run's time is over while its worker is dead",
    "D24": "several ceilings at once",
    "D25": "replays of running, foreign and destroyed runs",
    "D26": "a subset edited after the launch",
    "D27": "appending during a run, and to a frozen subset",
    "D28": "task ids that repeat, in any spelling",
    "D29": "too many rows at once",
    "D30": "a driver that answers nonsense",
    "D31": "a restored backup",
    "E01": "reconnecting anywhere misses and repeats nothing",
    "E02": "no number is seen before the one below it",
    "E03": "resuming where nothing is",
    "E04": "idle streams stay open",
    "E05": "the doorbell is away",
    "E07": "readers that hang up leave nothing behind",
    "E08": "payloads that would forge an event",
    "E10": "a run that is hidden while strangers watch",
    "E11": "events that a client does not know",
    "E12": "pages and stream tell the same events",
    "F04": "answers without usage",
    "F05": "streamed and whole answers cost the same",
    "F06": "calls that failed cost nothing",
    "F08": "one's own key costs nothing",
    "G01": "canaries of secrets, anywhere",
    "G02": "secrets are masked wherever they are shown",
    "G03": "sealed values that were moved or edited",
    "G05": "changing the master key",
    "G06": "rotating and deleting during a run",
    "G07": "values that no header can carry",
    "G10": "two secrets for one host",
    "G11": "short secrets",
    "G12": "secrets pasted where they don't belong",
    "G13": "run keys and signing secrets, by the same rules",
    "G14": "who used which secret",
    "H01": "somebody else's scorer and your keys",
    "H02": "addresses that are never dialled",
    "H03": "names that change their address",
    "H04": "odd spellings of hosts",
    "H05": "redirects to elsewhere",
    "H06": "tunnels to other ports, and what is not TLS in them",
    "H07": "tunnel, TLS and request name different hosts",
    "H08": "requests smuggled in requests",
    "H10": "keys that come back in an answer",
    "H11": "keys in query strings",
    "H13": "broken or missing encryption towards providers",
    "H14": "the gateway without its key, or with another run's",
    "H15": "the gateway as an open relay",
    "H16": "a scorer that never stops asking",
    "H18": "blocked hosts",
    "H19": "an empty list of allowed hosts",
    "H21": "answers that never end or blow up",
    "H22": "providers that are busy or broken",
    "H23": "two runs at one host",
    "I02": "memory hogs",
    "I03": "full disks",
    "I04": "threads, descriptors and loops without end",
    "I05": "floods of output",
    "I06": "writing to the host's own files",
    "I07": "system calls that lead out",
    "I08": "what a sandbox inherits",
    "I09": "reading the host",
    "I10": "ways to any network",
    "I12": "processes that stay behind",
    "I13": "forged results",
    "I14": "files that are traps",
    "I15": "archives",
    "I16": "replacing the harness from within",
    "I17": "scores that are none",
    "I18": "scorers that are too large or no code",
    "I19": "tasks share nothing",
    "I20": "a sandbox that does not start",
    "I21": "arguments of other harnesses",
    "I22": "other harnesses and real keys",
    "I24": "time, place and hashing are fixed",
    "J01": "solve looks for the expected answer",
    "J02": "what a model wrote ends its own grading",
    "J05": "scores without a number",
    "J06": "refusals, faults and the denominator",
    "J07": "empty answers that score",
    "J08": "the answer key as the answer",
    "J09": "each planned cell counts once",
    "J11": "the best of many runs",
    "J12": "boards never mix what differs",
    "J13": "a scorer that always says yes",
    "J14": "names that are only claimed",
    "J16": "parameters are part of the fingerprint",
    "J17": "only faults are tried again",
    "J18": "a replay with the same scorer",
    "J19": "an edited recipe",
    "J20": "answers that stay hidden",
    "J21": "model output that talks to the judge",
    "J22": "a judge that is away",
    "J24": "intervals, and who is tied",
    "J25": "names that look alike",
    "J26": "first dates stay",
    "J27": "gates on runs that are not whole",
    "K01": "markup in names and outputs is inert",
    "K02": "reports of strangers have no rights here",
    "K03": "files leave as downloads of known types",
    "K05": "Markdown of strangers",
    "K09": "nothing private is kept by caches",
    "K10": "no file but our own is served",
    "K11": "error pages repeat nothing",
    "L01": "signatures of notices",
    "L02": "receivers that are away",
    "L05": "two secrets at once",
    "L06": "receivers that refuse",
    "L07": "one dead receiver delays nobody",
    "L08": "a run hidden before its notice",
    "L10": "long lists of deliveries",
    "M01": "bursts beyond the rate, from many processes",
    "M02": "very many launches by one account",
    "M03": "slow and idle connections",
    "M04": "lists cost the same for few rows and many",
    "M05": "health and readiness, without secrets",
    "M06": "migrations under old workers",
    "M08": "one JSON log line per request, with nothing private",
    "M09": "packages with known holes",
}


def found() -> dict[str, list[str]]:
    """Case -> `tests/file.py::test` of each test that names it."""
    named: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, ids in _TEST.findall(path.read_text()):
            for case in re.findall(r"[a-m]\d\d", ids):
                named.setdefault(case.upper(), []).append(f"{path.relative_to(ROOT)}::{name}")
    return named


def page() -> str:
    """The whole page. A case without words of ours shows its id only; `unknown` finds it."""
    tests = found()
    parts = [HEAD]
    for letter, area in AREAS.items():
        cases = sorted(case for case in tests if case.startswith(letter))
        if not cases:
            continue
        parts.append(f"## {area}\n\n| case | what goes wrong | tests |\n|---|---|---|\n")
        for case in cases:
            parts.append(f"| {case[0]}-{case[1:]} | {CASES.get(case, '')} | {_shown(tests[case])} |\n")
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _shown(tests: list[str]) -> str:
    """Each file once."""
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return ", ".join(f"[{path.removeprefix('tests/')}](../{path})" for path in files)


def unknown() -> list[str]:
    """Cases that a test names and this page has no words for."""
    return sorted(set(found()) - set(CASES))
