"""The extract role: rows in, {task_id, input, expected} out. No network, nothing secret."""

import json
import marshal
import os

import bench_task
import bw_channel
import bw_user

BATCH, BATCH_BYTES = 200, 4 << 20  # items per message, at most
ITEM_CAP = 32 << 20  # bytes of JSON
decode = json.loads  # as it is before it is made to remember what user code parses


def run(channel: bw_channel.Channel, start: dict) -> None:
    json.loads = Remembering(json.loads)
    task = bw_user.load_or_tell(channel, start["code"], lambda task: {})
    while task is not None:
        for message in channel.receive():
            if message["op"] == "rows":
                extract_shard(channel, task, message, start["rows_folder"])


def extract_shard(channel: bw_channel.Channel, task, message: dict, folder: str) -> None:
    shard, rows = message["shard"], message["rows"]
    if getattr(task.extract, "__func__", None) is bench_task.BenchTask.extract:
        tell_all(channel, lambda index: decode(rows[index]), shard, rows)  # what it would read from the file
        return
    path = f"{folder}/{shard}.jsonl"
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(row.replace("\n", " ") + "\n" for row in rows)
    try:
        tell_all(channel, lambda index: task.extract(path, index), shard, rows)
    finally:
        os.unlink(path)


def tell_all(channel: bw_channel.Channel, extract, shard: int, rows: list) -> None:
    items: list = []
    size = 0
    for index, row in enumerate(rows):
        items.append(item(extract, index, row))
        size += len(items[-1])
        if len(items) == BATCH or size > BATCH_BYTES or index == len(rows) - 1:
            channel.post_text('{"op":"extracted","shard":%d,"items":[%s]}' % (shard, ",".join(items)))
            items, size = [], 0


def item(extract, index: int, row: str) -> str:
    """The row's JSON text. Made at once, so that what a later call does to the same objects can't change it."""
    try:
        found = extract(index)
        if not isinstance(found, dict):
            raise TypeError(f"extract must return a dict, not {type(found).__name__}")
        task_id = found.get("task_id")
        if task_id is None:
            task_id = decode(row)["task_id"]
        made = {"index": index, "task_id": task_id, "input": found.get("input"), "expected": found.get("expected")}
        text = bw_channel.encode(made)
        if len(text) > ITEM_CAP:
            raise ValueError(f"extract returned {len(text):,} bytes of JSON, and at most {ITEM_CAP:,} are possible")
        return text
    except BaseException as error:
        return bw_channel.encode({"index": index, "error": bw_channel.fault(error)})


class Remembering:
    """json.loads that parses the same text once: reading a whole file for each index stays cheap.

    It gives a fresh copy each time, since callers may change what they get.
    """

    def __init__(self, loads) -> None:
        self.loads = loads
        self.known: dict = {}
        self.bytes = 0

    def __call__(self, text, **options):
        if options or type(text) is not str:
            return self.loads(text, **options)
        kept = self.known.get(text)
        if kept is None:
            if self.bytes > 64 << 20:
                self.known.clear()
                self.bytes = 0
            kept = self.known[text] = marshal.dumps(self.loads(text))
            self.bytes += len(kept) + len(text)
        return marshal.loads(kept)
