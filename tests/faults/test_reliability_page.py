"""`docs/reliability.md`: every test that it names exists, and is one of faults."""

import re

from pipelines.config.settings import PROJECT_DIR

PAGE = PROJECT_DIR / "docs" / "reliability.md"


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    files = (PROJECT_DIR / "tests" / "faults").glob("test_*.py")
    there = {name for file in files for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)}
    assert len(named) > 10
    assert named <= there, f"not in tests/faults: {sorted(named - there)}"
