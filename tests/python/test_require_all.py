"""FRAMEWIRE_REQUIRE_ALL: what a test lacks is then a failure, and no silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY, REQUIRE_ALL

TESTS = """
import pytest

@pytest.mark.skipif(True, reason="tshark is not installed")
def test_program(): ...

@pytest.mark.skipif(True, reason="no emulated world here: the emulator framewire-emu is not installed: `make setup`")
def test_emulator(): ...

def test_data():
    pytest.skip("no test data in FRAMEWIRE_TEST_DATA")

def test_module():
    pytest.importorskip("no_such_module")

@pytest.mark.skipif(True, reason="user namespaces: not permitted")
def test_machine(): ...

@pytest.mark.xfail(reason="tshark is not installed")
def test_expected(): raise ValueError

def test_itself(): ...
"""


ALL_SKIPPED = "1 passed, 5 skipped, 1 xfailed"


@pytest.mark.parametrize(
    # What the test itself skips fails; what its marks skip is an error of its setup.
    ("setting", "outcome"),
    [("1", "2 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors"), ("0", ALL_SKIPPED), (None, ALL_SKIPPED)],
)
def test_a_skip_for_want_of_a_program_or_data_fails(setting: str | None, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "test_them.py").write_text(TESTS)
    environment = {name: value for name, value in os.environ.items() if name != REQUIRE_ALL}
    environment |= {"PYTHONPATH": str(REPOSITORY)} | ({REQUIRE_ALL: setting} if setting is not None else {})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(tmp_path), str(tmp_path)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.stdout.splitlines()[-1].startswith(outcome), ended.stdout + ended.stderr
    assert ended.returncode == (1 if setting == "1" else 0)
    assert (f"{REQUIRE_ALL} is set, but: Skipped: tshark is not installed" in ended.stdout) == (setting == "1")
