"""The kinds of sensitive data that are known, by the label that stands in their place."""

from __future__ import annotations

from collections.abc import Mapping

_CONTACT = {
    "email": "medium",
    "phone": "medium",
    "ip_address": "low",
    "mac_address": "low",
}
_MONEY = {
    "credit_card": "high",
    "iban": "high",
    "crypto_address": "medium",
}
_PERSON = dict.fromkeys(
    (
        *("au_tfn", "br_cnpj", "br_cpf", "ca_sin", "cn_resident_id", "de_tax_id", "es_dni", "fi_hetu", "fr_nir"),
        *("in_aadhaar", "in_pan", "it_codice_fiscale", "jp_my_number", "kr_rrn", "mx_curp", "nl_bsn", "passport"),
        *("pl_pesel", "se_personnummer", "tr_tckimlik", "uk_nhs", "uk_nino", "us_itin", "us_ssn", "za_id"),
    ),
    "high",
)
_SECRET = dict.fromkeys(
    (
        *("ai_provider_key", "anthropic_key", "api_key", "atlassian_token", "aws_access_key", "aws_secret_key"),
        *("azure_key", "basic_auth", "bearer_token", "connection_string", "databricks_token", "digitalocean_token"),
        *("discord_webhook", "docker_token", "github_token", "gitlab_token", "google_api_key", "google_oauth_token"),
        *("huggingface_token", "jwt", "linear_key", "mailchimp_key", "mailgun_key", "npm_token", "openai_key"),
        *("password", "postman_key", "private_key", "pypi_token", "sendgrid_key", "shopify_token", "slack_token"),
        *("slack_webhook", "square_token", "stripe_key", "telegram_token", "twilio_key", "vault_token"),
    ),
    "critical",
)

SENSITIVE_LABELS: Mapping[str, str] = {**_CONTACT, **_MONEY, **_PERSON, **_SECRET}
"""Severity by label."""
