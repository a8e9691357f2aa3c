"""Ctrl-C as a terminal sends it, to every process of the group: no command and no helper of its prints a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.config.settings import PROJECT_DIR

pytestmark = pytest.mark.slow


def interrupted(folder: Path, *words: str, after: str) -> tuple[int, str]:
    """The exit code of a command, and all that it and its children said; the signal comes at the line with `after`."""
    code = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += f"import sys; sys.argv[1:] = {list(words)!r}; runpy.run_module('pipelines', run_name='__main__')"
    home = {"WAREHOUSE_DIR": str(folder / "warehouse"), "DAGSTER_HOME": str(folder / "dagster")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=PROJECT_DIR,
        env=os.environ | home,
        start_new_session=True,
        text=True,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if after in line:
            os.killpg(process.pid, signal.SIGINT)
            break
    # Until the last of the group has closed its end.
    rest, _ = process.communicate(timeout=300)
    return process.returncode, "".join(said) + rest


@pytest.mark.parametrize(
    "moment",
    ["Running sample", "landed: started", "staged: started", "modelled: started", "candidate: started"],
)
def test_a_run(tmp_path: Path, moment: str) -> None:
    code, said = interrupted(tmp_path, "run", after=moment)
    assert moment in said, said
    assert "Traceback (" not in said
    assert "KeyboardInterrupt" not in said
    assert code in (1, 130), said
    assert "interrupted" in said


def test_the_doctor(tmp_path: Path) -> None:
    code, said = interrupted(tmp_path, "doctor", "--deep", after="ok       python")
    assert "Traceback (" not in said
    assert code in (0, 1, 130), said  # it may have been done


def test_the_ui(tmp_path: Path) -> None:
    _, said = interrupted(tmp_path, "dev", "--port", "0", after="Serving dagster-webserver")
    assert "Serving dagster-webserver" in said, said
    assert "Traceback (" not in said
