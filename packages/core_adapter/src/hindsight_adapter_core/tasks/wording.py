"""What single utterances are: their length in words, whether they say anything, whether they end a task.

All rules here are closed lists and patterns for English and Chinese; none asks a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "cut_words",
    "distinctive_terms",
    "ends_task",
    "is_chinese",
    "is_low_density",
    "is_noise",
    "is_statement",
    "word_count",
]

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
#: One CJK character, or one run of other word characters with the signs that codes, paths and numbers hold inside.
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}](?:(?:[^\W{_CJK}]|[.\-/:@#+'’])*[^\W_{_CJK}])?")
_HAS_CJK = re.compile(rf"[{_CJK}]")

_NOISE_WORDS = """
ok|okay|k|kk|alright|all right|right|sure|sure thing|of course|got it|gotcha|i see|understood|noted|will do|roger
sounds good|great|cool|nice|perfect|awesome|good|fine|thanks|thank you|thank you so much|thanks a lot|many thanks
thx|ty|cheers|np|no problem|no worries|you're welcome|welcome|hi|hello|hey|bye|goodbye|good morning|good night
lol|lmao|ah|oh|hm|hmm|mhm|um|uh|wow|one moment|just a moment|one sec|haha so hard
this is so hard|so hard|please wait|go on|continue
好|好的|好吧|好呀|好啊|好滴|好嘞|嗯|恩|哦|噢|喔|啊|行|行吧|收到|了解|了解了|明白|明白了|知道了|懂了
谢谢|谢谢你|谢谢您|谢谢啦|多谢|感谢|非常感谢|谢了|没问题|没事|没关系|不客气|辛苦了|太好了|不错|对的
你好|您好|早|早上好|晚安|再见|拜拜|稍等|等一下|等等|加油|好难|太难了|好难啊|继续|在吗|在
謝謝|謝謝你|多謝|感謝|沒問題|沒事|不客氣|對的|瞭解
"""
_PHRASES = sorted((phrase for line in _NOISE_WORDS.split("\n") for phrase in line.split("|") if phrase), key=len)[::-1]
_LATIN_PHRASES = "|".join(re.escape(phrase) for phrase in _PHRASES if phrase.isascii())
_CHINESE_PHRASES = "|".join(phrase for phrase in _PHRASES if not phrase.isascii())
_NOISE = re.compile(
    rf"(?<![\w'])(?:{_LATIN_PHRASES}|a?(?:ha){{2,}}h?|(?:he){{2,}}|2+3{{3,}}|orz)(?![\w'])"
    rf"|{_CHINESE_PHRASES}|[哈呵嘿嘻]+"
)
_LETTER = re.compile(r"[^\W_]")
#: Characters; above this even an idle sentence is kept (and weighed less).
_LONGEST_NOISE = 60


def word_count(text: str) -> int:
    """How long a text is: a CJK character counts one, a Latin word, number, code or path counts one.

    Example:
        >>> word_count("部署Flask失败"), word_count("port 8000 is taken")
        (5, 4)
    """
    return sum(1 for _ in _WORD.finditer(text))


def cut_words(text: str, limit: int) -> str:
    """The text up to its ``limit``-th word, with an ellipsis when something was cut."""
    for number, match in enumerate(_WORD.finditer(text)):
        if number == limit:
            return text[: match.start()].rstrip(" ,;:，；：、(（-") + "…"
    return text


def is_chinese(text: str) -> bool:
    """Whether CJK characters are at least a quarter of its words."""
    return 4 * len(_HAS_CJK.findall(text)) >= max(1, word_count(text))


def is_noise(text: str) -> bool:
    """Whether there is nothing to remember: blank, signs or emoji only, or only phrases of a closed list.

    Example:
        >>> is_noise("👍👍"), is_noise("好的，收到！"), is_noise("ok, the key is 17")
        (True, True, False)
    """
    if not _LETTER.search(text):
        return True
    if len(text) > _LONGEST_NOISE:
        return False
    rest = _NOISE.sub(" ", text.casefold().replace("’", "'"))
    return not _LETTER.search(rest)


_FILLER = re.compile(
    r"\b(?:haha+|hehe+|lol|omg|ugh|wow|well|so|very|really|just|hard|tired|this|is|it|i|i'm|am|that|oh|hmm+)\b"
    r"|[哈呵嘿嘻啊呀哦嗯吧呢嘛啦哎唉好难累烦太真了的我也]",
    re.IGNORECASE,
)


def is_low_density(text: str) -> bool:
    """Whether fewer than three words are left without interjections and fillers, none of them a number or code."""
    if any(any(sign.isdigit() for sign in word) for word in _WORD.findall(text)):
        return False
    return word_count(_FILLER.sub(" ", text)) < 3


_STATEMENT = re.compile(
    r"\b(?:remember|note|keep in mind|for the record)\b|\bmy\b.{1,40}\b(?:is|are|was)\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:prefer|decided|chose|always|never|refuse|want|agreed|confirmed)\b"
    r"|记住|请记|记一下|注意[:：]|我(?:们)?(?:决定|喜欢|偏好|更喜欢|拒绝|不要|总是|从不|确认|选择|选了)|我的.{1,20}是",
    re.IGNORECASE,
)


def is_statement(text: str) -> bool:
    """Whether somebody states something to be kept: "remember ...", "we decided ...", "记住……", "我的……是……"."""
    return bool(_STATEMENT.search(text)) and not text.rstrip().endswith(("?", "？", "吗"))


# -- the end of a task ---------------------------------------------------------------------------------------------

_END = re.compile(
    r"\b(?:done|finished|solved|fixed|ok|okay|success|succeeded|successful|successfully|completed?|resolved|deployed"
    r"|thank you|thanks|all set|all good|(?:it|that|everything|this)(?:'s| is)? work(?:s|ing|ed)(?: now)?)\b"
    r"|搞定|好了|弄好|完成|成功|解决了|可以了|没问题了|修好了|谢谢|多谢|感谢|成了|通过了|做完了|结束了|謝謝|解決了|沒問題了",
    re.IGNORECASE,
)
#: Before an end phrase, within the same clause, any of these says that it did not happen, or not yet.
_NOT = re.compile(
    r"\b(?:not|no|never|hardly|isn't|wasn't|aren't|doesn't|didn't|don't|hasn't|haven't|won't|can't|cannot|couldn't"
    r"|without|yet|if|when|once|until|unless|before|after|should|will|would|almost|nearly|to be|need|needs|want|un)\b"
    r"|没|沒|不|未|别|別|无|無|失败|還|还|如果|要是|等|一旦|直到|之前|快要|差点|差一点|才能|怎么|怎样|怎麼|如何|能否|是否|什么时候",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^\s*(?:吗|么|没|嗎|沒|不|了吗|了没|了沒|一半|yet\b|\?|？|率|案例|后|後|以后|之后|的话|前)", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,.;!?，。；！？\n]+|\b(?:but|however)\b|但是?|可是|不过", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:but|however|still|except|again|fails?|failed|failing|error|broken)\b|但|可是|不过|还是|仍|又|报错|失败",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|[吗嗎么]\s*[。！!]?\s*$|^\s*(?:is|was|did|does|do|has|have|are|can|could|how|why|what|when)\b",
    re.IGNORECASE,
)
_SMALL = frozenset({"ok", "okay", "thanks", "thank you", "谢谢", "多谢", "感谢", "謝謝"})
_SMALL_WORDS = 12


def ends_task(text: str, *, phrases: Sequence[str] = ()) -> bool:
    """Whether the user's words say that the task is over.

    An end phrase counts as a word of its own ("token" holds no "ok"), in a clause that does not negate, condition or
    doubt it ("没成功", "not fixed yet", "once it is done"), in no question. A mere thanks or "ok" counts in a message
    of at most twelve words.

    Args:
        text: what the user said.
        phrases: further end phrases, matched anywhere in the text.

    Example:
        >>> ends_task("搞定，网站能访问了"), ends_task("没成功"), ends_task("here is the token")
        (True, False, False)
    """
    folded = text.casefold()
    if any(phrase.casefold() in folded for phrase in phrases):
        return True
    if _QUESTION.search(text.strip()) or _DOUBT.search(text):
        return False
    short = word_count(text) <= _SMALL_WORDS
    return any(_says_end(clause, short) for clause in _CLAUSE.split(text))


def _says_end(clause: str, short: bool) -> bool:
    for match in _END.finditer(clause):
        if _NOT.search(clause[: match.start()]) or _AFTER.match(clause[match.end() :]):
            continue
        if match.group().casefold() in _SMALL and not short:
            continue
        return True
    return False


# -- what tells one task from another ------------------------------------------------------------------------------

_JOINTS = re.compile(r"[@/:#+=]+")
_CODE = re.compile(r"[A-Za-z0-9](?:[\w.@/:#+-]*[A-Za-z0-9])?")
_COMMON = frozenset(
    [
        "the",
        "a",
        "an",
        "and",
        "or",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "with",
        "by",
        "from",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "as",
        "not",
        "no",
        "did",
        "do",
        "does",
        "done",
        "has",
        "have",
        "had",
        "will",
        "would",
        "can",
        "could",
        "should",
        "may",
        "user",
        "agent",
        "tool",
        "task",
        "started",
        "start",
        "run",
        "running",
        "runs",
        "failed",
        "failure",
        "success",
        "succeeded",
        "error",
        "errors",
        "exit",
        "code",
        "using",
        "used",
        "use",
        "now",
        "then",
        "when",
        "what",
        "which",
        "who",
        "how",
        "why",
        "after",
        "before",
        "because",
        "due",
        "so",
        "but",
        "if",
        "into",
        "than",
        "there",
        "here",
        "all",
        "any",
        "some",
        "only",
        "just",
        "more",
        "please",
        "ok",
        "yes",
        "new",
        "old",
        "file",
        "files",
        "get",
        "got",
        "set",
        "put",
        "let",
        "make",
        "made",
        "check",
        "checked",
        "http",
        "https",
        "www",
        "com",
        "server",
        "service",
        "app",
        "data",
        "test",
        "tests",
        "version",
    ]
)
_RUN = re.compile(rf"[{_CJK}]+")
_CHINESE_COMMON = re.compile(
    r"用户|任务|已经|完成|成功|失败|问题|一个|这个|那个|因为|所以|然后|之后|现在|后来|没有|可以|需要|进行|使用|开始|结束|怎么|什么|我们|你们|他们|以及|以后|是否|[的了吗呢吧啊和与或在是有被把将从到对为]"
)


def distinctive_terms(text: str) -> frozenset[str]:
    """Words that tell subjects apart: numbers of two digits or more, codes, names and rarer Latin words, pairs of CJK
    characters; common words left out. In lower case.

    Example:
        >>> sorted(distinctive_terms("Port 8000 is taken by nginx"))
        ['8000', 'nginx', 'port', 'taken']
    """
    words = [word.lower() for word in _CODE.findall(text)]
    parts = [part for word in words for part in _JOINTS.split(word)]
    latin = {word for word in (*words, *parts) if len(word) > 1}
    pairs: set[str] = set()
    for run in _RUN.findall(_CHINESE_COMMON.sub(" ", text)):
        pairs.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset((latin - _COMMON) | pairs)
