"""English in clauses: what is denied in each, what is plainly said, and who is named. Pure functions.

This is no grammar. Where a text can be meant in two ways, what it says counts as open: neither denied nor said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.remembering import once, remembered

_WORD = r"[^\W_]+(?:['’.&/-][^\W_]+)*"
_PIECES = re.compile(rf"({_WORD})|([.!?…]+)|([,;:()—–|]|\s-\s|\n)")  # words, ends of sentences, pauses
_ABBREVIATIONS = frozenset(
    ["dr", "mr", "mrs", "ms", "prof", "st", "vs", "approx", "jr", "sr", "no", "etc", "e.g", "i.e"]
)
_IRREGULAR_TEXT = """
be was were been; beat beaten; become became; begin began begun; bite bit bitten; blow blew blown; break broke broken;
bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; come came; cost; cut; deal dealt;
dig dug; do did done; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed;
feel felt; fight fought; find found; fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave
forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard;
hide hid hidden; hit; hold held; hurt; keep kept; know knew known; lead led; learn learnt; leave left; lend lent; let;
lose lost; make made; mean meant; meet met; pay paid; put; quit; read; ride rode ridden; ring rang rung; rise rose
risen; run ran; say said; see saw seen; sell sold; send sent; set; shake shook shaken; shoot shot; show shown; shut;
sing sang sung; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen; swim swam swum;
take took taken; teach taught; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
wear wore worn; win won; write wrote written; have had; mother mum mom; father dad
"""
_BASE = {form: forms[0] for forms in (one.split() for one in _IRREGULAR_TEXT.split(";")) for form in forms[1:]}
_HELPING_TEXT = """
am is are was were be been being do does did done have has had having will would can could may might must shall should
ought get gets got gotten to
"""
_PRONOUNS_TEXT = """
i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs one ones this
that these those there here who whom
"""
_FUNCTIONS_TEXT = """
a an the of in on at by for from with about into onto over under after before since during through between against
up down off out back away and or but nor so as than then if when while because though although whether which what how
why where any some all both each every much many more most few little lot lots very quite really just still even
already also too again ever yet soon now only almost nearly rather perhaps maybe please well oh yes no not never
neither without nothing nobody none other another such own same let longer able once twice today tomorrow yesterday
else instead however until till unless except enough s t d ll ve re m user assistant narrator author speaker
"""
PRONOUNS = frozenset(_PRONOUNS_TEXT.split())
_FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split()) | frozenset(_HELPING_TEXT.split()) | PRONOUNS
_PREPOSITIONS_TEXT = "of in on at by for from with about to like as than after before near and or"
_PREPOSITIONS = frozenset(_PREPOSITIONS_TEXT.split())
_HELPERS = _FUNCTIONS - _PREPOSITIONS - PRONOUNS
_BREAKS_APART = frozenset(["but", "because", "although", "though", "while", "whereas", "so", "unless"])
_BREAKS_ON = frozenset(["and", "or", "if", "when", "whether", "who", "whom", "which", "that"])
_BREAKS = _BREAKS_APART | _BREAKS_ON
_OPEN_TEXT = "if unless whether wish hope almost nearly would wonder ask pretend suppose supposed or"
_OPEN = frozenset(_OPEN_TEXT.split())
_LIMITS_TEXT = "until till unless before except enough too than only more better worse less least"
_LIMITS = frozenset(_LIMITS_TEXT.split())
_NOT_DENIED_TEXT = "only just merely simply until all every always necessarily to"
_NOT_DENIED = frozenset(_NOT_DENIED_TEXT.split())
_NOT_NO_TEXT = "matter doubt wonder problem less sooner idea more worries"
_NOT_NO = frozenset(_NOT_NO_TEXT.split())
_PASSIVE = frozenset(["was", "were", "been", "is", "are", "be", "being", "got", "gets"])
_STANDS_FOR_TEXT = "it he she they him her them his its that one ones"
_STANDS_FOR = frozenset(_STANDS_FOR_TEXT.split())
_DENIALS_TEXT = "not never no nobody nothing none neither nor without hardly"
_DENIALS = frozenset(_DENIALS_TEXT.split())
_WEIGHED_TEXT = "think believe guess suppose imagine seem expect feel look sure certain wait help care"
_NEGATIVE_TEXT = "refuse decline fail unable forget neglect"
_ENDING_TEXT = "stop quit cease avoid"
_DENYING_TEXT = """
refuse decline fail reject deny stop quit cease avoid lack absent without unable except instead rather free cancel skip
forbid prohibit ban lose hate dislike prevent barely hardly scarcely rarely seldom yet remain former formerly previously
used drop exclude unlike neither secret end miss empty nor zero turn hold resign abandon postpone withdraw leave
"""


class Stand(Enum):
    """How a word stands in a clause."""

    DENIED = auto()
    OPEN = auto()
    SAID = auto()


@remembered(most=16384)
def lemma(word: str) -> str:
    """One form for the forms of a folded word: "lent", "lends" and "lending" meet.

    Example:
        >>> {lemma(form) for form in ("attend", "attends", "attended", "attending")}
        {'attend'}
    """
    word = _BASE.get(word, word)
    for ending, least in (("ing", 6), ("ied", 5), ("ies", 5), ("ed", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith(("ss", "us", "is")):
            word = f"{word[: -len(ending)]}{'i' if ending.startswith('i') and ending != 'ing' else ''}"
            break
    while len(word) > 2 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 2 and word[-1] == "y" else word


def lemmas(words: str) -> frozenset[str]:
    """The lemmas of words that are parted by spaces."""
    return frozenset(lemma(word) for word in words.split())


def opposites(pairs: str) -> dict[str, frozenset[str]]:
    """The lemmas that stand against each lemma of pairs that are parted by commas.

    Example:
        >>> opposites("love hate")
        {'lov': frozenset({'hat'}), 'hat': frozenset({'lov'})}
    """
    split = [(lemma(one), lemma(other)) for one, other in (pair.split() for pair in pairs.split(","))]
    both = [*split, *((other, one) for one, other in split)]
    return {word: frozenset(other for one, other in both if one == word) for word, _ in both}


_DENYING, _WEIGHED = lemmas(_DENYING_TEXT), lemmas(_WEIGHED_TEXT)
_GIVES_UP = lemmas("give up")
_OVER = frozenset(["was", "were", "had", "did", "used", "once", "formerly", "previously"])
_NEGATIVE, _ENDING = lemmas(_NEGATIVE_TEXT), lemmas(_ENDING_TEXT)
_DENYING_FORMS = frozenset(["not", "never", "without", "no", "nobody", "nothing", "none", "yet"])


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a clause.

    Args:
        is_owner: it has a possessive ending.

    Attributes:
        is_helper: it may stand between a subject and its verb.
        may_deny: with the words around it, it may deny another one.
    """

    folded: str
    lemma: str
    is_capital: bool = False
    is_owner: bool = False
    is_function: bool = field(init=False, repr=False, compare=False)
    is_helper: bool = field(init=False, repr=False, compare=False)
    may_deny: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_adverb = self.folded.endswith("ly") and not self.is_capital
        denies = self.folded in _DENYING_FORMS or self.lemma in _NEGATIVE or self.lemma in _ENDING
        object.__setattr__(self, "is_function", self.folded in _FUNCTIONS)
        object.__setattr__(self, "is_helper", is_adverb or self.folded in _HELPERS)
        object.__setattr__(self, "may_deny", denies)


