"""Numbers that a state, a bank or a card network gives out, told by their grouping and their check digits.

The check digits are those of python-stdnum. A format whose check digit any tenth number passes counts only in the
grouping in which people write it, or with its name before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

# What must not stand before it is looked at behind its first sign, so that a search can skip to that sign.
_RUN = re.compile(r"\d(?<![A-Za-z0-9_.\-]\d)\d*+(?:[ .\-/]\d++)*+(?![A-Za-z0-9_])")
_CONTEXT = 48  # characters before a number in which its name may stand
_MOST_GROUPS = 7
_SHORTEST = 9  # characters


@cache
def _module(name: str) -> Callable[[str], bool]:
    check: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    return check


def valid(name: str, number: str) -> bool:
    """Whether python-stdnum's module of that name accepts a number."""
    return _module(name)(number)


@dataclass(frozen=True, slots=True)
class Shape:
    """A way to write a number.

    Args:
        label: what it is.
        check: the module of python-stdnum that knows its check digits; blank for cards.
        context: names of which one must stand before it; none for a shape that speaks for itself.
    """

    label: str
    check: str
    context: re.Pattern[str] | None = None


def _named(words: str) -> re.Pattern[str]:
    # Words of letters must be whole; those of other scripts know no such border.
    return re.compile("|".join(rf"\b{word}\b" if word.isascii() else word for word in words.split("|")), re.IGNORECASE)


_SSN = _named("ssn|social security|社会安全号")
_NHS = _named("nhs")
_SIN = _named("sin|social insurance|numéro d'assurance sociale|nas")
_CPF, _CNPJ = _named("cpf"), _named("cnpj")
_AADHAAR = _named("aadhaar|aadhar|आधार|uidai")
_IDNR = _named(
    "steuer-?id|steueridentifikationsnummer|steuerliche identifikationsnummer|idnr|german tax id|steuernummer"
)
_BSN = _named("bsn|burgerservicenummer|sofinummer")
_PESEL = _named("pesel")
_TFN = _named("tfn|tax file number")
_MY_NUMBER = _named("my number|マイナンバー|個人番号")
_TCKN = _named("t\\.?c\\.? ?kimlik|tckn|kimlik no")
_ZA = _named("south african id|sa id|rsa id|za id")
_CARD = Shape("credit_card", "")

_SHAPES: Mapping[tuple[tuple[int, ...], str], tuple[Shape, ...]] = {
    ((3, 2, 4), "--"): (Shape("us_ssn", "us.ssn"), Shape("us_itin", "us.itin")),
    ((3, 2, 4), "  "): (Shape("us_ssn", "us.ssn"), Shape("us_itin", "us.itin")),
    ((9,), ""): (
        Shape("us_ssn", "us.ssn", _SSN),
        Shape("ca_sin", "ca.sin", _SIN),
        Shape("nl_bsn", "nl.bsn", _BSN),
        Shape("au_tfn", "au.tfn", _TFN),
    ),
    ((3, 3, 3), "  "): (
        Shape("ca_sin", "ca.sin", _SIN),
        Shape("au_tfn", "au.tfn", _TFN),
        Shape("nl_bsn", "nl.bsn", _BSN),
    ),
    ((3, 3, 3), "--"): (Shape("ca_sin", "ca.sin"),),
    ((3, 3, 4), "  "): (Shape("uk_nhs", "gb.nhs"),),
    ((3, 3, 4), "--"): (Shape("uk_nhs", "gb.nhs", _NHS),),
    ((10,), ""): (Shape("uk_nhs", "gb.nhs", _NHS),),
    ((3, 3, 3, 2), "..-"): (Shape("br_cpf", "br.cpf"),),
    ((11,), ""): (
        Shape("br_cpf", "br.cpf", _CPF),
        Shape("de_tax_id", "de.idnr", _IDNR),
        Shape("pl_pesel", "pl.pesel", _PESEL),
        Shape("tr_tckimlik", "tr.tckimlik", _TCKN),
    ),
    ((2, 3, 3, 3), "   "): (Shape("de_tax_id", "de.idnr", _IDNR),),
    ((2, 3, 3, 4, 2), "../-"): (Shape("br_cnpj", "br.cnpj"),),
    ((14,), ""): (_CARD, Shape("br_cnpj", "br.cnpj", _CNPJ)),
    ((4, 4, 4), "  "): (Shape("in_aadhaar", "in_.aadhaar"), Shape("jp_my_number", "jp.in_", _MY_NUMBER)),
    ((4, 4, 4), "--"): (Shape("in_aadhaar", "in_.aadhaar"), Shape("jp_my_number", "jp.in_", _MY_NUMBER)),
    ((12,), ""): (Shape("in_aadhaar", "in_.aadhaar", _AADHAAR), Shape("jp_my_number", "jp.in_", _MY_NUMBER)),
    ((6, 7), "-"): (Shape("kr_rrn", "kr.rrn"),),
    ((6, 4), "-"): (Shape("se_personnummer", "se.personnummer"),),
    ((13,), ""): (_CARD, Shape("za_id", "za.idnr", _ZA)),
    ((15,), ""): (_CARD, Shape("fr_nir", "fr.nir")),
    ((1, 2, 2, 2, 3, 3, 2), "      "): (Shape("fr_nir", "fr.nir"),),
    ((13, 2), " "): (Shape("fr_nir", "fr.nir"),),
    ((18,), ""): (_CARD, Shape("cn_resident_id", "cn.ric")),
    ((16,), ""): (_CARD,),
    ((17,), ""): (_CARD,),
    ((19,), ""): (_CARD,),
    ((4, 4, 4, 4), "   "): (_CARD,),
    ((4, 4, 4, 4), "---"): (_CARD,),
    ((4, 4, 4, 4, 3), "    "): (_CARD,),
    ((4, 6, 5), "  "): (_CARD,),
    ((4, 6, 5), "--"): (_CARD,),
    ((4, 6, 4), "  "): (_CARD,),
    ((4, 6, 4), "--"): (_CARD,),
}
_BEGINNINGS = {lengths[:2] for lengths, _ in _SHAPES}
_SINGLE = {lengths[0] for lengths, _ in _SHAPES if len(lengths) == 1}
_CARD_MAY_FOLLOW = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4))  # an expiry date or a security code often comes behind


def numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """Label and place of each number that is grouped as its kind is, and whose check digits are right."""
    for run in _RUN.finditer(text):
        if run.end() - run.start() < _SHORTEST:
            continue
        groups = [match.span() for match in _GROUP.finditer(text, *run.span())]
        index = 0
        while index < len(groups):
            found = _at(text, groups, index)
            if found is None:
                index += 1
                continue
            label, count = found
            yield label, groups[index][0], groups[index + count - 1][1]
            index += count


_GROUP = re.compile(r"\d+")


def _at(text: str, groups: list[tuple[int, int]], index: int) -> tuple[str, int] | None:
    """What begins with this group, and of how many groups it is; the longest first."""
    if index and text[groups[index][0] - 1] != " ":
        return None
    first_two = tuple(end - start for start, end in groups[index : index + 2])
    if first_two not in _BEGINNINGS and first_two[0] not in _SINGLE:
        return None
    for count in range(min(_MOST_GROUPS, len(groups) - index), 0, -1):
        window = groups[index : index + count]
        lengths = tuple(end - start for start, end in window)
        signs = "".join(text[end] for _, end in window[:-1])
        shapes = _SHAPES.get((lengths, signs))
        if not shapes or not _stands_alone(text, groups, (index, count), lengths):
            continue
        number = text[window[0][0] : window[-1][1]]
        before = text[max(0, window[0][0] - _CONTEXT) : window[0][0]]
        for shape in shapes:
            if shape.context is not None and not shape.context.search(before):
                continue
            if is_card(number) if not shape.check else valid(shape.check, number.replace(" ", "")):
                return shape.label, count
    return None


def _stands_alone(text: str, groups: list[tuple[int, int]], place: tuple[int, int], lengths: tuple[int, ...]) -> bool:
    """Whether no further group belongs to the number: one behind the same sign would make it another number."""
    index, count = place
    if count == 1 and lengths[0] >= 13:
        return index + 1 == len(groups) or text[groups[index][1]] in " /"
    follows = index + count < len(groups)
    if lengths in _CARD_MAY_FOLLOW:
        return not follows or text[groups[index + count - 1][1]] in " /"
    return index == 0 and not follows


_CARD_PREFIX = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|3[47]\d{13}|"
    r"(?:6011|65\d{2}|64[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)


def is_card(number: str) -> bool:
    """Whether a number has the prefix and length of a card network (ISO/IEC 7812), and Luhn's check digit."""
    digits = number.replace(" ", "").replace("-", "")
    return _CARD_PREFIX.fullmatch(digits) is not None and valid("luhn", digits)
