"""What an operator relies on while nobody looks: messages about failed runs, and an end to runs that were killed.

The sensors are evaluated by Dagster on a real history; the launcher and the daemon are real processes.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from pipelines.assets.parts import Parts
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.operate import runs
from pipelines.operate.automation import dead_runs_sensor, failure_sensor
from pipelines.operate.runs import in_process
from tests.hub_files import editions_of, files_edition
from tests.webhook import Webhook

BIN = Path(sys.executable).parent
DEADLINE_SECONDS = 240


@dg.op
def break_down() -> None:
    raise ValueError("papers.parquet, row 7: the rating is 'ten'; correct it.")


@dg.asset
def papers() -> None:
    pass


@dg.asset_check(asset=papers, blocking=True)
def ratings() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=False, description="reviews: rating must be on its scale: 3 rows fail")


@dg.asset(deps=[papers])
def published() -> None:
    pass


@dg.job(executor_def=in_process)
def broken() -> None:
    break_down()


gated = dg.Definitions(assets=[papers, published], asset_checks=[ratings], jobs=[dg.define_asset_job("gated")])


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield instance


class Sensor:
    """A sensor as the daemon evaluates it, tick after tick."""

    def __init__(self, definition: dg.SensorDefinition, instance: dg.DagsterInstance) -> None:
        self._definition = definition
        self._instance = instance
        self._cursor: str | None = None

    def tick(self) -> str:
        """Evaluate once; returns what it says."""
        repository = dg.Definitions(jobs=[broken], sensors=[self._definition]).get_repository_def()
        with dg.build_sensor_context(self._instance, self._cursor, repository_def=repository) as context:
            data = self._definition.evaluate_tick(context)
        self._cursor = data.cursor
        return data.skip_message or ""


def failure_tick(instance: dg.DagsterInstance, url: str, tmp_path: Path) -> Sensor:
    """The real sensor after its first tick, at which it only notes where the history ends."""
    settings = Settings(warehouse_dir=tmp_path / "warehouse", notify_webhook_url=url, notify_timeout_seconds=5)
    parts = Parts(settings=settings, editions=editions_of(files_edition("x.parquet")))
    sensor = Sensor(failure_sensor(parts), instance)
    assert "Initiating tell_failures" in sensor.tick()
    return sensor


# --- the failure sensor -----------------------------------------------------------------------------------------------


def test_the_sensor_tells_each_failed_run_once(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    with Webhook() as webhook:
        sensor = failure_tick(instance, webhook.url, tmp_path)
        first = broken.execute_in_process(instance=instance, raise_on_error=False, tags={"dagster/partition": "x-2026"})
        second = gated.resolve_job_def("gated").execute_in_process(instance=instance, raise_on_error=False)
        said = [sensor.tick() for _ in range(3)]
    assert said[:2] == [
        f"The failure of run {run.run_id} was told to the webhook at 127.0.0.1." for run in (first, second)
    ]
    assert "was told" not in said[2]
    one, other = webhook.received
    assert (one["run_id"], one["job"], one["partition"]) == (first.run_id, "broken", "x-2026")
    assert one["failures"] == [
        {"step": "break_down", "reason": "papers.parquet, row 7: the rating is 'ten'; correct it."}
    ]
    # What the check found takes the place of "the check ratings failed".
    assert other["failures"] == [{"step": "papers", "reason": "reviews: rating must be on its scale: 3 rows fail"}]
    assert other["partition"] is None


def test_a_receiver_that_is_down_fails_nothing_and_is_told_clearly(
    instance: dg.DagsterInstance, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    sensor = failure_tick(instance, f"http://127.0.0.1:{port}/services/{Webhook.SECRET}", tmp_path)
    failed = broken.execute_in_process(instance=instance, raise_on_error=False)
    said = sensor.tick()
    assert said.startswith(f"The failure of run {failed.run_id} could not be told: the webhook at 127.0.0.1: ")
    assert not Webhook.shows_secrets(said + "".join(capfd.readouterr()))
    assert "could not be told" not in sensor.tick()


def test_the_sensor_does_nothing_without_the_setting(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    sensor = failure_tick(instance, "", tmp_path)
    broken.execute_in_process(instance=instance, raise_on_error=False)
    assert sensor.tick() == "NOTIFY_WEBHOOK_URL is not set, so nobody is told."


def test_the_history_never_holds_the_address(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    with Webhook((500, {}, 0)) as webhook:
        sensor = failure_tick(instance, webhook.url, tmp_path)
        broken.execute_in_process(instance=instance, raise_on_error=False)
        assert "status 500" in sensor.tick()
    for path in (tmp_path / "dagster").rglob("*"):
        if path.is_file():
            assert not Webhook.shows_secrets(path.read_bytes().decode("latin-1")), path


# --- runs whose process is gone ---------------------------------------------------------------------------------------

# Executes a job that never ends, as the launcher does (under the lock) or as an older version did.
HANG = """
import contextlib, pathlib, sys, time, uuid
import dagster as dg
from pipelines.operate import runs