@dataclass(frozen=True)
class Clause:
    """A stretch of a sentence.

    Args:
        is_question: of a sentence with a question mark.
        hangs_on: it goes on with a clause in which something is denied, which may reach into it.
        opener: the word that joins it to the one before.
        around: the lemmas of its whole sentence.
    """

    words: tuple[Word, ...]
    is_question: bool = False
    hangs_on: bool = False
    opener: str = ""
    around: frozenset[str] = frozenset()

    @once
    def content(self) -> frozenset[str]:
        """The lemmas that carry meaning."""
        return frozenset([word.lemma for word in self.words if not word.is_function and len(word.folded) > 1])

    @once
    def folded(self) -> frozenset[str]:
        return frozenset([word.folded for word in self.words])

    @property
    def leans(self) -> bool:
        """Whether it speaks of something that is named in another clause: by a pronoun, or without a subject."""
        if not self.folded.isdisjoint(_STANDS_FOR):
            return True
        return self.opener in ("and", "but") and len(self.words) > 1 and self.words[1].is_helper

    @property
    def limits(self) -> frozenset[str]:
        """Words that bound what is said, so that "not before Monday" is not "not"."""
        return (self.folded & _LIMITS) - ({"more"} if "any" in self.folded else set())

    @property
    def ends(self) -> bool:
        """Whether it tells that something is so no more, and by that that it was so."""
        if not self.folded.isdisjoint(("longer", "anymore")) or {"any", "more"} <= self.folded:
            return True
        return any(word.lemma in _ENDING for word in self.words)

    def is_past(self, lemma_: str) -> bool:
        """Whether it says of a time that is over what a word says."""
        forms = (word.folded for word in self.words if word.lemma == lemma_)
        return not self.folded.isdisjoint(_OVER) or any(one.endswith("ed") or one in _BASE for one in forms)

    def stand(self, lemma_: str) -> Stand | None:
        """How a word stands in it; None when it does not stand there."""
        if lemma_ not in self.content:
            return None
        if self._is_open:
            return Stand.OPEN
        if lemma_ in self.denied:
            return Stand.DENIED
        return Stand.OPEN if self._is_hedged or self._denying - {lemma_} else Stand.SAID

    def frame(self, lemma_: str) -> str:
        """The word before a name: that somebody is not with a company does not deny that he left it."""
        for at, word in enumerate(self.words):
            if word.lemma == lemma_:
                return self.words[at - 1].folded if at and word.is_capital else ""
        return ""

    @once
    def denies(self) -> bool:
        """Whether there is a word of denial in it."""
        return not self.folded.isdisjoint(_DENIALS)

    @once
    def denied(self) -> frozenset[str]:
        """The words that are denied without doubt, once each."""
        heads = {self._head(at) for at, word in enumerate(self.words) if word.may_deny}
        times = [word.lemma for word in self.words] if heads else []
        return frozenset(head for head in heads if head and times.count(head) == 1 and head not in _WEIGHED)

    @once
    def _is_open(self) -> bool:
        return self.is_question or self.opener in _OPEN or not self.folded.isdisjoint(_OPEN)

    @once
    def _is_hedged(self) -> bool:
        return self.hangs_on or self.denies or {word.lemma for word in self.words} >= _GIVES_UP

    @once
    def _denying(self) -> frozenset[str]:
        return _DENYING.intersection([word.lemma for word in self.words])

    def _head(self, at: int) -> str | None:
        """The word that the word at a place denies."""
        word, following = self.words[at], self.words[at + 1].folded if at + 1 < len(self.words) else ""
        if word.folded in ("not", "never", "without"):
            return None if following in _NOT_DENIED else self._next(at)
        if word.folded == "no" and following and following not in _NOT_NO:
            return self._next(at)
        if word.folded in ("nobody", "nothing", "none"):
            first = not any(not one.is_function for one in self.words[:at])
            return self._next(at) if first else self._last(at)
        doubly = any(one.folded in ("not", "never") for one in self.words[max(0, at - 2) : at])
        refuses = following == "to" and (word.folded == "yet" or (word.lemma in _NEGATIVE and not doubly))
        if refuses or (word.lemma in _ENDING and following.endswith("ing")):
            return self._next(at)
        return None

    def _next(self, at: int) -> str | None:
        ahead = (word for word in self.words[at + 1 :] if not word.is_function and not word.folded.endswith("ly"))
        found = next(ahead, None)
        return found.lemma if found is not None else None

    def _last(self, at: int) -> str | None:
        found = self.words[at - 1]
        return None if found.is_function else found.lemma


