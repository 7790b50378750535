"""Words as the embedders see them: which ones carry no meaning of their own."""

from __future__ import annotations

import re

# Function words of English, question words too: their token vectors would cost space and match everything.
_ENGLISH = """
a about above after again all also am an and any are aren as at be because been before being below between
both but by can cannot could couldn d did didn do does doesn doing don down during each etc ever few for
from further get gets got had hadn has hasn have haven having he her here hers herself him himself his how
i if in into is isn it its itself just ll m ma may me might mine more most must my myself no nor not now o
of off on once only or other our ours ourselves out over own re s same shall she should shouldn so some
such t than that the their theirs them themselves then there these they this those through to too under
until up upon us ve very was wasn we were weren what when where which while who whom whose why will with
won would wouldn yes you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_ENGLISH.split())

# Scripts written without spaces: each character is a word there, and each pair of neighbours another one.
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]+|[^\W_{_SPACELESS}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_SPACELESS_RUN = re.compile(rf"[{_SPACELESS}]")


def content_words(text: str) -> list[str]:
    """Lower-cased words without stop words; runs of a spaceless script as characters and pairs of them.

    >>> content_words("The cat sat.")
    ['cat', 'sat']
    >>> content_words("汇率")
    ['汇', '率', '汇率']
    """
    if text.isascii():
        return [word for word in _ASCII_WORD.findall(text.lower()) if word not in STOP_WORDS]
    words: list[str] = []
    for run in _WORD.findall(text.lower()):
        if _SPACELESS_RUN.match(run):
            words.extend(run)
            words.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif run not in STOP_WORDS:
            words.append(run)
    return words
