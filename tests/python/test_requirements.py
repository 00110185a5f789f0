"""Packages that setup installs: exact versions, and the hashes of their files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import REPOSITORY

LISTS = [REPOSITORY / "scripts" / name for name in ("requirements.txt", "requirements-dev.txt")]


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.name)
def test_every_package_is_of_one_version_and_has_hashes(file: Path) -> None:
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    packages = [line.split() for line in text.splitlines()]
    assert len(packages) > 10
    for name, *hashes in packages:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", name), name
        assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", each) for each in hashes), name


def test_setup_installs_nothing_without_its_hash() -> None:
    """And pip, which compares them, refuses a file that is another one."""
    for script in ("setup", "wheel-check"):
        installing = re.findall(r".*pip install .*-r .*", (REPOSITORY / "scripts" / script).read_text())
        assert installing and all("--require-hashes" in line for line in installing), script


def test_pip_refuses_another_file_of_the_same_name(tmp_path: Path) -> None:
    package = tmp_path / "nothing-1.0.tar.gz"
    package.write_bytes(b"not what was published")
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(f"nothing==1.0 --hash=sha256:{'0' * 64}\n")
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--find-links", str(tmp_path), "--require-hashes"]
    refused = subprocess.run([*pip, "--dry-run", "-r", str(wanted)], capture_output=True, text=True)
    assert refused.returncode != 0 and "DO NOT MATCH THE HASHES" in refused.stderr, refused.stderr
