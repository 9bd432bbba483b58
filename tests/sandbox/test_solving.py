"""Solve: the model's clients, the task's own key, the environment; against a real server on the passed listener."""

import asyncio
import gzip
import json
import textwrap
from typing import Any

import pytest

from tests.sandbox.conftest import Open, Opener, task
from tests.sandbox.guide import GAUNTLET, TOOL_CALLS

Request = dict[str, Any]


class Model:
    """An OpenAI-like server on a listener. What it answers is said by the request's last message."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.connections = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = {"line": first, "headers": headers, "body": json.loads(body) if body else None}
                self.requests.append(asked)
                if not await self.answer(asked, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, asked: Request, writer: asyncio.StreamWriter) -> bool:
        said = (asked["body"] or {}).get("messages", [{"content": ""}])[-1]["content"]
        message: dict[str, Any] = {"role": "assistant", "content": f"echo {said}"}
        if asked["body"] and asked["body"].get("tools"):
            call = {"name": "f", "arguments": json.dumps({"x": said})}
            message["tool_calls"] = [{"id": "c", "type": "function", "function": call}]
        body = json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m/x"}
            | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
        ).encode()
        if said == "drop":
            return False
        if said == "slow":
            await asyncio.sleep(3)
        if said == "error":
            writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nwait")
        elif said == "chunked":
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:10], body[10:])) + b"0\r\n\r\n"
            start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            writer.write(start + chunks)
        elif said == "gzip":
            packed = gzip.compress(body)
            start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Encoding: gzip\r\n"
            writer.write(start + b"Content-Length: %d\r\n\r\n" % len(packed) + packed)
        else:
            start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Two: a\r\nX-Two: b\r\n"
            writer.write(
                start
                + b"Content-Length: %d\r\n" % len(body)
                + (b"Connection: close\r\n\r\n" if said == "close" else b"\r\n")
                + body
            )
        await writer.drain()
        return said != "close"


@pytest.fixture
def model() -> Model:
    return Model()


async def behind(roles: Open, model: Model) -> asyncio.Server:
    return await asyncio.start_server(model.talk, sock=roles.roles.listener)


def key(asked: Request) -> str:
    return str(asked["headers"]["authorization"])


async def test_it_runs_the_guides_tool_call_scorer_unchanged(opened: Opener, model: Model) -> None:
    roles = await opened(TOOL_CALLS)
    await behind(roles, model)
    rows = [{"task_id": f"t{at}", "input": {"question": f"q{at}", "functions": [{"name": "f"}]}} for at in range(3)]
    wanted = [{"expected": [{"name": "f", "args": {"x": f"q{at}"}}]} for at in range(3)]
    items = await roles.extract(*[row | want for row, want in zip(rows, wanted, strict=True)])
    solved = await roles.solve(*[item["input"] for item in items])
    assert [json.loads(each["output"]) for each in solved] == [item["expected"] for item in items]
    pairs = [(each["output"], item["expected"]) for each, item in zip(solved, items, strict=True)]
    scored = await roles.score(*pairs, ("[]", [{"name": "f", "args": {}}]), ("not json", []))
    assert [each.get("score") for each in scored] == [1.0, 1.0, 1.0, 0.0, None]
    assert scored[4]["error"]["class"] == "scorer_exception"
    assert model.requests[0]["line"] == "POST /v1/chat/completions HTTP/1.1"
    assert {key(asked) for asked in model.requests} == {f"Bearer bwk1.lease.{at}.1.mac" for at in range(3)}
    assert model.requests[0]["body"]["model"] == "m/x"


async def test_it_runs_the_guides_gauntlet_unchanged(opened: Opener, model: Model) -> None:
    roles = await opened(GAUNTLET)
    await behind(roles, model)
    solved = await roles.solve(
        {"kind": "multiple_choice", "question": "Which? B", "choices": ["x", "y"]},
        {"kind": "function_call", "question": "call", "functions": [{"name": "f"}]},
        {"kind": "math", "question": "1,200 or so"},
        {"kind": "code", "prompt": "write"},
        {"kind": "poem"},
    )
    calls = '[{"name": "f", "args": {"x": "call"}}]'
    assert [each.get("output") for each in solved[1:4]] == [calls, "1200", "echo write"]
    assert solved[4]["error"]["message"] == "unknown kind: poem"
    program = "```python\ndef double(x):\n    return 2 * x\n```"
    scored = await roles.score(
        ("b", {"kind": "multiple_choice", "value": "B"}),
        (solved[1]["output"], {"kind": "function_call", "value": [{"name": "f", "args": {"x": "call"}}]}),
        ("1200", {"kind": "math", "value": "1200.0"}),
        (program, {"kind": "code", "test_code": "assert double(4) == 8"}),
        (program, {"kind": "code", "test_code": "assert double(4) == 9"}),
    )
    assert [each.get("score") for each in scored] == [1.0, 1.0, 1.0, 1.0, 0.0]


BOTH_WAYS = """
    def describe(self, call):
        try:
            r = call()
        except Exception as error:
            return [type(error).__module__, type(error).__name__, error.request.method, error.request.url,
                    dict(error.request.headers)]
        try:
            raised = None
            r.raise_for_status()
        except requests.HTTPError as error:
            raised = str(error)
        return [type(r).__name__, r.status_code, r.reason, r.text, r.encoding, dict(r.headers), r.url, r.ok, raised,
                r.headers.get("content-TYPE"), r.request.method, r.request.url, dict(r.request.headers),
                r.request.body.decode(), r.history, r.is_redirect, r.raw.status, r.elapsed.total_seconds() >= 0,
                type(r.cookies).__name__, r.content.decode("latin-1"),
                next(r.iter_lines()).decode("latin-1")]

    def solve(self, index, input):
        import bw_clients
        url = os.environ["BW_MODEL_PROXY_URL"] + input.get("path", "/v1/chat/completions")
        options = dict(input.get("options", {}))
        if isinstance(options.get("timeout"), list):
            options["timeout"] = tuple(options["timeout"])
        options.setdefault("headers", {"Authorization": "Bearer " + os.environ["BW_MODEL_PROXY_KEY"], "x-one": "1"})
        body = {"model": "m", "messages": [{"role": "user", "content": input["say"]}], "é": 1.5}
        quick = requests.api.request.__self__
        found = []
        for way in (quick.request, quick.original):
            found.append(self.describe(lambda: way("post", url, json=body, **options)))
        return found
