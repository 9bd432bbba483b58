"""Where token and address come from, and that a stored token goes nowhere else."""

import stat
from pathlib import Path

import pytest

from benchwright import config
from benchwright.errors import ConfigError


@pytest.fixture
def profiles(home: Path) -> None:
    config.store("work", "https://work.example", "token-work")
    config.store("lab", "http://127.0.0.1:8000", "token-lab")


def test_nothing_means_the_public_site_and_no_token() -> None:
    account = config.resolve()
    assert (account.token, account.base_url) == (None, "https://benchwright.ai")


def test_arguments_beat_environment_beats_profile(profiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.resolve().token == "token-work"
    assert config.resolve().base_url == "https://work.example"
    monkeypatch.setenv("BW_PAT", "token-env")
    monkeypatch.setenv("BW_BASE_URL", "http://env.example/v1/")
    assert (config.resolve().token, config.resolve().base_url) == ("token-env", "http://env.example")
    account = config.resolve("token-arg", "http://arg.example")
    assert (account.token, account.base_url) == ("token-arg", "http://arg.example")


def test_a_named_profile_beats_the_environment(profiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BW_PAT", "token-env")
    account = config.resolve(profile="lab")
    assert (account.token, account.base_url, account.profile) == ("token-lab", "http://127.0.0.1:8000", "lab")


def test_a_stored_token_goes_only_to_its_own_server(profiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BW_BASE_URL", "https://evil.example")
    assert config.resolve().token is None
    assert config.resolve(base_url="http://127.0.0.1:8000").token == "token-lab"
    assert config.resolve(base_url="https://work.example.evil.example").token is None
    assert config.resolve(base_url="https://evil.example", profile="work").token is None


def test_the_file_is_for_its_owner_only_and_keeps_the_others(profiles: None) -> None:
    assert stat.S_IMODE(config.path().stat().st_mode) == 0o600
    config.store("work", "https://work.example", 'tö"ken\\')
    loaded = config.load()
    assert loaded["default_profile"] == "work"
    assert loaded["profiles"]["work"]["token"] == 'tö"ken\\'
    assert loaded["profiles"]["lab"]["token"] == "token-lab"
    assert [path.name for path in config.path().parent.iterdir()] == ["config.toml"]


def test_what_a_user_added_to_the_file_stays(home: Path) -> None:
    config.path().parent.mkdir(parents=True)
    own = 'note = "x"\nlist = [1, "a"]\n[profiles."my one"]\nbase_url = "http://h:1"\ntoken = "t"\n'
    config.path().write_text(own + "[other.deep]\na = true\n")
    config.store("b", "http://b.example", "t2")
    loaded = config.load()
    assert loaded["note"] == "x"
    assert loaded["list"] == [1, "a"]
    assert loaded["other"]["deep"]["a"] is True
    assert loaded["profiles"]["my one"]["token"] == "t"


def test_xdg_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    assert config.store("a", "http://a.example", "t") == tmp_path / "conf/benchwright/config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config.path() == Path.home() / ".config/benchwright/config.toml"


def test_a_broken_file_is_named(home: Path) -> None:
    config.path().parent.mkdir(parents=True)
    config.path().write_text("profiles = [")
    with pytest.raises(ConfigError, match=r"config\.toml can't be read"):
        config.resolve()
    assert config.resolve("token", "http://a.example").token == "token"


def test_an_unknown_profile_names_the_known_ones(profiles: None) -> None:
    with pytest.raises(ConfigError, match="known: lab, work"):
        config.resolve(profile="wrok")


@pytest.mark.parametrize("url", ["", "benchwright.ai", "ftp://a", "http://", "http://user:pw@host"])
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(ConfigError):
        config.tidy(url)
