"""A name taken apart: title, given name, family name; and the keys under which names that could be one are found."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum

from hindsight_server.domain.naming import words
from hindsight_server.domain.naming.spelling import in_latin, skeleton
from hindsight_server.domain.remembering import remembered
from hindsight_server.domain.speakers import SURNAMES

_DIGIT = re.compile(r"\d")
_MARKED_LATIN = re.compile("([a-z])[\u0300-\u036f]+")
_JOINT = re.compile(r"[\s\u2010-\u2015-]+")
_DROPPED = re.compile(r"(?<=\w)[.'’‘`´]|[.,'’]+$")
_HAN_DOT = re.compile("[·・•‧]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_POSSESSIVE = re.compile(r"(.{2,})(?:['’]s|s['’])")
_LATIN_WORD = re.compile(r"[a-z]+")
_PINYIN_WORD = re.compile(r"(?:(?:[zcs]h|[bpmfdtnlgkhjqxrzcsyw])?[aeiou]{1,3}(?:ng|n|r)?){1,3}")
_MOST_WORDS = 5
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"})
_ELDER = {"elder": "sr", "younger": "jr"}  # "George Fenn the elder"
_LONGEST_LOOSE = 4  # shorter names are told apart by their spaces too


class Kind(IntEnum):
    """What a name looks like. A name of several words looks like a person's whether or not it is one."""

    FIXED = 0  # holds a digit or is a code: equal only to itself
    PLAIN = 1
    ORGANISATION = 2  # ends in a legal form
    REGION = 10  # a place with the region it lies in
    POSSESSIVE = 3
    WORD = 4  # one word: a given name, a family name, or anything
    TITLED = 5  # a title and one word
    FULL = 6  # given name and family name, either of which may be an initial
    HAN_REFERENCE = 7  # a surname with a title or 小/老
    HAN_WORD = 8  # two characters that may be a given name
    HAN_FULL = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class NameForm:
    """A normalised name taken apart.

    Args:
        text: the normalised name.
        fold: equal for names that differ in spacing, hyphens, dots, accents, or how a title is written.
        given, middle, family: words of a person's name; a single letter is an initial.
        title: class of the title ("dr", "mr", ...), of Chinese ones the word.
        base: the fold of what the name is made from (the firm without its legal form, the owner in a possessive, the
            place without its region).
        spelt: the fold of the name with German umlauts written as two letters, where it has some.
        sounds: how a two-part name is spelt in pinyin, family name first; both orders for a Latin name.
        keys: two names that could be one share a key.
    """

    text: str
    kind: Kind
    fold: str
    given: str = ""
    middle: tuple[str, ...] = ()
    family: str = ""
    title: str = ""
    suffix: str = ""
    gender: str = ""
    base: str = ""
    spelt: str = ""
    sounds: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The one word of a WORD or TITLED name."""
        return self.given


@remembered(most=4096, longest=80)  # some 3 MB
def read_name(normal: str) -> NameForm:
    """Take a name apart that `normal_name` has normalised."""
    if _DIGIT.search(normal) or "@" in normal or "_" in normal or "::" in normal:
        return _form(normal, Kind.FIXED, fold=normal)
    han = _HAN_DOT.sub("", normal.replace(" ", ""))
    if _HAN.fullmatch(han):
        return _read_han(normal, words.simplified(han))
    return _read_latin(normal)


def fold_of(normal: str) -> str:
    """The `fold` that `read_name` gives a name in Latin letters, without taking it apart.

    Example:
        >>> fold_of("redwood café") == read_name("redwood cafe").fold
        True
    """
    if _DIGIT.search(normal):
        return normal
    return _folded(_tokens(in_latin(words.ABBREVIATIONS.get(normal, normal)))) or normal


def _form(text: str, kind: Kind, *, fold: str, keys: tuple[str, ...] = (), **parts: object) -> NameForm:
    found = dict.fromkeys((f"f:{fold}", *keys))
    spelt = text.translate(_UMLAUTS) if not text.isascii() else text
    if spelt != text:  # Müller and Mueller
        parts["spelt"] = _folded(_tokens(spelt))
        found[f"f:{parts['spelt']}"] = None
    return NameForm(text=text, kind=kind, fold=fold, keys=tuple(found), **parts)  # type: ignore[arg-type]


def _read_latin(normal: str) -> NameForm:
    text = words.ABBREVIATIONS.get(normal, normal)
    if "," in text:
        family, _, rest = text.partition(",")
        if rest.strip() in words.REGIONS:  # "Salem, Oregon"
            base = _folded(_tokens(family))
            return _form(normal, Kind.REGION, fold=_folded(_tokens(text)), base=base, keys=(f"f:{base}",))
        if family.isalpha() and rest.strip() and rest.strip().replace(" ", "").replace(".", "").isalpha():
            text = f"{rest.strip()} {family}"
    owner = _POSSESSIVE.fullmatch(text)
    if owner is not None and owner[1] not in words.OWN_APOSTROPHE and "'" not in owner[1]:
        base = _folded(_tokens(owner[1]))
        return _form(normal, Kind.POSSESSIVE, fold=_folded(_tokens(text)), base=base, keys=(f"f:{base}",))
    tokens = _tokens(in_latin(text))
    fold = _folded(tokens) or normal
    if len(tokens) > 1 and tokens[-1] in words.LEGAL_FORMS:
        bare = tokens[:-2] if len(tokens) > 2 and tokens[-2] in words.LEGAL_FORMS else tokens[:-1]
        base = _folded(bare)
        return _form(normal, Kind.ORGANISATION, fold=fold, base=base, keys=(f"f:{base}",))
    if not tokens or len(tokens) > _MOST_WORDS or not all(map(_LATIN_WORD.fullmatch, tokens)):
        return _form(normal, Kind.PLAIN, fold=fold)
    return _read_person(normal, fold, tokens)


def _tokens(text: str) -> list[str]:
    """Words without dots, apostrophes and accents, in their short writing."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _MARKED_LATIN.sub(r"\1", unicodedata.normalize("NFD", text)))
    found: list[str] = []
    for token in _JOINT.split(text):
        token = _DROPPED.sub("", token)
        if token:
            found.append(words.WRITTEN_OUT.get(token, token))
    if len(found) > 2 and found[-2] == "the" and found[-1] in _ELDER:
        found[-2:] = [_ELDER[found[-1]]]
    return found[1:] if len(found) > 1 and found[0] == "the" else found


