"""Keys by their forms and by what they are assigned to. All keys here are made up."""

from __future__ import annotations

import pytest

from mspt.core.text.privacy.credentials import MAX_KEY_CHARACTERS, assigned_values, block_at, key_at, looks_random

LINES = "\n".join(["MIIEowIBAAKCAQEA7d8f9sK2lQ0pVz3mXn5bYtRc1uWhJgE6iAoZsN4kTqLxPvBd"] * 4)


@pytest.mark.parametrize(
    "key",
    [
        "AKIA2E0A8F3B244C9986",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "sk-proj-4fK9sLq2Zt7XwB1nVd8RyC3mH6",
        "xoxb-123456789012-AbCdEfGhIjKlMnOpQrStUvWx",
        "AIzaSyD3x9K2mQ7vT1bN5cR8wZ4pL6hJ0fGyUeA",
        "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",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    ],
)
def test_known_forms(key: str) -> None:
    assert key_at(f"a {key}.", 2) == (2, 2 + len(key))
    assert key_at(f"x{key}", 1) is None  # inside a word
    assert key_at(key[:12], 0) is None


@pytest.mark.parametrize("text", ["sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-this-is-the-name-of-a-style-class", "ghp_" + "a" * 36])
def test_forms_to_be_filled_in_are_no_keys(text: str) -> None:
    assert key_at(text, 0) is None


def test_private_keys_are_found_whole() -> None:
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{LINES}\n-----END RSA PRIVATE KEY-----"
    assert block_at(f"{block}\nmore", 0) == (0, len(block))
    assert block_at("-----BEGIN CERTIFICATE-----\n" + LINES, 0) is None
    assert block_at("-----BEGIN PRIVATE KEY----- opens the file, and then comes the key.", 0) is None


def test_a_private_key_that_was_cut_is_found_to_the_next_blank_line() -> None:
    head = f"-----BEGIN PRIVATE KEY-----\n{LINES}"
    assert block_at(f"{head}\n\nmore text", 0) == (0, len(head))
    endless = head + LINES * 100
    assert block_at(endless, 0) == (0, len("-----BEGIN PRIVATE KEY-----") + MAX_KEY_CHARACTERS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('api_key = "Zx81kQ0vLm3TnB7yRw2D"', "Zx81kQ0vLm3TnB7yRw2D"),
        ("SECRET_KEY=9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"),
        ("const accessToken: 'a1B2-c3D4_e5F6g7H8i9'", "a1B2-c3D4_e5F6g7H8i9"),
        ("密码：Ab3dE5gH7jK9mN1pQ", "Ab3dE5gH7jK9mN1pQ"),
    ],
)
def test_values_of_keys_and_tokens(text: str, value: str) -> None:
    assert [text[start:end] for start, end in assigned_values(text)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "sha256 = 9f86d081884c7d659a2feaa0c55ad015",  # no name of a key
        "primary_key: 9f86d081884c7d659a2feaa0c55ad015",
        "monkey = Zx81kQ0vLm3TnB7yRw2D",
        "token: bert-base-uncased-vocabulary-v1",
        "secret = settings.Zx81kQ0vLm3TnB7yRw2D",
        "key = compute1Key2From3Password4(",
        "api_key=your_api_key_goes_here_please",
        "key = 123456789012345678901234",
    ],
)
def test_other_values_stay(text: str) -> None:
    assert not list(assigned_values(text))


def test_random_and_not() -> None:
    assert all(map(looks_random, ["Zx81kQ0vLm3TnB7yRw2D", "9f86d081884c7d65", "tkkgRVAtngwwlJHlIEXpLApz"]))
    assert not any(map(looks_random, ["AbstractSingletonProxyFactoryBean", "user_profile_settings", "A1", "aaaaaaaaaaaaaaaa1", "usr/local/lib/python3"]))
