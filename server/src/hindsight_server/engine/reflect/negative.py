"""Whether an answer says that there is none."""

from __future__ import annotations

import re

_PATTERNS = (
    r"\b(?:no|not any|without any) (?:\w+ ){0,3}(?:information|memor(?:y|ies)|record|mention|data|details?|evidence)\b",
    r"\b(?:nothing|not|never|n't|unable to|cannot) (?:\w+ ){0,3}"
    r"(?:found|find|know|known|mentioned|recorded|available|stored|determine)\b",
    r"\b(?:don't|do not|doesn't|does not) (?:\w+ ){0,2}(?:know|have|contain|mention|recall)\b",
    r"\bI have no\b|\bunknown\b",
    r"\b(?:aucune? (?:information|souvenir|donnée|trace)|ne sais pas|rien trouvé)\b",
    r"\b(?:keine? (?:information|angabe|erinnerung|hinweis)|weiß (?:ich )?nicht|nichts gefunden)",
    r"\b(?:no (?:hay|tengo|se encontr)|nenhuma? (?:informação|memória)|não (?:há|encontr|sei))",
    r"\b(?:nessuna? (?:informazione|ricordo)|non (?:ho|so|ci sono))\b",
    r"見つかりません|ありません|わかりません|分かりません|없습니다|모르",
    r"没有(?:找到|任何|相关|提到|提及|记录|关于|足够)|未(?:找到|提及|提到|记录)|不知道|无法(?:确定|得知|回答)|查不到|找不到",
)
_NEGATIVE = re.compile("|".join(_PATTERNS), re.IGNORECASE)


def says_nothing_found(answer: str) -> bool:
    """Whether an answer says that there is none, in one of the languages that are looked at.

    In others, the model itself tells (`found` of `done`), and the missing ids do.

    Example:
        >>> says_nothing_found("The memories hold no information about that.")
        True
    """
    return _NEGATIVE.search(answer) is not None
