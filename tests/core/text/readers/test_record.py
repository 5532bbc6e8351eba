from __future__ import annotations

import json

from mspt.core.text.readers.record import meta_json


def test_meta_of_any_kind_is_json():
    assert meta_json({}) == ""
    assert json.loads(meta_json({"b": 1, "a": "\ud800", "c": 1 << 80})) == {"a": "\ud800", "b": 1, "c": 1 << 80}
    assert meta_json({"b": "二", "a": True}) == '{"a":true,"b":"二"}'
