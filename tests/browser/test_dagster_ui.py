"""`make dev` as a person meets it in a browser: the graph, the schedule, one materialisation, one mistake.

One server serves the tests of this module, in order; it ends by itself in the last one. What cannot be told from a
page without guessing at Dagster's markup is asked of the same server's GraphQL.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from expectations import SUITE_MODULES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = Path("/usr/bin/chromium")
SECONDS_TO_START, SECONDS_TO_RUN, SECONDS_TO_STOP = 180, 400, 90
LISTEN = "0A"
EDITIONS = """\
editions:
  - id: sample
    venue: Synthetic
    year: 2026
    venue_id: Synthetic.example/2026/Conference
    active: true
    sources: [{kind: sample}]
"""


@dataclass
class Server:
    """`python -m pipelines dev` with folders of its own, in a process group of its own."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def editions(self) -> Path:
        return self.folder / "editions.yaml"

    def ask(self, query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        assert "errors" not in said, said
        return said["data"]

    def processes(self) -> list[int]:
        """Who is left of the group; a zombie is not."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, group = stat.read_text().rpartition(") ")[2].split()[:3]
            except OSError:  # it has just ended
                continue
            if int(group) == self.process.pid and state != "Z":
                found.append(int(stat.parent.name))
        return found

    def log(self) -> str:
        return (self.folder / "dev.log").read_text()


def wait_until(true: Callable[[], Any], seconds: float, what: str) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"{what} took more than {seconds} seconds"
        time.sleep(0.5)
    return value


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed; on Debian: apt-get install chromium")
    folder = tmp_path_factory.mktemp("dev")
    (folder / "editions.yaml").write_text(EDITIONS)
    mine = {
        "HOME": str(folder),
        "WAREHOUSE_DIR": str(folder / "warehouse"),
        "EDITIONS_FILE": "editions.yaml",  # relative, and Dagster runs elsewhere
        "DAGSTER_HOME": "dagster",
    }
    port = free_port()
    with (folder / "dev.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines", "dev", "--port", str(port)],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")} | mine,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(folder, port, process)

    def answers() -> bool:
        assert process.poll() is None, server.log()
        try:
            return bool(urllib.request.urlopen(f"{server.url}/server_info", timeout=5).status == 200)
        except (urllib.error.URLError, OSError):
            return False

    try:
        wait_until(answers, SECONDS_TO_START, "starting")
        yield server
    finally:
        if server.processes():
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def asked_of_others() -> list[str]:
    """Addresses beyond this machine that a page wanted."""
    return []


@pytest.fixture(scope="module")
def browsed(server: Server, asked_of_others: list[str]) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=[
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )

        def is_foreign(url: str) -> bool:
            return not url.startswith((f"{server.url}/", "data:", "blob:"))

        context = browser.new_context(base_url=server.url, viewport={"width": 1800, "height": 1100})

        context.on("request", lambda request: asked_of_others.append(request.url) if is_foreign(request.url) else None)
        context.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        yield context.new_page()
        browser.close()


@pytest.fixture
def page(browsed: Page, server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page, of which a picture is taken at the end of each test, for whoever wants to look."""
    yield browsed
    pictures = server.folder / "pictures"
    pictures.mkdir(exist_ok=True)
    browsed.screenshot(path=pictures / f"{request.node.name}.png")


def test_the_graph_leads_from_the_upstream_to_published(server: Server, page: Page) -> None:
    page.goto("/asset-groups")
    for group in ("upstream", "land", "stage", "staging", "intermediate", "marts", "validate", "publish"):
        expect(page.get_by_text(group, exact=True).first).to_be_visible()
    expect(page.get_by_text("Join the Dagster community")).to_have_count(0)
    nodes = server.ask("{ assetNodes { assetKey { path } dependencyKeys { path } groupName description } }")[
        "assetNodes"
    ]
    above = {tuple(n["assetKey"]["path"]): [tuple(d["path"]) for d in n["dependencyKeys"]] for n in nodes}
    seen: set[tuple[str, ...]] = set()
    queue = [("published",)]
    while queue:
        key = queue.pop()
        if key not in seen:
            seen.add(key)
            queue += above[key]
    assert {("upstream", "sample"), ("landed",), ("staged",), ("marts", "papers"), ("candidate",)} <= seen
    assert set(above) == seen, "every asset leads to the release"
    assert not [node["assetKey"]["path"] for node in nodes if not node["groupName"] or not node["description"]]


# What is on from the start, and why, is said where it is defined: it needs no network and costs next to nothing.
ON_FROM_THE_START = {"daily_maintenance", "end_dead_runs", "tell_failures"}


def test_the_schedule_is_there_and_off(server: Server, page: Page) -> None:
    page.goto("/automation")
    for name in ("daily_refresh", *ON_FROM_THE_START):
        expect(page.get_by_text(name, exact=True)).to_be_visible()
    expect(page.get_by_text("At 05:15 AM UTC")).to_be_visible()
    on = page.get_by_role("checkbox", checked=True).or_(page.get_by_role("switch", checked=True))
    expect(on).to_have_count(len(ON_FROM_THE_START))
    selector = {"repositoryName": "__repository__", "repositoryLocationName": "peer_reviews"}
    told = server.ask(
        "query($s: RepositorySelector!) {"
        " schedulesOrError(repositorySelector: $s) { ... on Schedules { results {"
        " name cronSchedule executionTimezone scheduleState { status } } } }"
        " sensorsOrError(repositorySelector: $s) { ... on Sensors { results { name sensorState { status } } } } }",
        s=selector,
    )
    schedules = {schedule.pop("name"): schedule for schedule in told["schedulesOrError"]["results"]}
    sensors = {sensor["name"]: sensor["sensorState"]["status"] for sensor in told["sensorsOrError"]["results"]}
    assert schedules["daily_refresh"] == {
        "cronSchedule": "15 5 * * *",
        "executionTimezone": "UTC",
        "scheduleState": {"status": "STOPPED"},
    }
    states = {name: schedule["scheduleState"]["status"] for name, schedule in schedules.items()} | sensors
    assert {name for name, state in states.items() if state == "RUNNING"} == ON_FROM_THE_START


def test_a_fresh_server_starts_nothing_by_itself(server: Server, page: Page) -> None:
    assert server.ask("{ runsOrError { ... on Runs { results { runId } } } }")["runsOrError"]["results"] == []
    assert not (server.folder / "warehouse").exists()


def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    """Of all its processes, the code server's and the daemon's too."""
    inodes = set()
    for pid in server.processes():
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(str(handle.readlink()))
            except OSError:  # closed meanwhile
                continue
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and f"socket:[{fields[9]}]" in inodes:
                listening.append(fields[1])
    assert listening == [f"0100007F:{server.port:04X}"]


def test_materialising_everything_from_the_graph(server: Server, page: Page) -> None:
    page.goto("/asset-groups")
    page.get_by_role("button", name="Materialize all").click()
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Launch 1 run").click()
    expect(page.get_by_text("Launched run").first).to_be_visible()

    def ended() -> dict[str, Any] | None:
        runs = server.ask("{ runsOrError { ... on Runs { results { runId status } } } }")["runsOrError"]["results"]
        return next((run for run in runs if run["status"] in ("SUCCESS", "FAILURE", "CANCELED")), None)

    run = wait_until(ended, SECONDS_TO_RUN, "the run")
    assert run["status"] == "SUCCESS"
    page.goto(f"/runs/{run['runId']}")
    expect(page.get_by_text("partition: sample")).to_be_visible()
    expect(page.get_by_text("Succeeded (5)")).to_be_visible()
    assert (server.folder / "warehouse" / "current" / "manifest.json").is_file()


def test_the_release_is_on_the_page_of_published(server: Server, page: Page) -> None:
    release = (server.folder / "warehouse" / "current").resolve()
    page.goto("/assets/published")
    expect(page.get_by_text(release.name, exact=True)).to_be_visible()
    expect(page.get_by_text(str(release)).first).to_be_visible()
    page.goto("/assets/marts/papers")
    expect(page.get_by_text("Row count")).to_be_visible()
    expect(page.get_by_text("259", exact=True)).to_be_visible()
    expect(page.get_by_text("OpenReview forum id.")).to_be_visible()


def test_the_candidates_checks_have_results(server: Server, page: Page) -> None:
    page.goto("/assets/candidate?view=checks")
    expect(page.get_by_text(f"Checks ({len(SUITE_MODULES)})")).to_be_visible()
    page.get_by_placeholder("Filter checks").fill("reviews")
    page.get_by_text("reviews", exact=True).first.click()
    expect(page.get_by_text("This is a blocking asset check.")).to_be_visible()
    expect(page.get_by_text("Latest execution")).to_be_visible()
    (node,) = server.ask(
        '{ assetNodes(assetKeys: [{path: ["candidate"]}]) { assetChecksOrError { ... on AssetChecks { checks {'
        " name executionForLatestMaterialization { status evaluation { success severity description"
        " metadataEntries { label } } } } } } } }"
    )["assetNodes"]
    latest = {
        check["name"]: check["executionForLatestMaterialization"] for check in node["assetChecksOrError"]["checks"]
    }
    assert set(latest) == set(SUITE_MODULES)
    for name, execution in latest.items():
        assert execution is not None, f"{name} has no result"
        assert execution["evaluation"]["metadataEntries"], name
        assert execution["evaluation"]["success"] or execution["evaluation"]["severity"] == "WARN", name
    # The sample has ratings off its scale on purpose; what is said of them is on the page.
    odd = {
        name: execution["evaluation"] for name, execution in latest.items() if not execution["evaluation"]["success"]
    }
    assert "reviews: rating must be on its edition's scale" in " ".join(
        evaluation["description"] for evaluation in odd.values()
    )


def test_an_edition_that_does_not_exist_fails_naming_it(server: Server) -> None:
    """The forms offer existing editions only; whoever asks for another one by GraphQL gets Dagster's sentence."""
    current = (server.folder / "warehouse" / "current").resolve()
    selector = {"repositoryName": "__repository__", "repositoryLocationName": "peer_reviews", "jobName": "refresh"}
    run_id = server.ask(
        "mutation($p: ExecutionParams!) { launchRun(executionParams: $p) {"
        " ... on LaunchRunSuccess { run { runId } } } }",
        p={"selector": selector, "executionMetadata": {"tags": [{"key": "dagster/partition", "value": "nope"}]}},
    )["launchRun"]["run"]["runId"]
    query = """query($id: ID!) { runOrError(runId: $id) { ... on Run { status eventConnection { events {
        ... on ExecutionStepFailureEvent { stepKey error { message } } } } } } }"""

    def ended() -> Any:
        run = server.ask(query, id=run_id)["runOrError"]
        return run if run["status"] in ("SUCCESS", "FAILURE", "CANCELED") else None

    run = wait_until(ended, SECONDS_TO_RUN, "the run")
    assert run["status"] == "FAILURE"
    (failure,) = (event for event in run["eventConnection"]["events"] if event)
    assert failure["stepKey"] == "landed"
    assert "Nonexistent partition keys: ['nope']" in " ".join(failure["error"]["message"].split())
    assert (server.folder / "warehouse" / "current").resolve() == current
    assert not (server.folder / "warehouse" / "landing" / "nope").exists()


def test_a_mistake_in_the_editions_file_is_one_sentence(server: Server, page: Page) -> None:
    server.editions.write_text(EDITIONS.replace("kind: sample", "kind: pigeon"))
    try:
        page.goto("/locations")
        page.get_by_text("Reload all").click()
        dialog = page.get_by_role("dialog").or_(page.locator(".bp5-dialog, .bp4-dialog")).first
        expect(dialog.get_by_text("kind 'pigeon' does not exist").first).to_be_visible()
        error = server.ask(
            "{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError {"
            " ... on PythonError { message cause { message } } } } } } }"
        )["workspaceOrError"]["locationEntries"][0]["locationOrLoadError"]
        assert error["cause"] is None
        (line,) = error["message"].strip().splitlines()
        name, said = line.split(": ", 1)
        assert name == "pipelines.definitions.LoadError"
        assert said.startswith(f"{server.editions}: edition 'sample', source number 1: kind 'pigeon' does not exist; ")
        # The sentence comes before any frame of a traceback.
        shown = dialog.inner_text()
        assert shown.index("does not exist") < shown.index('File "')
    finally:
        server.editions.write_text(EDITIONS)
    page.goto("/locations")
    page.get_by_text("Reload all").click()
    expect(page.get_by_text("Loaded", exact=True)).to_be_visible()


def test_no_page_asked_anything_of_another_machine(browsed: Page, asked_of_others: list[str]) -> None:
    assert asked_of_others == []


def test_it_stops_by_itself_and_leaves_no_telemetry(server: Server) -> None:
    os.kill(server.process.pid, signal.SIGTERM)
    server.process.wait(SECONDS_TO_STOP)
    wait_until(lambda: not server.processes(), SECONDS_TO_STOP, "the end of its processes")
    assert "Dagster services shut down." in server.log()
    assert "superseded" not in server.log()
    assert not (server.folder / ".dagster").exists()
    assert not list((server.folder / "dagster").rglob("event.log"))
    shutil.rmtree(server.folder / "warehouse", ignore_errors=True)
