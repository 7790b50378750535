"""`hindsight bank security-events` as a process against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from uuid import uuid4

import pytest


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    return subprocess.run(
        [sys.executable, "-m", "hindsight_server.cli.main", "--url", url, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.feature("R15")
def test_decisions_are_listed(server_url: str) -> None:
    bank = f"bank-{uuid4().hex[:8]}"
    policy = {"enabled": True, "rules": [{"on": "sensitive_data", "action": "redact"}]}
    for method, path, body in (("PUT", "", {}), ("PATCH", "/config", {"updates": {"memory_defense": policy}})):
        target = f"{server_url}/v1/default/banks/{bank}{path}"
        urllib.request.urlopen(urllib.request.Request(target, json.dumps(body).encode(), method=method)).close()
    assert run(server_url, "memory", "retain", bank, "write to ann@example.org").returncode == 0
    listed = run(server_url, "bank", "security-events", bank)
    assert listed.returncode == 0, listed.stderr
    assert "redact" in listed.stdout
    assert "ann@example.org" not in listed.stdout
    assert json.loads(run(server_url, "--json", "bank", "security-events", bank, "--limit", "0").stdout)["items"] == []
    assert run(server_url, "bank", "security-events", "no-such-bank").returncode == 1