"""


@pytest.mark.parametrize("say", ["hello", "error", "chunked", "gzip", "close", "drop", "slow"])
async def test_it_gives_the_same_by_the_short_way_as_requests_itself(opened: Opener, model: Model, say: str) -> None:
    roles = await opened(task(BOTH_WAYS, head="import requests"))
    await behind(roles, model)
    asked = {"say": say, "options": {"timeout": [5, 0.4]}}
    for _ in range(2):  # the second time on a kept connection
        quick, original = (await roles.solve(asked))[0]["output"]
        assert quick == original
    sent = [{**each, "headers": dict(sorted(each["headers"].items()))} for each in model.requests]
    assert sent[0] == sent[1]


async def test_it_leaves_unusual_requests_to_the_library(opened: Opener, model: Model) -> None:
    solve = """
        def solve(self, index, input):
            quick = requests.api.request.__self__
            url = os.environ["BW_MODEL_PROXY_URL"] + "/v1"
            took = [quick.plan("POST", url, {"json": {}}) is not None]
            for method, where, options in (
                ("GET", url, {"json": {}}), ("POST", url + "?a=1", {"json": {}}),
                ("POST", "http://example.org/", {"json": {}}),
                ("POST", url, {"json": {}, "stream": True}), ("POST", url, {"json": {"stream": True}}),
                ("POST", url, {"data": b"x"}), ("POST", url, {"json": {}, "headers": {"a": "b\\n"}}),
                ("POST", url, {"json": {}, "auth": ("a", "b")}), ("POST", url, {"json": float("nan")}),
                ("POST", url, {"json": {}, "timeout": 0}), ("POST", url, {"json": {}, "headers": {"Host": "x"}}),
                ("POST", url, {"json": {}, "headers": {"a": 1}}), ("POST", url, {"json": {}, "headers": {"a": None}}),
            ):
                took.append(quick.plan(method, where, options) is not None)
            return took
    """
    roles = await opened(task(solve, head="import requests"))
    assert (await roles.solve(1))[0]["output"] == [True] + [False] * 13


async def test_it_keeps_connections_on_the_short_way(opened: Opener, model: Model) -> None:
    roles = await opened(TOOL_CALLS, concurrency=1)
    await behind(roles, model)
    await roles.solve(*[{"question": "q", "functions": [{}]}] * 20)
    assert (len(model.requests), model.connections) == (20, 1)


CLIENTS = {
    "requests": """
        def solve(self, index, input):
            with requests.Session() as session:
                r = session.post(os.environ["BW_MODEL_PROXY_URL"] + "/v1/chat/completions", headers=HEADERS,
                                 json={"messages": [{"role": "user", "content": input}]})
            return r.json()["choices"][0]["message"]["content"]
    """,
    "httpx": """
        def solve(self, index, input):
            r = httpx.post(os.environ["BW_MODEL_PROXY_URL"] + "/v1/chat/completions", headers=HEADERS,
                           json={"messages": [{"role": "user", "content": input}]})
            return r.json()["choices"][0]["message"]["content"]
    """,
    "openai": """
        def solve(self, index, input):
            r = client.chat.completions.create(model=os.environ["BW_MODEL_MODEL"],
                                               messages=[{"role": "user", "content": input}])
            return r.choices[0].message.content
    """,
    "chat_sync": """
        def solve(self, index, input):
            return chat_sync([{"role": "user", "content": input}])["choices"][0]["message"]["content"]
    """,
    "chat": """
        async def solve(self, index, input):
            answer = await chat([{"role": "user", "content": input}], temperature=0)
            return answer["choices"][0]["message"]["content"]
    """,
}
HEADS = {
    "requests": 'import requests\nHEADERS = {"Authorization": "Bearer " + os.environ["BW_MODEL_PROXY_KEY"]}',
    "httpx": 'import httpx\nHEADERS = {"Authorization": "Bearer " + os.environ["BW_MODEL_PROXY_KEY"]}',
    "openai": 'import openai\nclient = openai.OpenAI(base_url=os.environ["BW_MODEL_PROXY_URL"] + "/v1", '
    'api_key=os.environ["BW_MODEL_PROXY_KEY"])',
}


@pytest.mark.parametrize("client", list(CLIENTS))
async def test_it_gives_every_client_the_tasks_own_key(opened: Opener, model: Model, client: str) -> None:
    """Also one that was made while the module was imported, when no task had a key yet."""
    roles = await opened(task(CLIENTS[client], head=HEADS.get(client, "")))
    await behind(roles, model)
    answers = await roles.solve(*[f"say {at}" for at in range(6)])
    assert [answer.get("output", answer) for answer in answers] == [f"echo say {at}" for at in range(6)]
    for asked in model.requests:
        number = asked["body"]["messages"][0]["content"].split()[1]
        assert key(asked) == f"Bearer bwk1.lease.{number}.1.mac"


async def test_it_shows_each_task_its_own_key_in_threads_pools_and_children(opened: Opener) -> None:
    solve = """
        def solve(self, index, input):
            found = []
            look = lambda: found.append(os.environ["BW_MODEL_PROXY_KEY"])
            look()
            thread = threading.Thread(target=look); thread.start(); thread.join()
            POOL.submit(look).result()
            time.sleep(0.05)
            found.append(os.getenv("BW_MODEL_PROXY_KEY"))
            found.append(dict(os.environ)["BW_MODEL_PROXY_KEY"])
            found.append(subprocess.check_output(["env"], text=True).split("BW_MODEL_PROXY_KEY=")[1].split("\\n")[0])
            os.system("echo $BW_MODEL_PROXY_KEY > /tmp/key%d" % index)
            found.append(open("/tmp/key%d" % index).read().strip())
            return found
    """
    head = "import subprocess, threading\nfrom concurrent.futures import ThreadPoolExecutor as P\nPOOL = P(2)"
    roles = await opened(task(solve, head=head), concurrency=8)
    for at, answer in enumerate(await roles.solve(*range(8))):
        assert answer.get("output", answer) == [f"bwk1.lease.{at}.1.mac"] * 7


async def test_it_shows_async_tasks_their_own_key(opened: Opener) -> None:
    solve = """
        async def solve(self, index, input):
            await asyncio.sleep(0.02)
            here = os.environ["BW_MODEL_PROXY_KEY"]
            other = await asyncio.to_thread(os.getenv, "BW_MODEL_PROXY_KEY")
            child = await asyncio.create_subprocess_exec("env", stdout=-1)
            text = (await child.communicate())[0].decode()
            return [here, other, text.split("BW_MODEL_PROXY_KEY=")[1].split()[0]]
    """
    roles = await opened(task(solve, head="import asyncio"))
    for at, answer in enumerate(await roles.solve(*range(6))):
        assert answer.get("output", answer) == [f"bwk1.lease.{at}.1.mac"] * 3


async def test_it_raises_chat_errors_with_status_and_body(opened: Opener, model: Model) -> None:
    solve = """
        def solve(self, index, input):
            try:
                chat_sync([{"role": "user", "content": input}], timeout=0.5)
            except ChatError as error:
                return [error.status, error.body]
    """
    roles = await opened(task(solve, head="from bench_task import ChatError"))
    await behind(roles, model)
    error, slow, dropped = await roles.solve("error", "slow", "drop")
    assert error["output"] == [429, "wait"]
    assert slow["output"][0] == 0
    assert "timed out" in slow["output"][1]
    assert dropped["output"][0] == 0


async def test_it_never_sends_a_request_twice(opened: Opener, model: Model) -> None:
    """An answer that did not come may have been paid for: only the journal may decide to ask again."""
    roles = await opened(TOOL_CALLS)
    await behind(roles, model)
    await roles.solve({"question": "hello", "functions": [{}]})
    (answer,) = await roles.solve({"question": "drop", "functions": [{}]})
    assert answer["error"]["class"] == "ConnectionError"
    assert len(model.requests) == 2


async def test_it_dials_anew_when_a_kept_connection_was_closed(opened: Opener, model: Model) -> None:
    roles = await opened(task(textwrap.dedent(CLIENTS["chat_sync"])), concurrency=1)
    await behind(roles, model)
    for _ in range(2):
        assert (await roles.solve("close"))[0]["output"] == "echo close"
        await asyncio.sleep(0.05)
    assert model.connections == 2