@dataclass(slots=True)
class _Sentence:
    clauses: list[tuple[list[Word], str]] = field(default_factory=lambda: [([], "")])

    def add(self, word: Word) -> None:
        words, _ = self.clauses[-1]
        if not words:
            words.append(word)
            return
        if word.folded == "own" and not words[-1].is_owner and words[-1].folded not in PRONOUNS:
            word = replace(word, folded="owns")  # the verb, and not "her own"
        if word.folded in _BREAKS:
            self.clauses.append(([word], word.folded))
        else:
            words.append(word)

    def pause(self) -> None:
        if self.clauses[-1][0]:
            self.clauses.append(([], ","))

    def ended(self, *, is_question: bool) -> list[Clause]:
        made: list[Clause] = []
        denied, around = False, frozenset([word.lemma for words, _ in self.clauses for word in words])
        for words, opener in self.clauses:
            if not words:
                continue
            own = (
                opener == "" or opener in _BREAKS_APART or (opener not in _BREAKS_ON - {"and"} and _has_subject(words))
            )
            clause = Clause(tuple(words), is_question, denied and not own, opener, around)
            denied = clause.denies or (denied and not own)
            made.append(clause)
        return made


def clauses(text: str) -> list[Clause]:
    """The clauses of a text.

    Example:
        >>> [clause.stand(lemma("sold")) for clause in clauses("She didn't sell it, she gave it away.")]
        [<Stand.DENIED: 1>, None]
    """
    return [clause for sentence in sentences(text) for clause in sentence]


