"""Ways to reach a person or a machine, accounts, and identity numbers that hold letters."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from hindsight_server.adapters.detect.numbers import valid
from hindsight_server.adapters.detect.pattern import Pattern, pattern

_A = r"(?<![A-Za-z0-9_].)"  # behind the first sign
_E = r"(?![A-Za-z0-9_])"

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}\Z")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])")
_IMAGE = re.compile(r"\d+x\.")  # logo@2x.png
_LONGEST_LOCAL = 64


def emails(text: str) -> Iterator[tuple[int, int]]:
    """E-mail addresses; what goes before the sign is read backwards, so that no text takes long."""
    at = text.find("@")
    while at >= 0:
        local = _LOCAL.search(text[max(0, at - _LONGEST_LOCAL) : at])
        domain = _DOMAIN.match(text, at + 1)
        if local and domain and not _IMAGE.match(domain.group()):
            name = local.group().lstrip("./'`=&?{|}*#!-")
            remote = text[domain.end() : domain.end() + 1] == ":" and name == "git"
            if name and not remote:
                yield at - len(name), domain.end()
        at = text.find("@", at + 1)


# What must not stand before a form is looked at behind its first sign, so that a search can skip to that sign.
_PHONE_FORMS = (
    # +44 20 7946 0958
    re.compile(r"(?P<number>\+(?<![A-Za-z0-9_+]\+)\d[\d ().-]{6,18}\d)(?!\d)"),
    # (415) 555-0132, 415-555-0132, 415.555.0132
    re.compile(
        r"(?P<number>[(2-9](?<![\d.-].)(?:(?<=\()[2-9]\d{2}\) ?|(?<=\d)\d{2}(?:-(?=\d{3}-)|\.(?=\d{3}\.)))"
        r"[2-9]\d{2}[-. ]\d{4})(?![\d-])"
    ),
    # mobile numbers of mainland China
    re.compile(r"(?P<number>1(?<![A-Za-z0-9_.-]1)[3-9]\d(?:\d{8}|[ -]\d{4}[ -]\d{4}))(?![A-Za-z0-9_]|[.-]\d)"),
)
_PHONE_WORDS = ("phone", "tel", "mobile", "cell", "fax", "whatsapp", "电话", "手机", "联系方式", "座机")
_NAMED_PHONE = re.compile(
    r"(?i)(?:\b(?:tele)?phone|\btel|\bmobile|\bcell|\bfax|\bwhatsapp|电话|手机|联系方式|座机)"
    r"(?:[ \t]{1,3}(?:number|no|is|at))?[ \t]{0,3}(?:号码|号)?(?:[ \t]{0,3}(?:is|[.:：#]|是|为)){0,2}[ \t]{0,3}"
    r"(?P<number>\+?\(?\d[\d ().-]{5,18}\d)(?!\d)"
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def phones(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Telephone numbers with a country code, in North American or Chinese form, or named as such: 7 to 15 digits."""
    named = any(word in lowered for word in _PHONE_WORDS)
    for form in (*_PHONE_FORMS, _NAMED_PHONE) if named else _PHONE_FORMS:
        for match in form.finditer(text):
            number = match["number"]
            if 7 <= sum(map(str.isdigit, number)) <= 15 and not _DATE.match(number):
                yield match.span("number")


_IPV4 = re.compile(r"\d(?<![A-Za-z0-9_.-]\d)\d{0,2}\.(?:\d{1,3}\.){2}\d{1,3}(?![A-Za-z0-9_-]|\.\d)")
_IPV6 = re.compile(r"(?<![A-Za-z0-9_:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?![A-Za-z0-9_:])")
_TWO_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_VERSION = re.compile(r"(?i)(?:version|release|build|ver\.?|v|版本号?)[ :：]{0,2}\Z")


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """IP addresses of other machines: not this one, and no version numbers."""
    for form in (_IPV4, _IPV6) if _TWO_COLONS.search(text) else (_IPV4,):
        for match in form.finditer(text):
            if _is_address(match.group()) and not _VERSION.search(text[max(0, match.start() - 10) : match.start()]):
                yield match.span()