@dg.op
def hang():
    pathlib.Path(sys.argv[2]).touch()
    time.sleep(3600)

@dg.job
def hanging():
    hang()

run_id = str(uuid.uuid4())
with dg.DagsterInstance.get() as instance:
    with runs.alive(instance, run_id) if sys.argv[1] == "shown" else contextlib.nullcontext():
        hanging.execute_in_process(instance=instance, run_id=run_id)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Dagster home with the project's own settings, one run at a time."""
    home = tmp_path / "dagster"
    home.mkdir()
    shutil.copyfile(PROJECT_DIR / "dagster.yaml", home / "dagster.yaml")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    return home


@pytest.fixture
def processes() -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes with a group of their own, which ends with the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def start(processes: list["subprocess.Popen[str]"], *command: object, **environment: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | environment,
    )
    processes.append(process)
    return process


def hang(processes: list["subprocess.Popen[str]"], how: str, folder: Path) -> "subprocess.Popen[str]":
    """A run in the middle of its only step."""
    mark = folder / "hanging"
    process = start(processes, sys.executable, "-c", HANG, how, mark)
    wait_until(mark.exists, process)
    return process


def wait_until(is_so: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
    assert is_so()


def kill(process: "subprocess.Popen[str]") -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def status(instance: dg.DagsterInstance) -> list[str]:
    return [run.status.value for run in instance.get_runs()]


def test_a_run_is_dead_when_its_process_is_and_not_before(
    home: Path, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    process = hang(processes, "shown", tmp_path)
    with dg.DagsterInstance.get() as instance:
        sensor = Sensor(dead_runs_sensor(), instance)
        assert sensor.tick() == "Every run that is started has its process."
        assert status(instance) == ["STARTED"]
        kill(process)
        assert status(instance) == ["STARTED"]
        (run,) = instance.get_runs()
        assert sensor.tick() == f"Marked as failed: {run.run_id}."
        assert status(instance) == ["FAILURE"]
        assert list((home / "run_locks").iterdir()) == []
        (event,) = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
        assert "The process of this run is gone" in event.message


def test_nothing_is_said_about_a_run_that_shows_no_sign_of_life(
    home: Path, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    hang(processes, "not shown", tmp_path)
    with dg.DagsterInstance.get() as instance:
        assert runs.fail_dead_runs(instance, print) == []
        assert status(instance) == ["STARTED"]


@dg.op
def look(context: dg.OpExecutionContext) -> None:
    names = [path.name for path in (Path(context.instance.root_directory) / "run_locks").iterdir()]
    assert names == [f"{context.run_id}.lock"]
    assert runs.fail_dead_runs(context.instance, print) == []


@dg.job(executor_def=in_process)
def looking() -> None:
    look()


def test_the_executor_shows_that_a_run_is_alive_and_clears_up(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Runs of the daemon and of `dagster asset materialize` go through the executor, the launcher's do not."""
    with dg.execute_job(dg.reconstructable(looking), instance=instance) as result:
        assert result.success
    assert list((tmp_path / "dagster" / "run_locks").iterdir()) == []


@pytest.mark.slow
def test_the_next_launcher_run_ends_and_tells_the_one_that_was_killed(
    home: Path, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    """`kill -9` of `python -m pipelines run` while it waits for a server; then the same again, with a missing file."""
    editions = tmp_path / "editions.yaml"

    def write(source: str) -> None:
        editions.write_text(
            "editions:\n  - {id: x-2026, venue: X, year: 2026, venue_id: X.cc/2026, sources: [{kind: files, "
            f"{source}}}]}}\n"
        )

    def launch(url: str) -> "subprocess.Popen[str]":
        return start(
            processes,
            *(sys.executable, "-m", "pipelines", "run", "--edition", "x-2026"),
            EDITIONS_FILE=str(editions),
            NOTIFY_WEBHOOK_URL=url,
            PYTHONPATH=str(PROJECT_DIR),
        )

    with (
        Webhook() as webhook,
        socket.create_server(("127.0.0.1", 0)) as silent,
        dg.DagsterInstance.get() as instance,
    ):
        sensor = failure_tick(instance, webhook.url, tmp_path)
        write(f"url: 'http://127.0.0.1:{silent.getsockname()[1]}/papers.parquet'")
        killed = launch(webhook.url)
        silent.settimeout(DEADLINE_SECONDS)
        silent.accept()
        kill(killed)
        (dead,) = instance.get_runs()
        assert dead.status == dg.DagsterRunStatus.STARTED
        write("path: absent.parquet")
        said, _ = launch(webhook.url).communicate(timeout=DEADLINE_SECONDS)
        assert f"Run {dead.run_id} (refresh) was marked as failed: its process is gone." in said
        assert "Error: landed: x-2026/files: " in said
        assert not Webhook.shows_secrets(said)
        assert status(instance) == ["FAILURE", "FAILURE"]
        (newest, _) = instance.get_runs()
        # The daemon's sensor does not tell them again.
        assert [sensor.tick() for _ in range(2)] == [
            f"The launcher told the failure of run {run_id} itself." for run_id in (dead.run_id, newest.run_id)
        ]
    first, second = webhook.received
    assert (first["run_id"], second["run_id"]) == (dead.run_id, newest.run_id)
    assert "The process of this run is gone" in first["text"]
    assert second["partition"] == "x-2026"
    assert [failure["step"] for failure in second["failures"]] == ["landed"]
    assert second["text"].splitlines()[0].endswith("There is no release yet.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds", ["0.1", "3", "20"], ids=["before its run is known", "at its beginning", "in a step"]
)
def test_a_launcher_run_that_takes_too_long_ends_and_tells_so(
    home: Path, tmp_path: Path, processes: list["subprocess.Popen[str]"], seconds: str
) -> None:
    with Webhook() as webhook, socket.create_server(("127.0.0.1", 0)) as silent:
        (tmp_path / "editions.yaml").write_text(
            "editions:\n  - {id: x-2026, venue: X, year: 2026, venue_id: X.cc/2026, sources: [{kind: files, "
            f"url: 'http://127.0.0.1:{silent.getsockname()[1]}/papers.parquet'}}]}}\n"
        )
        launched = start(
            processes,
            *(sys.executable, "-m", "pipelines", "run", "--edition", "x-2026"),
            EDITIONS_FILE=str(tmp_path / "editions.yaml"),
            NOTIFY_WEBHOOK_URL=webhook.url,
            RUN_SECONDS=seconds,
            PYTHONPATH=str(PROJECT_DIR),
        )
        said, _ = launched.communicate(timeout=DEADLINE_SECONDS)
    assert launched.returncode == 1
    reason = f"it took longer than RUN_SECONDS={seconds} seconds and was stopped; raise it if that is too short."
    assert said.splitlines()[-1] == f"Error: run: {reason}"
    assert "Traceback (" not in said
    (message,) = webhook.received
    assert message["failures"] == [{"step": "run", "reason": reason}]
    with dg.DagsterInstance.get() as instance:
        assert all(run.is_finished for run in instance.get_runs())
    assert list((home / "run_locks").iterdir()) == []


LOCATION = """
import dagster as dg
from pipelines.operate.automation import dead_runs_sensor
from pipelines.operate.runs import in_process

@dg.op
def nothing():
    pass

@dg.job
def quick():
    nothing()

defs = dg.Definitions(jobs=[quick], sensors=[dead_runs_sensor()], executor=in_process)
"""


@pytest.mark.slow
def test_the_queue_of_the_daemon_goes_on_after_a_launcher_was_killed(
    home: Path, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    location = tmp_path / "location.py"
    location.write_text(LOCATION)
    environment = {"PYTHONPATH": str(PROJECT_DIR)}
    kill(hang(processes, "shown", tmp_path))
    launch = [BIN / "dagster", "job", "launch", "-f", location, "-j", "quick"]
    said, _ = start(processes, *launch, **environment).communicate(timeout=DEADLINE_SECONDS)
    with dg.DagsterInstance.get() as instance:
        assert status(instance) == ["QUEUED", "STARTED"], said
        daemon = start(processes, BIN / "dagster-daemon", "run", "-f", location, **environment)
        wait_until(lambda: status(instance) == ["SUCCESS", "FAILURE"], daemon)