def _folded(tokens: list[str]) -> str:
    joined = "".join(tokens)
    return joined if len(joined) > _LONGEST_LOOSE else " ".join(tokens)


def _read_person(normal: str, fold: str, tokens: list[str]) -> NameForm:
    title = suffix = gender = ""
    if len(tokens) > 1 and tokens[0] in words.TITLES:
        title = words.TITLES[tokens[0]]
        gender = {"mr": "m", "ms": "f"}.get(title, "")
        tokens = tokens[1:]
    if len(tokens) > 1 and tokens[-1] in words.SUFFIXES and "." not in normal[-2:]:
        suffix = tokens[-1]
        tokens = tokens[:-1]
    first, last = tokens[0], tokens[-1]
    gender = gender or words.gender_of(first)
    if len(tokens) == 1:
        if len(first) == 1:
            return _form(normal, Kind.PLAIN, fold=fold)
        kind = Kind.TITLED if title else Kind.WORD
        return _form(
            normal, kind, fold=fold, given=first, title=title, suffix=suffix, gender=gender, keys=_word_keys(first)
        )
    middle = tuple(token for token in tokens[1:-1] if token not in words.PARTICLES)
    sounds = frozenset() if title or len(middle) > 1 else _latin_sounds(first, *middle, last)
    keys = (
        *_word_keys(first),
        *_word_keys(last, nicknames=False),
        *(f"p:{sound}" for sound in sorted(sounds)),
        f"k:{skeleton(first)} {skeleton(last)}",
    )
    return _form(
        normal,
        Kind.FULL,
        fold=fold,
        given=first,
        middle=middle,
        family=last,
        title=title,
        suffix=suffix,
        gender=gender,
        sounds=sounds,
        keys=keys,
    )


