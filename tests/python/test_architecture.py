"""The dependency rule of docs/design.md, compared with what the crates really depend on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"

DESIGN = Path(__file__).parents[2] / "docs" / "design.md"


def rules() -> dict[str, tuple[set[str], bool]]:
    """The table of docs/design.md: what each crate sees, and whether it is a world."""
    found = {}
    for line in DESIGN.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`\w+`", cells[0]) and cells[2] in {"", "yes"}:
            found[cells[0].strip("`")] = (set(re.findall(r"`(\w+)`", cells[1])), cells[2] == "yes")
    return found


ALLOWED = {crate: seen for crate, (seen, _) in rules().items()}

# Crates that may read clocks and open sockets; everything else is bound by clippy.toml.
WORLDS = {crate for crate, (_, is_world) in rules().items() if is_world}


def manifest(crate: str) -> dict[str, object]:
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text())


def own_dependencies(crate: str) -> set[str]:
    dependencies = manifest(crate).get("dependencies", {})
    assert isinstance(dependencies, dict)
    return {name.removeprefix("framewire-") for name in dependencies if name.startswith("framewire-")}


def test_every_crate_has_a_rule_and_a_line_in_the_list() -> None:
    crates = {path.parent.name for path in CRATES.glob("*/Cargo.toml")}
    assert crates == set(ALLOWED)
    listed = re.search(r"^crates/\n(?P<lines>(?:  .*\n)+)", DESIGN.read_text(), re.MULTILINE)
    assert listed
    assert crates == set(re.findall(r"^  (\w+)/", listed["lines"], re.MULTILINE))


def test_every_crate_depends_on_what_the_table_says_and_on_no_more() -> None:
    assert {crate: own_dependencies(crate) for crate in ALLOWED} == ALLOWED


def test_who_is_a_world_says_so_and_nobody_else() -> None:
    libraries = {crate: (CRATES / crate / "src" / "lib.rs").read_text() for crate in ALLOWED}
    assert {crate for crate, text in libraries.items() if "clippy::disallowed_methods" in text} == WORLDS


def test_every_library_warns_of_what_is_public_and_cannot_be_reached() -> None:
    libraries = {crate: (CRATES / crate / "src" / "lib.rs").read_text() for crate in ALLOWED}
    assert {crate for crate, text in libraries.items() if "#![warn(unreachable_pub)]" not in text} == set()


PUBLIC = re.compile(
    r"^ *pub (?:const |async |unsafe )*(?P<kind>fn|struct|enum|trait|type|const|static) (?P<name>\w+)", re.MULTILINE
)
SIGNATURES = re.compile(
    r"^ *pub (?:struct|enum|trait)[^{;]*\{.*?^ *\}|^ *(?:pub |impl|type )[^{;]*", re.MULTILINE | re.DOTALL
)
WHOLE = {"wire/src/message/status.rs": "status codes are one registry of IANA's, and each stands beside what it means"}
"""Files that may export more than is used, and why."""
PROGRAMS = {"emu", "fuzzing", "gst", "python"}
"""Nobody depends on them."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def without_tests(source: Path) -> str:
    """What a file has for others, without comments."""
    text = re.sub(r"//[^\n]*", "", source.read_text())
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def unused_exports(crate: str, used: dict[str, set[str]]) -> list[str]:
    """Public items that no other crate, test, benchmark, fuzzer or example names, and no public signature needs."""
    outside = set[str]().union(*(names for user, names in used.items() if user != crate))
    whole = {CRATES / name for name in WHOLE}
    sources = [path for path in sorted((CRATES / crate / "src").rglob("*.rs")) if "test" not in path.name]
    sources = [path for path in sources if path not in whole]
    texts = [without_tests(path) for path in sources]
    signatures = [name for text in texts for found in SIGNATURES.findall(text) for name in words(found)]
    items = [(found["kind"], found["name"]) for text in texts for found in PUBLIC.finditer(text)]
    return [name for kind, name in items if name not in outside and (kind == "fn" or signatures.count(name) <= 1)]


def test_every_crate_exports_what_others_use_and_no_more() -> None:
    root = CRATES.parent
    used = {
        crate: set[str]().union(*(words(path.read_text()) for path in (CRATES / crate / "src").rglob("*.rs")))
        for crate in ALLOWED
    }
    patterns = ("crates/*/tests/**/*.rs", "crates/*/benches/**/*.rs", "crates/*/examples/**/*.rs", "fuzz/**/*.rs")
    programs = [path for pattern in (*patterns, "benches/**/*.rs") for path in root.glob(pattern) if path.is_file()]
    documentation = [
        line for path in CRATES.glob("*/src/lib.rs") for line in path.read_text().splitlines() if "//!" in line
    ]
    used["others"] = words("\n".join([*documentation, *(path.read_text() for path in programs)]))
    unused = {crate: unused_exports(crate, used) for crate in set(ALLOWED) - PROGRAMS}
    assert {crate: names for crate, names in unused.items() if names} == {}
    some = unused_exports("link", {"others": used["others"]})
    assert "BottleneckQueue" not in some and len(some) > 5, "it would see what is exported for nobody"


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
