"""Keys, tokens and passwords, by the prefixes and lengths that their makers publish."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_server.adapters.detect.pattern import Pattern, pattern
from hindsight_server.domain.defence.findings import PLACEHOLDER

_B = r"(?<![A-Za-z0-9_])"  # not \b: a Chinese character is a word character to it, and a key may follow one
_E = r"(?![A-Za-z0-9_])"


def _token(label: str, words: str, form: str) -> Pattern:
    return pattern(label, words, f"{_B}(?:{form}){_E}")


_VENDORS = (
    _token("anthropic_key", "sk-ant-", r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,250}"),
    _token("atlassian_token", "atatt3 atctt3", r"AT[AC]TT3[A-Za-z0-9_=-]{20,300}"),
    _token("aws_access_key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    pattern(
        "aws_secret_key",
        "secret",
        r"(?i:aws)?_?(?i:secret)_?(?i:access)?_?(?i:key)[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    pattern(
        "azure_key",
        "accountkey= sharedaccesskey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{43,86}={1,2})",
    ),
    _token("databricks_token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _token("digitalocean_token", "dop_v1_ doo_v1_ dor_v1_", r"do[por]_v1_[0-9a-f]{64}"),
    _token(
        "discord_webhook",
        "/api/webhooks/",
        r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{15,21}/[\w-]{60,80}",
    ),
    _token("docker_token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{27,40}"),
    _token(
        "github_token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{36,251}",
    ),
    _token(
        "gitlab_token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- glimt-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20,200}",
    ),
    _token("google_api_key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("google_oauth_token", "gocspx- ya29.", r"GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{20,400}"),
    _token("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{34,40}"),
    _token("linear_key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _token("mailchimp_key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _token("mailgun_key", "key-", r"key-[0-9a-f]{32}"),
    _token("npm_token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token(
        "openai_key",
        "sk-",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}|sk-[A-Za-z0-9]{32,64}",
    ),
    _token(
        "ai_provider_key",
        "gsk_ xai- pplx- r8_ sk-or-v1- nvapi-",
        r"gsk_[A-Za-z0-9]{52}|xai-[A-Za-z0-9]{70,90}|pplx-[A-Za-z0-9]{40,60}|r8_[A-Za-z0-9]{37}|sk-or-v1-[0-9a-f]{64}"
        r"|nvapi-[A-Za-z0-9_-]{60,80}",
    ),
    _token("postman_key", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("pypi_token", "pypi-age", r"pypi-AgE[A-Za-z0-9_-]{50,250}"),
    _token("sendgrid_key", "sg.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _token("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _token("slack_token", "xox xapp-", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{10,250}"),
    _token(
        "slack_webhook", "hooks.slack.com", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,100}"
    ),
    _token("square_token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    _token(
        "stripe_key", "k_live_ k_test_ whsec_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/]{24,64}"
    ),
    _token("telegram_token", ":aa", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _token("twilio_key", " ".join(f"sk{digit}" for digit in "0123456789abcdef"), r"SK[0-9a-f]{32}"),
    _token("vault_token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,250}"),
)


def _has_digit_and_letter(text: str) -> bool:
    return not text.isalpha() and any(map(str.isalpha, text)) and any(map(str.isdigit, text))


_CARRIED = (
    pattern(
        "jwt",
        "eyj",
        r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{6,}+\.eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{10,}+",
    ),
    pattern(
        "connection_string",
        "://",
        r"://[^\s:/@'\"<>?#]{0,100}+:(?P<secret>[^\s/'\"<>]{1,200})@(?=[A-Za-z0-9\[_.-])",
        lambda secret: not secret.startswith(PLACEHOLDER),
    ),
    pattern(
        "bearer_token",
        "bearer",
        r"(?i)(?<![a-z0-9])bearer[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/-]{16,4000}+=*+)",
        lambda secret: any(map(str.isdigit, secret)),
    ),
    pattern(
        "basic_auth",
        "basic",
        r"(?i)authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?basic[ \t]{1,3}(?P<secret>[A-Za-z0-9+/]{8,400}+=*+)",
    ),
    pattern(
        "api_key",
        "key token secret",
        r"(?i)(?:api[_-]?key|secret[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|"
        r"private[_-]?token|client[_-]?secret|secret|token)[\"']?[ \t]{0,4}[:=：][ \t]{0,4}[\"']?"
        r"(?P<secret>[A-Za-z0-9_./+=~-]{16,512}+)",
        _has_digit_and_letter,
        echoes=True,
    ),
)

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{16,80})*+")
_LONGEST_KEY = 20_000


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """PEM blocks of private keys, also ones whose end is missing."""
    position = 0
    while "PRIVATE KEY" in text and (begin := _BEGIN.search(text, position)):
        end = _END.search(text, begin.end(), begin.end() + _LONGEST_KEY)
        following = _BEGIN.search(text, begin.end(), begin.end() + _LONGEST_KEY)
        if end is None or (following and following.start() < end.start()):
            lines = _KEY_LINES.match(text, begin.end())
            position = lines.end() if lines else begin.end()
        else:
            position = end.end()
        yield begin.start(), position


_PASSWORD = re.compile(
    r"(?i)(?<![a-z0-9])(?:[a-z0-9_-]{0,30}_)?(?:password|passwd|pwd|passphrase|passcode|密码|口令|contraseña|passwort|"
    r"senha|mot de passe)[\"']?[ \t]{0,3}"
    r"(?P<sign>[:=：]|(?<=[a-zñ ])\bis\b[:：]?|是[:：]?|为[:：]?|(?<=[码令])(?=[ \t\u3000])\u3000?)[ \t]{0,3}"
    r"(?:\"(?P<double>[^\"\n\\]{1,128})\"|'(?P<single>[^'\n\\]{1,128})'|`(?P<back>[^`\n]{1,128})`|"
    r"[“「『](?P<curly>[^“”「」『』\n]{1,128})[”」』]|"
    r"(?P<plain>[!-&(-+\--:<-_a-~]{4,128}+))(?P<rest>[^\n]?)"
)
_PASSWORD_WORDS = ("pass", "pwd", "密码", "口令", "contraseña", "senha")
_NO_PASSWORD = re.compile(
    r"(?i)(?:\[redacted:|[a-z_][\w.]*+\(|<|\$\{|\$\(|\{\{|%\(|\*+$|x+$|\.+$|os\.|process\.|env\b|getenv|base64|sha-?\d|md5|utf-?8|bcrypt|argon2)"
)
# With nothing but a blank between, a password holds letters and digits, and is none of what texts on passwords name.
_BARE = re.compile(r"(?=[^\n]*[A-Za-z])(?=[^\n]*\d).{6,}")
_NAMED = re.compile(
    r"(?i)(?:iphone|ipad|ios|macos|windows|win|android|office|chrome|mysql|redis|python|oauth|saml|sha|aes|rsa|rfc|wpa|"
    r"http|ipv|utf|top|step|version|ver|v)[-_.]?\d[\d.]*(?:-[a-z]+)*$|\d{4}-\d\d-\d\d|[^\s@]+@[\w-]+\.|https?:|www\."
)
_PLAIN_WORDS = frozenset(
    (
        *("required", "optional", "none", "null", "true", "false", "string", "text", "hidden", "empty", "blank", "set"),
        *("invalid", "incorrect", "wrong", "missing", "expired", "reset", "changed", "unknown", "forgotten", "secret"),
        *("password", "here", "below", "above", "yourself", "protected", "encrypted", "hashed", "needed"),
    )
)


def passwords(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """What a text calls a password: ``password: x``, ``pwd=x``, ``the password is x``, ``密码是x``, ``密码 x1y2z3``."""
    if not any(word in lowered for word in _PASSWORD_WORDS):
        return
    for match in _PASSWORD.finditer(text):
        quoted = next((name for name in ("double", "single", "back", "curly") if match[name] is not None), None)
        name = quoted or "plain"
        sign = match["sign"].strip()
        assigned = sign.startswith((":", "=", "："))
        value = match[name] if quoted else match[name].rstrip(".,;:)]}>" if assigned else ".,;:!?)]}>")
        if _NO_PASSWORD.match(value) or value.casefold() in _PLAIN_WORDS or len(value) < (1 if quoted else 4):
            continue
        if not sign and (_NAMED.match(value) or not _BARE.match(value)):
            continue
        # A bare word may be part of a sentence; after a colon it is one when more words follow.
        if quoted or _odd(value) or (assigned and (match["sign"] == "=" or match["rest"] in ("", ",", ";"))):
            yield match.start(name), match.start(name) + len(value)


def _odd(value: str) -> bool:
    """Whether a word looks like no word of a language: it holds digits, signs or capitals in its middle."""
    bare = value.replace("-", "").replace("'", "").replace("/", "").replace(".", "")
    return not bare.isalpha() or (bare[1:] != bare[1:].lower() and not bare.isupper())


PATTERNS: tuple[Pattern, ...] = (*_VENDORS, *_CARRIED)
