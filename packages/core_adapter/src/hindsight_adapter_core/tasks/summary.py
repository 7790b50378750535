"""Anchor and context summary of a task, taken from its own words by stated rules: no model, nothing made up.

The anchor is ``<what was to be done>: <how it came out>``. The first half is the task's action and target, or the
sentence that announced it without its lead-in ("I will", "please", "将"), so that the verb stands first. The second
half is the clause that says most of the outcome: causes, refusals and results before plain reports, with numbers, codes
and names before without; how it ended is named when no clause says so. The context summary is the sentences that hold
numbers, codes, names, causes and advice, in their order, as many as fit.

Content of under 30 characters is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .model import TaskEvent, TaskSummary
from .wording import cut_words, is_chinese, is_low_density, is_noise, word_count

__all__ = ["ANCHOR_WORDS", "CONTEXT_WORDS", "KEEP_UNDER_CHARACTERS", "anchor_of", "summarize_task"]

ANCHOR_WORDS = 15
CONTEXT_WORDS = 80
KEEP_UNDER_CHARACTERS = 30
_TITLE_WORDS = 8
_SENTENCE_WORDS = 40

_LEAD_IN = re.compile(
    r"^(?:(?:ok(?:ay)?|sure|hi|hello|hey|now|so|well|please|task|goal|todo|the user (?:wants|asked)(?: me)? to"
    r"|user (?:wants|asked)(?: me)? to|i(?:'ll| will| am going to|'m going to| want to| need to|'d like to)"
    r"|let me|let's|we(?:'ll| will| need to| want to| should| are going to)|(?:can|could|would|will) you(?: please)?"
    r"|help me(?: to)?|going to|start(?:ing)?(?: to)?|about to)\b[\s,:]*"
    r"|(?:好的?|那么?|现在|请你?|麻烦你?|帮(?:我|忙)|任务[:：]|目标[:：]|用户(?:想要?|要求?|希望)?|我(?:想要?|要|将|会|来|需要)"
    r"|我们(?:要|将|来|需要)?|将(?:要)?|准备|打算|开始|启动(?=[^\s]{0,12}(?:流程|任务))|需要|可以|能(?:不能|否)?)[\s，,：:]*)+",
    re.IGNORECASE,
)
_TRAIL = re.compile(r"(?:流程|任务|一下|吗|吧|呢)?[。.!！?？\s]*$")
_SENTENCE = re.compile(r"(?<=[。！？!?；;\n])\s*|(?<=\.)\s+(?=\S)")
_CLAUSE = re.compile(r"[，；;。！？!?\n]\s*|,(?!\d)\s*|(?<=\.)\s+|\s+(?:so|and then|which)\s+")
_CAUSE = re.compile(
    r"\b(?:because|due to|caused by|since|root cause|reason|conflict\w*|occupied|in use|taken|refus\w+|reject\w*|denied"
    r"|missing|expired|invalid|wrong|blocked|timed? out|exhausted|leak\w*|mismatch\w*|fail\w*|error)\b"
    r"|因为?|由于|原因|导致|冲突|占用|拒绝|缺少|过期|无效|错误|失败|超时|不匹配|泄漏|不足|被",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"\b(?:fixed|solved|resolved|changed|switched|moved|replaced|deployed|renamed|rolled back|upgraded|set to"
    r"|suggest\w*|recommend\w*|use|instead|approved|booked|paid|sent|created|id|number|code|key)\b"
    r"|改用?|换成|解决|修复|建议|改为|升级|回滚|部署成功|批准|预订|支付|发送|创建|编号|单号|密钥",
    re.IGNORECASE,
)
_CODE_OR_NUMBER = re.compile(r"\d|\b[\w]+[-_./:@][\w]+|\b[A-Z][A-Za-z]+")


def summarize_task(title: str, events: Sequence[TaskEvent], *, succeeded: bool | None = None) -> TaskSummary:
    """Anchor and context summary of the events of one task.

    Args:
        title: action and target, e.g. ``"deploy flask v2.3"``; may be empty.
        events: in their order.
        succeeded: how it ended, when known.
    """
    texts = [event.content.strip() for event in events if event.content.strip() and not is_noise(event.content)]
    whole = "\n".join(dict.fromkeys(texts))
    if whole and len(whole) < KEEP_UNDER_CHARACTERS:
        return TaskSummary(anchor=cut_words(" ".join(whole.split()), ANCHOR_WORDS), context_summary=whole)
    return TaskSummary(anchor=anchor_of(title, texts, succeeded=succeeded), context_summary=_context(texts))


def anchor_of(title: str, texts: Sequence[str], *, succeeded: bool | None = None) -> str:
    """At most 15 words: what was to be done, and the clause that says most of how it came out."""
    chinese = is_chinese(" ".join((title, *texts)))
    head = _title(title) or _title(texts[0] if texts else "")
    head = cut_words(head, _TITLE_WORDS).rstrip("…")
    status = _STATUS[chinese][succeeded] if succeeded is not None else ""
    room = ANCHOR_WORDS - word_count(head) - word_count(status)
    clause = _best_clause(texts, head, room)
    joint, comma = ("：", "，") if chinese else (": ", ", ")
    outcome = comma.join(part for part in (status, clause) if part)
    return cut_words(joint.join(part for part in (head, outcome) if part), ANCHOR_WORDS)


_STATUS = {True: {True: "成功", False: "失败"}, False: {True: "done", False: "failed"}}


def _title(text: str) -> str:
    first = next((part for part in _SENTENCE.split(" ".join(text.split())) if part), "")
    return _TRAIL.sub("", _LEAD_IN.sub("", first.strip())).strip(" ,，:：")


def _best_clause(texts: Sequence[str], head: str, room: int) -> str:
    best: tuple[float, str] = (0.0, "")
    for number, text in enumerate(texts):
        for clause in _CLAUSE.split(text):
            clause = clause.strip(" .\"'-*>")
            words = word_count(clause)
            if words < 2 or room < 2 or clause in head or _title(clause) == head:
                continue
            # What does not fit is cut, and a cut clause says less.
            score = _weight(clause) + 0.2 * number / len(texts) - (1.5 if words > room else 0)
            if score > best[0]:
                best = (score, cut_words(clause, room).rstrip("…") if words > room else clause)
    return best[1]


def _weight(text: str) -> float:
    return (
        3.0 * bool(_CAUSE.search(text))
        + 2.0 * bool(_RESULT.search(text))
        + 1.5 * min(2, len(_CODE_OR_NUMBER.findall(text)))
    )


def _context(texts: Sequence[str]) -> str:
    sentences = [
        cut_words(sentence.strip(), _SENTENCE_WORDS)
        for text in texts
        for sentence in _SENTENCE.split(text)
        if sentence.strip() and not is_low_density(sentence)
    ]
    unique = list(dict.fromkeys(sentences))
    ranked = sorted(range(len(unique)), key=lambda at: (-_weight(unique[at]), -at))
    room, chosen = CONTEXT_WORDS, []
    for at in ranked:
        words = word_count(unique[at])
        if words <= room:
            chosen.append(at)
            room -= words
    separator = "；" if is_chinese("".join(texts)) else "; "
    return separator.join(unique[at].rstrip("。.；; ") for at in sorted(chosen))
