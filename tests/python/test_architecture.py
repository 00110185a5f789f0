"""The dependency rule of docs/design.md, compared with what the crates really depend on."""

from __future__ import annotations

import tomllib
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"

# Who may call whom (docs/design.md, section 3). A crate that is not named here must be added with its rule.
ALLOWED: dict[str, set[str]] = {
    "units": set(),
    "scenario": {"units", "link", "transport", "adaptive"},
    "media": {"units"},
    "wire": {"units"},
    "link": {"units"},
    "recording": {"units", "media"},
    "transport": {"units", "media", "wire"},
    "adaptive": {"units", "media", "wire"},
    "session": {"units", "scenario", "media", "wire", "transport", "adaptive", "recording"},
    "tcp": {"units"},
    "world": {"units", "scenario", "media", "transport", "link", "recording", "session"},
    "sim": {"units", "scenario", "media", "transport", "adaptive", "link", "tcp", "recording", "session", "world"},
    "sockets": {"units", "transport"},
    "endpoint": {"units", "media", "wire", "transport", "adaptive", "sockets"},
    "emu": {
        *("units", "scenario", "media", "wire", "transport", "adaptive", "link", "recording", "session", "world"),
        *("sockets", "endpoint"),
    },
    "fuzzing": {"units", "scenario", "media", "wire", "adaptive", "link", "session", "emu"},
    "gst": {"units", "media", "wire", "transport", "adaptive", "sockets", "endpoint"},
    "python": {"units", "scenario", "media", "wire", "adaptive", "recording", "sim", "endpoint"},
}

# Crates that may read clocks and open sockets; everything else is bound by clippy.toml.
WORLDS = {"sockets", "endpoint", "emu", "gst", "python"}


def manifest(crate: str) -> dict[str, object]:
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text())


def own_dependencies(crate: str) -> set[str]:
    dependencies = manifest(crate).get("dependencies", {})
    assert isinstance(dependencies, dict)
    return {name.removeprefix("framewire-") for name in dependencies if name.startswith("framewire-")}


def test_every_crate_has_a_rule() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(ALLOWED)


def test_no_crate_calls_past_the_rule() -> None:
    for crate, allowed in ALLOWED.items():
        excess = own_dependencies(crate) - allowed
        assert not excess, f"crates/{crate} may not depend on {sorted(excess)}"


def test_no_crate_below_the_worlds_reaches_the_kernel_or_the_dice() -> None:
    for crate in set(ALLOWED) - WORLDS:
        dependencies = manifest(crate).get("dependencies", {})
        assert isinstance(dependencies, dict)
        reached = {"libc", "nix", "rustix", "rand", "getrandom", "tokio"} & set(dependencies)
        assert not reached, f"crates/{crate} may not depend on {sorted(reached)}"


def test_no_crate_below_the_worlds_escapes_the_lints() -> None:
    for crate in set(ALLOWED) - WORLDS:
        assert manifest(crate).get("lints") == {"workspace": True}, (
            f"crates/{crate} does not take the workspace's lints"
        )
        for source in (CRATES / crate / "src").rglob("*.rs"):
            text = source.read_text()
            for lint in ("disallowed_methods", "disallowed_types"):
                assert lint not in text, f"{source} switches off {lint}"


def test_every_file_of_tests_belongs_to_a_program() -> None:
    """Where a crate names its test programs, a file that none of them has would be silently left out."""
    for crate in ALLOWED:
        package = manifest(crate).get("package", {})
        assert isinstance(package, dict)
        if package.get("autotests", True):
            continue
        programs = manifest(crate).get("test", [])
        assert isinstance(programs, list)
        roots = [CRATES / crate / program["path"] for program in programs]
        modules = {line[4:-1] for root in roots for line in root.read_text().splitlines() if line.startswith("mod ")}
        for file in (CRATES / crate / "tests").glob("*.rs"):
            assert file in roots or file.stem in modules, f"{file} is in none of {[root.name for root in roots]}"