def _is_address(text: str) -> bool:
    if text.count(":") and sum(map(bool, text.split(":"))) < 3:
        return False
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or text.startswith(("0.", "255.255.")))


_IBAN = re.compile(r"[A-Z](?<![A-Za-z0-9][A-Z])[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_SHORTEST_IBAN = 15


def ibans(text: str) -> Iterator[tuple[int, int]]:
    """International bank account numbers with the length of their country and the right remainder (ISO 13616)."""
    for match in _IBAN.finditer(text):
        start, end = match.span()
        # A word in capitals may have been taken along: give back group by group.
        while end - start >= _SHORTEST_IBAN and not valid("iban", text[start:end]):
            end = max(text.rfind(" ", start, end), start)
        if end - start >= _SHORTEST_IBAN:
            yield start, end


PATTERNS: tuple[Pattern, ...] = (
    pattern(
        "mac_address",
        "",
        r"[0-9A-Fa-f](?<![A-Za-z0-9:-].)[0-9A-Fa-f](?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}[0-9A-Fa-f]{2}(?![A-Za-z0-9:-])",
    ),
    pattern(
        "crypto_address",
        "1 3",
        rf"[13]{_A}[1-9A-HJ-NP-Za-km-z]{{25,34}}{_E}",
        lambda text: valid("bitcoin", text),
    ),
    pattern(
        "crypto_address",
        "bc1",
        rf"bc1(?<![A-Za-z0-9_]bc1)[02-9ac-hj-np-z]{{11,71}}{_E}",
        lambda text: valid("bitcoin", text),
    ),
    pattern("crypto_address", "0x", rf"0{_A}x[0-9a-fA-F]{{40}}{_E}"),
    pattern("cn_resident_id", "", rf"[1-9]{_A}\d{{16}}[xX]{_E}", lambda text: valid("cn.ric", text.upper())),
    pattern("es_dni", "", rf"\d{_A}\d{{7}}[ -]?[A-HJ-NP-TV-Z]{_E}", lambda text: valid("es.dni", text)),
    pattern("es_dni", "", rf"[XYZ]{_A}[ -]?\d{{7}}[ -]?[A-HJ-NP-TV-Z]{_E}", lambda text: valid("es.nie", text)),
    pattern(
        "it_codice_fiscale",
        "",
        rf"[A-Z]{_A}[A-Z]{{5}}\d{{2}}[A-EHLMPRST]\d{{2}}[A-Z]\d{{3}}[A-Z]{_E}",
        lambda text: valid("it.codicefiscale", text),
    ),
    pattern(
        "mx_curp",
        "",
        rf"[A-Z]{_A}[A-Z]{{3}}\d{{6}}[HMX][A-Z]{{5}}[A-Z0-9]\d{_E}",
        lambda text: valid("mx.curp", text),
    ),
    pattern(
        "fi_hetu",
        "- + a",
        rf"\d{_A}\d{{5}}[+A-FYXWVU-]\d{{3}}[0-9A-FHJ-NPR-Y]{_E}",
        lambda text: valid("fi.hetu", text),
    ),
    pattern(
        "in_pan",
        "",
        rf"[A-Z]{_A}[A-Z]{{2}}[ABCFGHJLPT][A-Z]\d{{4}}[A-Z]{_E}",
        lambda text: valid("in_.pan", text),
    ),
    pattern(
        "uk_nino",
        "",
        rf"[A-CEGHJ-PR-TW-Z](?<![A-Za-z0-9_].)[A-CEGHJ-NPR-TW-Z](?<!BG|GB|KN|NK|NT|TN|ZZ)(?: ?\d{{2}}){{3}} ?[A-D]{_E}",
    ),
    pattern(
        "passport",
        "passport 护照",
        r"(?i:passport|护照)(?:[ \t]{0,2}(?i:number|no|nr|号码|号)\.?)?"
        r"(?:[ \t]{0,2}(?i:is|[:：#]|是|为)){0,2}[ \t]{0,2}"
        rf"(?P<secret>[A-Z]{{1,2}}\d{{6,8}}|\d{{8,9}}){_E}",
    ),
)
