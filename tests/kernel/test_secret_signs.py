"""What looks like a secret, and what only might: keys of providers are found, ordinary text is let alone."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import secret_signs
from kernel.errors import DomainError
from kernel.secret_signs import REDACTED

_dice = random.Random(7)
WORD, HEX, LOWER = string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_lowercase + string.digits


def some(signs: str, count: int) -> str:
    return "".join(_dice.choice(signs) for _ in range(count))


# Put together here, so that no scanner takes this file for a leak.
KEYS = {
    "openrouter": "sk-or-" + "v1-" + some(HEX, 64),
    "anthropic": "sk-ant-" + "api03-" + some(WORD, 93) + "AA",
    "openai": "sk-" + "proj-" + some(WORD, 60) + "-" + some(WORD, 40),
    "openai, old": "sk-" + some(WORD, 48),
    "deepseek": "sk-" + some(HEX, 32),
    "groq": "gsk" + "_" + some(WORD, 52),
    "hugging face": "hf" + "_" + some(string.ascii_letters, 34),
    "xai": "xai" + "-" + some(WORD, 80),
    "perplexity": "pplx" + "-" + some(WORD, 48),
    "together": "tgp" + "_v1_" + some(WORD, 43),
    "fireworks": "fw" + "_" + some(WORD, 24),
    "nvidia": "nvapi" + "-" + some(WORD, 64),
    "replicate": "r8" + "_" + some(WORD, 37),
    "e2b": "e2b" + "_" + some(HEX, 40),
    "github": "ghp" + "_" + some(WORD, 36),
    "github, fine-grained": "github" + "_pat_" + some(WORD, 22) + "_" + some(WORD, 59),
    "gitlab": "glpat" + "-" + some(WORD, 20),
    "aws": "AKIA" + some("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    "google": "AIza" + some(WORD, 35),
    "slack": "xoxb" + "-" + some(string.digits, 12) + "-" + some(WORD, 24),
    "stripe": "sk" + "_live_" + some(WORD, 24),
    "webhook": "whsec" + "_" + some(WORD, 32),
    "npm": "npm" + "_" + some(WORD, 36),
    "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + some(WORD, 60),
    "ours": "bw_live" + "_pat_" + some(WORD, 38),
    "a run's": "bwk1" + "." + some(HEX, 32) + ".17.1.1." + some(WORD, 43),
    "a run's, for hosts": "bwe1" + "." + some(HEX, 32) + ".solve." + some(WORD, 43),
    "private key": "-----BEGIN " + "PRIVATE KEY-----\n" + some(WORD + "+/", 64) + "\n" + some(WORD, 40)
    + "\n-----END PRIVATE KEY-----",
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_g12_g13_it_knows_the_keys_of_providers_and_our_own(name: str) -> None:
    key = KEYS[name]
    for text in (key, f"use {key}.", f'{{"a":"{key}"}}', f"x={key}&y=1", f"(é{key})", f"line\\n{key}\\n"):
        assert secret_signs.found(text), text
        shown = secret_signs.redact(text)
        assert REDACTED in shown
        assert key not in shown
        assert key[-12:] not in shown or name == "private key"
    assert secret_signs.found(f"a{key}") is None or name in ("private key",)


@pytest.mark.parametrize(
    "text",
    [
        "sk-your-api-key-goes-here-0123456789",
        "sk-" + "x" * 48,
        "sk-1234567890abcdefghijklmnopqrstuvwxyz",
        "task-5f4dcc3b5aa765d61d8327deb882cf99 and risk-5f4dcc3b5aa765d61d8327deb882cf99",
        "AKIAIOSFODNN7EXAMPLE",
        "hf_hub_download_with_retries_and_caching",
        "https://huggingface.co/datasets/gsm8k/resolve/main/test.jsonl",
        "gitlab-runner-configuration-file-name",
        "A commit 3f786850e387550fdab836ed7e6dc881de23001b and a uuid 8713e25a-d4f5-48b7-9d6d-eda66603a1ab.",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "The skeleton key opens the door of the museum's Asiatic collection, ASIANDEVELOPMENTBANK.",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_it_lets_what_only_looks_a_little_like_it_alone(text: str) -> None:
    assert secret_signs.found(text) is None
    assert secret_signs.redact(text) == text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("my api key is 8Kd03jfLs9qPzX72mNvB41", True),
        ("API_KEY = '8Kd03jfLs9qPzX72mNvB41'", True),
        ("Authorization: Bearer 8Kd03jfLs9qPzX72mNvB41", True),
        ("password: 8713e25a-d4f5-48b7-9d6d-eda66603a1ab", True),
        ("token=tokenizer.from_pretrained('gpt-4o-mini-2024')", False),
        ("max_tokens\nclaude-3-opus-20240229", False),
        ("password = _hash_argon2id13_secret", False),
        ("api_key=os.environ['OPENROUTER_API_KEY_OF_MINE']", False),
        ("Count the tokens in AbstractSingletonProxyFactoryBean", False),
        ("token: secureAccessToken12345", False),
    ],
)
def test_g12_random_text_beside_a_telling_name_counts_too(text: str, is_one: bool) -> None:
    assert secret_signs.named(text) is is_one


def test_g12_it_refuses_with_a_pointer_to_the_place_and_to_the_vault() -> None:
    key = KEYS["openrouter"]
    for value, place in (
        ({"a": [{"b": f"see {key}"}]}, ["body", "metadata", "a", 0, "b"]),
        ({f"x {key}": 1}, ["body", "metadata"]),
        ({"api_key": "8Kd03jfLs9qPzX72mNvB41"}, ["body", "metadata", "api_key"]),
    ):
        with pytest.raises(DomainError) as no:
            secret_signs.refuse(value, "body", "metadata")
        assert (no.value.code, no.value.status) == ("secret_in_payload", 422)
        assert no.value.errors[0]["loc"] == place
        assert "/v1/secrets" in no.value.detail
        assert key not in str(no.value.document(None))
    with pytest.raises(DomainError, match="Line 3"):
        secret_signs.refuse(f"import os\n\nKEY = '{key}'\n", "body", "code")
    secret_signs.refuse({"api_key": "8Kd03jfLs9qPzX72mNvB41"}, "body", "grader", names=False)
    secret_signs.refuse({"max_tokens": 5, "n": None, "tags": ["a"], "sha": "3f786850e387550fdab836"}, "body")


def test_it_redacts_inside_of_json_and_leaves_the_rest() -> None:
    value = {"a": [1, None, f"k {KEYS['groq']}!"], KEYS["aws"]: True, "n": 1.5}
    assert secret_signs.redact_values(value) == {
        "a": [1, None, f"k gsk_{REDACTED}!"], f"AKIA{REDACTED}": True, "n": 1.5
    }  # fmt: skip


def test_it_redacts_what_is_nested_deeper_than_python_can_call() -> None:
    value: list[object] = [KEYS["groq"]]
    for _ in range(5_000):
        value = [value]
    secret_signs.redact_values(value)
    while isinstance(value[0], list):
        value = value[0]
    assert value == [f"gsk_{REDACTED}"]


def test_a_log_line_tells_no_header_address_or_token() -> None:
    jwt = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", some(WORD, 43)))
    for text, hidden in (
        ("GET https://a.example/x?api_key=abcd1234efgh&b=1", "abcd1234efgh"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        ("postgresql://bw:hunter22@db/benchwright", "hunter22"),
        (f"cookie {jwt}", jwt[-20:]),
    ):
        shown = secret_signs.redact_line(text)
        assert hidden not in shown
        assert REDACTED in shown
    plain = "2026-04-01 http://127.0.0.1:8000/v1/runs: took 12 ms, user@example.org"
    assert secret_signs.redact_line(plain) == plain


@given(st.text())
def test_it_changes_no_text_without_a_secret(text: str) -> None:
    if secret_signs.found(text) is None:
        assert secret_signs.redact(text) == text
    assert secret_signs.found(secret_signs.redact(text)) is None