def sentences(text: str) -> list[list[Clause]]:
    """The sentences of a text, as their clauses."""
    made: list[list[Clause]] = []
    sentence, last = _Sentence(), ""
    for token, end, pause in _PIECES.findall(text):
        if token:
            for word in _words(token):
                sentence.add(word)
            last = token
        elif pause and pause != "\n":
            sentence.pause()
        elif end != "." or not _is_short(last):
            made.append(sentence.ended(is_question="?" in end))
            sentence = _Sentence()
    made.append(sentence.ended(is_question=False))
    return [one for one in made if one]


def is_passive(words: Sequence[Word], at: int) -> bool:
    """Whether a verb is told of whom it was done to: "was sold", "sold by"."""
    if any(word.folded in _PASSIVE for word in words[max(0, at - 3) : at]):
        return not words[at].folded.endswith("ing")
    return any(word.folded == "by" for word in words[at + 1 :])


@remembered(most=1024)
def content(name: str) -> frozenset[str]:
    """The lemmas of a name that carry meaning."""
    return frozenset([word for clause in clauses(name) for word in clause.content])


def _is_short(word: str) -> bool:
    return len(word) == 1 or word.casefold() in _ABBREVIATIONS


@remembered(most=8192)
def _words(token: str) -> tuple[Word, ...]:
    """A token as words: "didn't" is two, and "Ann's" an owner."""
    folded = fold(token)
    begun, _, ending = folded.partition("'")
    is_capital = token[0].isupper() and begun != "i"
    if folded == "cannot":
        return (Word("can", "can"), Word("not", "not"))
    if folded.endswith("n't"):
        verb = {"ca": "can", "wo": "will", "sha": "shall"}.get(folded[:-3], folded[:-3])
        return (Word(verb, lemma(verb)), Word("not", "not"))
    if ending == "s" and begun not in PRONOUNS:
        return (Word(begun, lemma(begun), is_capital, True),)
    if ending:
        return (Word(begun, lemma(begun), is_capital),)
    return (Word(folded, lemma(folded), is_capital),)


def _has_subject(words: list[Word]) -> bool:
    begun = words[1:] if words[0].folded == "and" else words
    return bool(begun) and (begun[0].folded in PRONOUNS or begun[0].is_capital)
