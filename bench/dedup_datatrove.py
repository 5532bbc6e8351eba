"""datatrove's MinHash deduplication (signatures, buckets, clusters, filter) over part of the texts of bench/dedup.py, in one process.

    /path/to/datatrove-venv/bin/python bench/dedup_datatrove.py texts.jsonl

Run with the interpreter of an environment of its own (`pip install "datatrove[processing]" spacy jieba`); `bench/dedup.py --export texts.jsonl` writes the
texts. It cuts words with spaCy (English) and jieba (Chinese); signatures are 14 x 8, words 5-grams, without verification, as FineWeb did it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from datatrove.data import Document
from datatrove.io import get_datafolder
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.utils.logging import logger


def read(path: Path) -> dict[str, list[str]]:
    """Texts by language, as datatrove names it."""
    found: dict[str, list[str]] = {"eng": [], "zho": []}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        chinese = sum("一" <= character <= "龥" for character in text[:200]) > 50
        found["zho" if chinese else "eng"].append(text)
    return found


def deduplicate(texts: list[str], language: str, folder: str) -> int:
    """Number of documents that stay."""
    config = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8)
    documents = [Document(text=text, id=str(i)) for i, text in enumerate(texts)]
    MinhashDedupSignature(f"{folder}/signatures", config, language).run(iter(documents), 0, 1)
    for bucket in range(config.num_buckets):
        MinhashDedupBuckets(f"{folder}/signatures", f"{folder}/buckets", config=config).run(None, bucket, config.num_buckets)
    MinhashDedupCluster(f"{folder}/buckets", f"{folder}/remove", config).run(None, 0, 1)
    return sum(1 for _ in MinhashDedupFilter(get_datafolder(f"{folder}/remove")).run(iter(documents), 0, 1))


def main() -> None:
    logger.remove()
    for language, texts in read(Path(sys.argv[1])).items():
        warm = texts[:1]
        for chosen in (warm, texts):  # the first loads the word tokenizer
            with tempfile.TemporaryDirectory() as folder:
                started = time.process_time()
                kept = deduplicate(chosen, language, folder)
                seconds = time.process_time() - started
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        print(
            f"datatrove MinHash, {language}: {megabytes:.1f} MB, {len(texts)} documents, {len(texts) - kept} removed, {megabytes / seconds:.2f} MB/s",
            flush=True,
        )


if __name__ == "__main__":
    main()
