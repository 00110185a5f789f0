"""`make check` tests what a change can break, and not everything."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from conftest import REPOSITORY, script


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return script("check")


NEEDS = {"units": set[str](), "media": {"units"}, "link": {"units"}, "sim": {"link", "media"}}


@pytest.mark.parametrize(
    ("changed", "crates"),
    [
        ("crates/link/src/lib.rs", ["link", "sim"]),
        ("crates/sim/tests/snapshots/one.txt", ["sim"]),
        ("crates/units/src/lib.rs", ["link", "media", "sim", "units"]),
        ("Cargo.lock", ["link", "media", "sim", "units"]),
        ("crates/gone/src/lib.rs", []),
        ("python/framewire/run.py", []),
    ],
)
def test_crates_that_depend_on_what_changed_are_tested(check: ModuleType, changed: str, crates: list[str]) -> None:
    assert check.crates_to_test({Path(changed)}, NEEDS) == crates


TESTS = {
    Path("tests/python/test_report.py"): "from framewire.report import write\n",
    Path("tests/python/test_proof.py"): "import framewire.report.proof\n",
    Path("tests/python/test_run.py"): "from framewire import run\n",
    Path("tests/python/test_fake.py"): "import machine_load\n",
    Path("tests/python/test_manual.py"): 'DOCS = "docs"\n',
    Path("tests/python/test_demo.py"): 'SCENARIO = ROOT / "scenarios" / "demo.toml"\n',
}


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("python/framewire/report/proof.py", ["report", "proof"]),
        ("python/framewire/run.py", ["run"]),
        ("python/framewire/__init__.py", ["run"]),
        ("tests/python/machine_load.py", ["fake"]),
        ("tests/python/test_run.py", ["run"]),
        ("docs/links.md", ["manual"]),
        ("scenarios/demo.toml", ["demo"]),
        ("crates/link/src/lib.rs", []),
    ],
)
def test_tests_that_import_or_name_what_changed_are_run(check: ModuleType, changed: str, tests: list[str]) -> None:
    found = {name for name in check.python_to_test({Path(changed)}, TESTS) if name.startswith("tests/")}
    assert found == {f"tests/python/test_{name}.py" for name in tests}


def test_a_module_that_changed_shows_what_its_documentation_says(check: ModuleType) -> None:
    changed = {Path("python/framewire/stats.py"), Path("python/framewire/gone.py")}
    assert check.python_to_test(changed, {}) == ["python/framewire/stats.py"]


@pytest.mark.parametrize(
    ("crates", "python", "programs"),
    [
        ([], [], ["make"]),
        (["link"], [], ["make", "rust-tests"]),
        ([], ["tests/python/test_run.py"], ["make", "setup", "pytest"]),
        (["link"], ["tests/python/test_run.py"], ["make", "rust-tests", "setup", "pytest"]),
    ],
)
def test_the_native_module_is_built_only_for_tests_in_python(
    check: ModuleType, crates: list[str], python: list[str], programs: list[str]
) -> None:
    """To link it and the test programs of real time takes longer than most tests."""
    assert [Path(command[0]).name for command in check.steps(crates, set(crates), python)] == programs


def test_other_programs_are_asked_only_of_crates_that_changed_themselves(check: ModuleType) -> None:
    changed = {Path("crates/media/src/lib.rs")}
    crates = check.crates_to_test(changed, NEEDS)
    _, rust = check.steps(crates, check.crates_that_changed(changed, NEEDS), [])
    assert rust[-3:] == ["--not-compared=sim", "media", "sim"]
    of_tcp = check.steps(["sim", "tcp"], {"tcp"}, [])[1]
    assert not [word for word in of_tcp if "compared" in word], "simulations of the kernel's TCP compare that"
    assert "--not-compared=sim" in check.steps(["sim", "wire"], {"wire"}, [])[1]
    every = check.crates_that_changed({Path("Cargo.lock")}, NEEDS)
    assert not [word for word in check.steps(crates, every, [])[1] if "compared" in word]


def test_the_crates_of_this_repository_are_known(check: ModuleType) -> None:
    needs = check.dependencies()
    assert set(needs) == {path.parent.name for path in REPOSITORY.glob("crates/*/Cargo.toml")}
    assert check.crates_to_test({Path("crates/gst/src/lib.rs")}, needs) == ["gst"]
    assert {"sim", "emu", "python", "gst"} <= set(check.crates_to_test({Path("crates/units/src/lib.rs")}, needs))
