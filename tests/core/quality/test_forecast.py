"""The mixture forecast by hand."""

from __future__ import annotations

import tomllib

import pytest

from mspt.core.errors import MsptError
from mspt.core.quality.forecast import (
    CHARACTERS_PER_TOKEN,
    OTHER_CHARACTERS_PER_TOKEN,
    Size,
    SourceForecast,
    as_table,
    characters_per_token,
    forecast,
    parse_shares,
)

SIZES = {("web", "zh-Hans"): Size(10, 3000), ("web", "en"): Size(5, 4000), ("books", "en"): Size(1, 8000)}
MEASURED = {"zh-Hans": 1.5, "en": 4.0}


def test_every_document_once_by_hand():
    # web: 3000 / 1.5 + 4000 / 4 = 3000 tokens, books 2000.
    assert forecast(SIZES, measured=MEASURED) == [SourceForecast("books", 1, 2000, 0.4, 2000, 1.0), SourceForecast("web", 15, 3000, 0.6, 3000, 1.0)]


def test_a_target_and_a_share_by_hand():
    books, web = forecast(SIZES, measured=MEASURED, target_tokens=10_000, shares={"books": 0.9})
    assert (books.wanted, books.epochs, web.share) == (9000, 4.5, pytest.approx(0.1))
    assert (web.wanted, web.epochs) == (1000, pytest.approx(1 / 3))
    with pytest.raises(MsptError, match="no source `book`"):
        forecast(SIZES, shares={"book": 0.5})


def test_constants_by_language():
    assert characters_per_token("zh-Hant") == CHARACTERS_PER_TOKEN["zh"]
    assert characters_per_token("en-GB", {"en": 3.0}) == CHARACTERS_PER_TOKEN["en"]
    assert characters_per_token("") == OTHER_CHARACTERS_PER_TOKEN


def test_the_table_is_toml_that_pack_reads():
    from mspt.core.config import build_config
    from mspt.stages.pack_mindrecord import PackMindrecordConfig

    lines = as_table(forecast(SIZES, measured=MEASURED, target_tokens=10_000, shares={"books": 0.9}), 4.0)
    table = tomllib.loads("\n".join(lines))["pack-mindrecord"]
    assert build_config(PackMindrecordConfig, table).shares == ("books=0.9000", "web=0.1000")
    assert table["target_tokens"] == 10_000
    assert "# books: 1 documents, about 2,000 tokens, share 90.0%, 4.50 epochs  over max_epochs = 4" in lines
    assert not any("web" in line and "over" in line for line in lines)


def test_shares_are_read():
    assert parse_shares(["web=0.6", " my=books = 0.4"]) == {"web": 0.6, "my=books": 0.4}
    for wrong in (["web"], ["web=much"], ["web=-1"], ["a=0.6", "b=0.5"], ["=0.5"]):
        with pytest.raises(MsptError, match="shares"):
            parse_shares(wrong)
