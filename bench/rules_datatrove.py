"""Runs datatrove's filters over a JSON list of texts, for bench/rules.py; needs a Python with datatrove, spacy and nltk, and nothing of mspt.

    PYTHON bench/rules_datatrove.py TEXTS.json

The filters and their order are FineWeb's (datatrove examples/fineweb.py): Gopher repetition, Gopher quality, C4 quality without its rule on line ends,
FineWeb quality; a document that one rejects is not shown to the next. Prints {"seconds": process time, "kept": documents}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.filters import C4QualityFilter, FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    filters = [GopherRepetitionFilter(), GopherQualityFilter(), C4QualityFilter(filter_no_terminal_punct=False), FineWebQualityFilter()]
    for one in filters:
        one.filter(Document(text=texts[0], id="warm-up"))
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(texts)]
    start = time.process_time()
    kept = sum(all(one.filter(document) is True for one in filters) for document in documents)
    print(json.dumps({"seconds": time.process_time() - start, "kept": kept}))


if __name__ == "__main__":
    main()
