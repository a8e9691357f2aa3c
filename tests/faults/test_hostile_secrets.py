"""Secrets in the environment of real runs, against servers that repeat them in every way: nothing that a run leaves
behind, and nothing that it prints, holds one.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from pipelines.config.settings import PROJECT_DIR
from tests.openreview_server import _WithPost
from tests.upstream_servers import Exchange, Seen, _Server

pytestmark = [
    pytest.mark.faults("secrets"),
    pytest.mark.faults_full,
    pytest.mark.slow,
    pytest.mark.xdist_group("secrets"),
]

SECRETS = {
    "HF_TOKEN": "hf_PLANTEDhubTOKEN1x7Q",
    "OPENREVIEW_USERNAME": "planted.reader.8k2@example.org",
    "OPENREVIEW_PASSWORD": "PLANTED pass/word+ü%9zW",
    "OPENREVIEW_TOKEN": "eyJPLANTED.t0ken-77.s1gn",
}
WEBHOOK_SECRET = "T00PLANTED/B11webhookXYZ"


class EchoServer(_Server):
    """Refuses everything, and repeats in headers and body whatever it was sent, as careless servers do."""

    def __init__(self) -> None:
        super().__init__()
        self._listener.RequestHandlerClass = _WithPost
        self.other_host = ""
        self.got: list[str] = []

    def respond(self, exchange: Exchange, request: Seen) -> None:
        sent = request.headers.get("authorization", "")
        posted = getattr(exchange, "posted", b"").decode("utf-8", "replace")
        self.got.append(f"{request.path} {sent} {posted}")
        text = f"{sent} {posted} {request.path}?{request.query}"
        headers = {"X-Error-Message": sent, "X-Error-Code": sent, "Content-Type": "application/json"}
        if "/redirected/" in request.path:
            return exchange.answer(302, {"Location": f"{self.other_host}{request.path}"})
        status = 500 if "/failing/" in request.path else 403 if "/forbidden/" in request.path else 401
        body = json.dumps({"name": "Error", "message": text})
        return exchange.answer(status, headers, body.encode())


@dataclass(frozen=True)
class Runs:
    """What two runs printed and where they left what they left."""

    folder: Path
    printed: str
    sent: str
    strangers: str
    codes: list[int]


def editions(server: EchoServer) -> str:
    def edition(id_: str, sources: str) -> str:
        return (
            f"  - id: {id_}\n    venue: TEST\n    year: 2026\n    venue_id: TEST.cc/2026/Conference\n"
            f"    sources:\n{sources}"
        )

    kinds = "".join(
        f"      - {{kind: hugging_face, name: hub_{way}, dataset: a/b, base_url: '{server.url(f'/{way}')}'}}\n"
        f"      - {{kind: openreview, name: openreview_{way}, base_url: '{server.url(f'/{way}')}'}}\n"
        f"      - {{kind: files, name: files_{way}, url: '{server.url(f'/{way}/p.parquet')}?key=PLANTEDquery77'}}\n"
        for way in ("refused", "forbidden", "failing", "redirected")
    )
    sample = (
        "  - id: sample\n    venue: Synthetic\n    year: 2026\n    venue_id: Synthetic.example/2026/Conference\n"
        "    sources: [{kind: sample}]\n"
    )
    return "editions:\n" + edition("broken-2026", kinds) + sample


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("secrets")
    with EchoServer() as server, EchoServer() as stranger:
        server.other_host = stranger.url("", host="localhost")
        (folder / "editions.yaml").write_text(editions(server))
        (folder / "elsewhere").mkdir()
        mine = {
            "WAREHOUSE_DIR": str(folder / "warehouse"),
            "EDITIONS_FILE": str(folder / "editions.yaml"),
            "DAGSTER_HOME": str(folder / "dagster"),
            "HOME": str(folder),
            "HTTP_ATTEMPTS": "1",
            "NO_PROXY": "*",
            "NOTIFY_WEBHOOK_URL": server.url(f"/hook/{WEBHOOK_SECRET}"),
            "PYTHONPATH": str(PROJECT_DIR),
            # Paths below the folder keep dbt's output where it can be searched.
            "DBT_LOG_PATH": str(folder / "dbt_logs"),
        }
        password_only = {name: value for name, value in SECRETS.items() if name != "OPENREVIEW_TOKEN"}
        done = []
        for edition, secrets in (("broken-2026", SECRETS), ("broken-2026", password_only), ("sample", SECRETS)):
            done.append(
                subprocess.run(
                    [sys.executable, "-m", "pipelines", "run", "--edition", edition],
                    cwd=folder / "elsewhere",
                    env=os.environ | mine | secrets,
                    capture_output=True,
                    text=True,
                    timeout=600,
                )
            )
        printed = "".join(one.stdout + one.stderr for one in done)
        yield Runs(folder, printed, "\n".join(server.got), "\n".join(stranger.got), [one.returncode for one in done])


def forms(secret: str) -> set[bytes]:
    """A secret as it may be written: as it is, in an address, in JSON, in base64."""
    as_json = secret.encode("unicode_escape").decode()
    encoded = base64.b64encode(secret.encode()).rstrip(b"=")[:-1]
    return {secret.encode(), quote(secret).encode(), quote(secret, safe="").encode(), as_json.encode(), encoded}


ALL = [*SECRETS.values(), WEBHOOK_SECRET, "PLANTEDquery77"]


def test_the_secrets_were_used_and_the_runs_ended_as_they_should(runs: Runs) -> None:
    """Else there would have been nothing to leak."""
    assert runs.codes == [1, 1, 0], runs.printed[-3000:]
    assert f"Bearer {SECRETS['HF_TOKEN']}" in runs.sent
    assert f"Bearer {SECRETS['OPENREVIEW_TOKEN']}" in runs.sent
    assert SECRETS["OPENREVIEW_USERNAME"] in runs.sent
    assert WEBHOOK_SECRET in runs.sent


def test_no_secret_is_printed(runs: Runs) -> None:
    assert "broken-2026/hub_refused" in runs.printed
    for secret in ALL:
        assert not [form for form in forms(secret) if form in runs.printed.encode()], secret


def test_nothing_left_on_disk_holds_a_secret(runs: Runs) -> None:
    """Warehouse, Dagster's home with its databases and compute logs, dbt's target and logs."""
    searched = [path for path in runs.folder.rglob("*") if path.is_file() and path.name != "editions.yaml"]
    searched += [path for path in (PROJECT_DIR / "dbt_project" / "target").rglob("*") if path.is_file()]
    found = {
        f"{path}: {secret}"
        for path in searched
        for content in [path.read_bytes()]
        for secret in ALL
        if any(form in content for form in forms(secret))
    }
    assert found == set()
    names = {path.name for path in searched}
    assert {"manifest.json", "snapshot.json", "peer_reviews.duckdb", "dbt.log"} <= names
    assert len([path for path in searched if path.suffix == ".db"]) >= 2


def test_no_stranger_sees_a_secret(runs: Runs) -> None:
    """Where a redirect leads to another host, tokens do not follow."""
    for line in runs.strangers.splitlines():
        assert "Bearer" not in line
        assert not any(secret in line for secret in SECRETS.values())