def _word_keys(word: str, *, nicknames: bool = True) -> tuple[str, ...]:
    if len(word) < 2:
        return ()
    meant = words.nicknames().get(word, frozenset()) if nicknames else frozenset()
    return (f"n:{word}", *(f"n:{name}" for name in sorted(meant)))


def _latin_sounds(*parts: str) -> frozenset[str]:
    """Of two words, or of three of which two that follow each other are a given name ("Mei-Ling Zhang")."""
    if len(parts) > 2:
        first, middle, last = parts
        return _latin_sounds(f"{first}{middle}", last) | _latin_sounds(first, f"{middle}{last}")
    first, last = map(_spelt, parts)
    if len(first) < 2 or len(last) < 2 or not (_PINYIN_WORD.fullmatch(first) and _PINYIN_WORD.fullmatch(last)):
        return frozenset()
    if words.surname_sounds().isdisjoint((first, last)):
        return frozenset()
    return frozenset({f"{first} {last}", f"{last} {first}"})


def _spelt(word: str) -> str:
    return re.sub(r"^([ln])(?:v|yu)", r"\1u", word)


def _read_han(normal: str, text: str) -> NameForm:
    if text in words.HAN_PLACES:
        return _form(normal, Kind.PLAIN, fold=_folded(_tokens(words.HAN_PLACES[text])))
    if text.endswith("市") and text[:-1] in words.HAN_PLACES:
        return _read_han(normal, text[:-1])
    for legal in words.HAN_LEGAL_FORMS:
        if text.endswith(legal) and len(text) - len(legal) >= 2:
            base = text.removesuffix(legal)
            return _form(normal, Kind.ORGANISATION, fold=text, base=base, keys=(f"f:{base}",))
    if _HAN_DOT.search(normal):
        return _form(normal, Kind.PLAIN, fold=text)
    name, title = text, ""
    for word in sorted(words.HAN_TITLES, key=len, reverse=True):
        if text.endswith(word) and _surname(text.removesuffix(word)):
            name, title = text.removesuffix(word), word
            break
    return _read_han_person(normal, name, title)


def _read_han_person(normal: str, name: str, title: str) -> NameForm:
    gender = words.HAN_TITLES.get(title, "")
    if len(name) == 2 and name[0] in "小老阿大" and not title:
        keys = (f"s:{name[1]}", f"l:{name[1]}")
        return _form(normal, Kind.HAN_REFERENCE, fold=name, given=name[1], family=name[1], title=name[0], keys=keys)
    surname = _surname(name)
    if title and surname == name:
        whole = name + title
        return _form(
            normal, Kind.HAN_REFERENCE, fold=whole, family=name, title=title, gender=gender, keys=(f"s:{name}",)
        )
    given = name.removeprefix(surname)
    may_end = name[-1:] not in words.HAN_NO_NAME_ENDS or (len(given) == 2 and name[-1] in words.HAN_NAME_ENDS)
    if surname and 1 <= len(given) <= 2 and may_end:
        sound = _han_sound(surname, given)
        keys = (f"s:{surname}", f"l:{name[-1]}", f"g:{given}", f"g:{name}", *([f"p:{sound}"] if sound else ()))
        return _form(
            normal,
            Kind.HAN_FULL,
            fold=name,
            given=given,
            family=surname,
            title=title,
            gender=gender,
            sounds=frozenset({sound} if sound else ()),
            keys=keys,
        )
    if len(name) == 2:
        return _form(normal, Kind.HAN_WORD, fold=name, given=name, keys=(f"g:{name}",))
    return _form(normal, Kind.PLAIN, fold=name)


def _surname(name: str) -> str:
    """The surname that a Chinese name begins with, or an empty text."""
    if name[:2] in words.HAN_COMPOUND_SURNAMES:
        return name[:2]
    return name[:1] if name[:1] in SURNAMES else ""


def _han_sound(surname: str, given: str) -> str | None:
    first, last = words.pinyin(surname, surname=True), words.pinyin(given)
    return f"{_spelt(first)} {_spelt(last)}" if first and last else None
