"""Keys, tokens and private keys: by the forms that their issuers gave them, and by the names that random-looking values are given to."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

# How keys begin that say what they are; "-----BEGIN " opens a private key.
PREFIXES = (
    "AKIA", "ASIA", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "sk-", "xox", "AIza", "sk_live_", "sk_test_", "rk_live_", "rk_test_",
    "LTAI", "AKID", "hf_", "npm_", "SG.", "eyJ",
)  # fmt: skip
BLOCK_PREFIX = "-----BEGIN "
# Their forms. The sources are the issuers' own pages: AWS, GitHub, GitLab, OpenAI and Anthropic, Slack, Google, Stripe, Alibaba Cloud,
# Tencent Cloud, Hugging Face, npm, SendGrid; RFC 7519 for JWT. Every repetition is bounded and begins at a border.
KNOWN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|gh[opsur]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,64}"
    r"|sk-[A-Za-z0-9_-]{20,200}|xox[abeoprs]-[A-Za-z0-9-]{10,250}|AIza[A-Za-z0-9_-]{35}|[rs]k_(?:live|test)_[A-Za-z0-9]{24,99}|LTAI[A-Za-z0-9]{12,24}"
    r"|AKID[A-Za-z0-9]{32}|hf_[A-Za-z0-9]{34}|npm_[A-Za-z0-9]{36}|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"
    r"|eyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{20,1000}"
    r")(?![A-Za-z0-9_-])"
)
PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
CLOSING = re.compile("-----END [A-Z0-9 ]{0,40}(?:-----)?")
KEY_LINE = re.compile(r"[A-Za-z0-9+/]{32}")
MAX_HEADER_CHARACTERS = 300  # lines like "Proc-Type: 4,ENCRYPTED" between the opening and the key
MAX_KEY_CHARACTERS = 8_000  # an RSA key of 8,192 bits has 6,400 and its line ends

ASSIGNED = re.compile(r"[:=：][=>]?[ \t]{0,3}[\"'`]?(?P<value>[A-Za-z0-9+/_-]{16,512}+={0,2})(?![A-Za-z0-9_.(\[=])")
NAME_CHARACTERS = 32
# What stands before the sign: the end of a name. Keys of these names open nothing, and some words merely end alike.
NAME = re.compile(r"(?:key|secret|token|passw(?:or)?d|passwd|pwd|credential|密[钥码])s?(?:[_-]?(?:id|key|value))?[\"'`\])]{0,2}[ \t]{0,3}\Z", re.IGNORECASE)
PLAIN_NAME = re.compile(
    r"(?:public|primary|foreign|sort|cache|partition|hash|index|row|dict|map|mon|tur|don|hot|reg|object|group)[_.-]?keys?[\"'`\])]{0,2}[ \t]{0,3}\Z",
    re.IGNORECASE,
)
# What chance makes has few runs of small letters: of random values of 16 and of 20 base-62 characters 2 and 1 % fail; of 31,661 words of 16
# characters and more in the standard library and transformers 2 % pass, many of them hashes.
MIN_ENTROPY, MAX_WORD_SHARE = 2.75, 0.6
SEPARATORS, MIN_PLAIN = re.compile("[+/_=-]"), 12
WORD = re.compile("[A-Za-z][a-z]{3,}")
MIN_DIFFERENT = 7  # characters in a key behind its prefix: 12 random capitals and digits have fewer once in 2,000


def key_at(text: str, start: int) -> tuple[int, int] | None:
    """The key of a known form that begins at `start`, where one of PREFIXES stands."""
    match = KNOWN.match(text, start)
    return match.span() if match and _is_varied(match[0]) else None


def block_at(text: str, start: int) -> tuple[int, int] | None:
    """The private key whose block begins at `start`. One without an end is cut off: it reaches to the next blank line, or as far as a key can."""
    opening = PRIVATE_KEY.match(text, start)
    if opening is None:
        return None
    if not KEY_LINE.search(text, opening.end(), opening.end() + MAX_HEADER_CHARACTERS):
        return None
    limit = min(len(text), opening.end() + MAX_KEY_CHARACTERS)
    end = text.find("-----END ", opening.end(), limit)
    if end >= 0:
        closing = CLOSING.match(text, end)
        return start, closing.end() if closing else end
    blank = text.find("\n\n", opening.end(), limit)
    return start, blank if blank >= 0 else limit


def assigned_values(text: str) -> Iterator[tuple[int, int]]:
    """Random-looking values that a key, secret, token or password is set to."""
    for match in ASSIGNED.finditer(text):
        before = text[max(0, match.start() - NAME_CHARACTERS) : match.start()]
        if NAME.search(before) and not PLAIN_NAME.search(before) and looks_random(match["value"]):
            yield match.span("value")


def looks_random(value: str) -> bool:
    """Whether `value` is no word, path, identifier or number: it mixes kinds of characters and is not made of words."""
    plain = SEPARATORS.sub("", value)
    if len(plain) < MIN_PLAIN or plain.isdigit() or (plain.isalpha() and (plain.islower() or plain.isupper())):
        return False
    return _entropy(plain) >= MIN_ENTROPY and sum(map(len, WORD.findall(value))) <= MAX_WORD_SHARE * len(plain)


def _is_varied(key: str) -> bool:
    """Whether a key is more than a form to be filled in (ghp_xxxxxxxx...) or words (sk-something-with-hyphens)."""
    if len(set(key[4:])) < MIN_DIFFERENT:
        return False
    return looks_random(key) if key.startswith("sk-") else any(map(str.isdigit, key)) if key.startswith("xox") else True


def _entropy(value: str) -> float:
    """Bits a character, of Shannon's entropy over the characters of `value`."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
