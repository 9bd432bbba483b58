"""The folder of wake-ups: a message appears whole, each is taken once, a torn one stops nobody."""

import shutil
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Exchange, Producer, Queue

from benchwright_site import spool


@pytest.fixture
def channel(tmp_path: Path) -> Any:
    options = {"data_folder_in": str(tmp_path), "data_folder_out": str(tmp_path), "control_folder": str(tmp_path / "c")}
    spool.register()
    with Connection("filesystem://", transport_options=options) as connection:
        made = connection.channel()
        assert isinstance(made, spool.Channel)
        yield made


def test_it_hands_each_message_over_once_and_in_order(channel: Any) -> None:
    for number in range(3):
        channel._put("celery", {"number": number, "properties": {}})
    got = sorted(channel._get("celery")["number"] for _ in range(3))
    assert got == [0, 1, 2]
    with pytest.raises(Empty):
        channel._get("celery")


def test_it_leaves_out_what_is_torn_or_not_its_own(channel: Any, tmp_path: Path) -> None:
    (tmp_path / "1_a.celery.msg").write_text('{"half": ')
    (tmp_path / ".b.part").write_text("{}")
    channel._put("other", {"other": True})
    channel._put("celery", {"whole": True})
    assert channel._get("celery") == {"whole": True}
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("other") == {"other": True}
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".msg"] == []


def test_d08_a_folder_that_is_wiped_is_made_again(tmp_path: Path) -> None:
    """Also where queue and exchange were declared before, and nobody will declare them again."""
    folder = tmp_path / "broker"
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder / "control")}
    folder.mkdir()
    spool.register()
    queue = Queue("wakes", Exchange("wakes"), routing_key="wakes")
    with Connection("filesystem://", transport_options=options) as connection:
        channel = connection.channel()
        producer = Producer(channel)
        bound = queue(channel)
        bound.declare()
        for damage in ("torn", "wiped"):
            if damage == "torn":  # its writer was killed half way
                (folder / "control" / "wakes.exchange").write_text('[["w')
            else:
                shutil.rmtree(folder)
            assert bound.get() is None
            producer.publish("wake", exchange="wakes", routing_key="wakes")
            got = bound.get()
            assert got is not None
            assert got.payload == "wake"


def test_d08_a_worker_starts_on_a_torn_folder(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    (folder / "control").mkdir(parents=True)
    (folder / "control" / "wakes.exchange").write_text('[["w')
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder / "control")}
    spool.register()
    with Connection("filesystem://", transport_options=options) as connection:
        channel = connection.channel()
        channel.state.clear()  # a process that has declared nothing yet
        Queue("wakes", Exchange("wakes"), routing_key="wakes")(channel).declare()
        assert channel.get_table("wakes") == [("wakes", "", "wakes")]
