from __future__ import annotations

from mspt.core.text.source_census import SourceCensus


def test_parts_put_together_are_the_whole():
    first, second, whole = SourceCensus(), SourceCensus(), SourceCensus()
    for part in (first, whole):
        part.count_file("html", 100)
        part.count_encoding("utf-8", 1, 100)
        part.count_file("pdf", 5000)
        part.count_lines(10, 1)
    for part in (second, whole):
        part.count_file("html", 50)
        part.count_encoding("gb18030", 1, 50)
        part.count_lines(30, 0)
    first.merge(SourceCensus.of_plain(second.plain()))
    assert first == whole
    assert first.plain() == {
        "types": {"pdf": {"files": 1, "bytes": 5000}, "html": {"files": 2, "bytes": 150}},
        "encodings": {"utf-8": {"files": 1, "bytes": 100}, "gb18030": {"files": 1, "bytes": 50}},
        "lines": 40,
        "bad_lines": 1,
        "bad_line_ratio": 0.025,
    }
