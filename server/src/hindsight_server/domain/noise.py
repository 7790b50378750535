"""The closed list of utterances that say nothing worth remembering."""

from __future__ import annotations

import re

_LONGEST = 60  # characters; longer text always says something

_ENGLISH = """
ok|okay|k|kk|okey|okie|oki|alright|all right|right|sure|sure thing|of course|got it|gotcha|i see
understood|noted|will do|sounds good|sounds great|great|cool|nice|perfect|awesome|good|fine|done|thanks
thank you|thank you so much|thanks so much|thanks a lot|many thanks|thx|ty|tysm|cheers|np|no problem
no worries|you're welcome|youre welcome|welcome|my pleasure|lol|lmao|rofl|ah|oh|ooh|aha|hm|hmm|hmmm|mhm
mm|mmm|uh|um|uh huh|wow|ok thanks|okay thanks|ok thank you|ok cool|ok great|ok got it
"""
_CHINESE = """
好|好的|好吧|好呀|好啊|好滴|好哒|好嘞|好了|嗯|嗯嗯|恩|恩恩|哦|哦哦|噢|喔|啊|行|行吧|收到|了解|了解了|明白
明白了|知道了|懂了|谢谢|谢谢你|谢谢您|谢谢啦|多谢|感谢|非常感谢|谢了|没问题|没事|没关系|不客气|不用谢
辛苦了|太好了|不错|对的|是的是的|好的谢谢|好的好的|嗯好的|ok的
謝謝|謝謝你|謝謝您|多謝|感謝|沒問題|沒事|沒關係|不客氣|辛苦了|對的|瞭解
"""
_PHRASES = frozenset(phrase for text in (_ENGLISH, _CHINESE) for line in text.split("\n") for phrase in line.split("|"))
_LAUGHTER = re.compile(r"(?:a?(?:ha){2,}h?|(?:he){2,}|哈+|呵+|嘿{2,}|嘻+|2+3{3,})")
_WORD = re.compile(r"[^\W_]")
_BETWEEN = re.compile(r"[^\w\s']+|_+")


def is_noise(text: str) -> bool:
    """Whether the words of a turn (without their speaker) are an acknowledgement, signs only, or blank.

    Example:
        >>> is_noise("OK, thanks!"), is_noise("ok, the key is 17")
        (True, False)
    """
    if not _WORD.search(text):
        return True
    if len(text) > _LONGEST:
        return False
    pieces = (piece.strip() for piece in _BETWEEN.split(text.casefold().replace("’", "'")))
    return all(not piece or piece in _PHRASES or _LAUGHTER.fullmatch(piece) for piece in pieces)
