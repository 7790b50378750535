"""The headers by which a receiver knows what it is told, and by whom."""

from __future__ import annotations

import hashlib
import hmac


def event_headers(
    body: bytes, *, event_type: str, event_id: str, delivery_id: str, secret: str | None, unix_time: int
) -> dict[str, str]:
    """The headers of an attempt.

    With a secret there are two signatures: one over the body alone, under its own name and under the one that GitHub
    gave it, and one over time and body, by which a receiver can refuse what somebody recorded and sends again.

    Args:
        unix_time: seconds since 1970 of the attempt.

    Example:
        >>> event_headers(b"{}", event_type="e", event_id="1", delivery_id="2", secret=None, unix_time=0)
        {'X-Hindsight-Event': 'e', 'X-Hindsight-Event-Id': '1', 'X-Hindsight-Delivery-Id': '2'}
    """
    headers = {
        "X-Hindsight-Event": event_type,
        "X-Hindsight-Event-Id": event_id,
        "X-Hindsight-Delivery-Id": delivery_id,
    }
    if secret is not None:
        signature = f"sha256={_hmac(secret, body)}"
        headers["X-Hindsight-Signature"] = signature
        headers["X-Hub-Signature-256"] = signature
        headers["X-Hindsight-Signature-V2"] = f"t={unix_time},v1={_hmac(secret, b'%d.%s' % (unix_time, body))}"
    return headers


def _hmac(secret: str, message: bytes) -> str:
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
