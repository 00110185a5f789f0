"""What scripts/licences takes for the text of a licence, and what a wheel has to hold."""

from __future__ import annotations

import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import REPOSITORY

NOTE = "Licensed under the Apache License, Version 2.0 or the MIT license, at your option. See LICENSE-MIT."


@pytest.fixture
def licences() -> ModuleType:
    loader = SourceFileLoader("licences", str(REPOSITORY / "scripts/licences"))
    spec = spec_from_loader("licences", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def crate(directory: Path, **files: str) -> dict[str, Any]:
    directory.mkdir()
    for name, text in files.items():
        (directory / name.replace("_", "-")).write_text(text)
    return {
        "name": directory.name, "version": "1.0.0", "license": "MIT OR Apache-2.0", "authors": ["A. Author"],
        "repository": None, "manifest_path": str(directory / "Cargo.toml"),
    }  # fmt: skip


def test_a_note_that_names_a_licence_is_none(licences: ModuleType) -> None:
    own = [(REPOSITORY / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")]
    assert all(map(licences.is_licence, own))
    assert licences.is_licence(b" * Redistribution and use in source\n * and binary forms, with or without")
    for text in (NOTE, "Copyright 2020 The Authors. All rights reserved.", ""):
        assert not licences.is_licence(text.encode())


def test_a_crate_with_nothing_but_a_note_gets_the_standard_text_beside_it(
    licences: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mit = (REPOSITORY / "LICENSE-MIT").read_text()
    packages = [
        crate(tmp_path / "noted", COPYRIGHT=NOTE),
        crate(tmp_path / "whole", LICENSE_MIT=mit, NOTICE="Of somebody."),
        crate(tmp_path / "bare"),
    ]
    monkeypatch.setattr(licences, "OUT", tmp_path / "third-party")
    monkeypatch.setattr(licences, "linked", lambda: packages)
    monkeypatch.setattr(licences, "collect_standard_library", lambda: None)
    licences.collect()
    there = {path.relative_to(tmp_path / "third-party").as_posix() for path in (tmp_path / "third-party").rglob("*.*")}
    files = {path for path in there if not (tmp_path / "third-party" / path).is_dir()}
    assert {name for name in files if name.endswith("LICENSE.standard")} == {
        "noted-1.0.0/LICENSE.standard", "bare-1.0.0/LICENSE.standard",
    }  # fmt: skip
    assert (tmp_path / "third-party/noted-1.0.0/COPYRIGHT").read_text() == NOTE
    standard = (tmp_path / "third-party/noted-1.0.0/LICENSE.standard").read_bytes()
    assert licences.is_licence(standard)
    assert b"A. Author" in standard


@pytest.mark.parametrize(("text", "code"), [(NOTE, 1), ("Permission is hereby granted, free of charge, ...", 0)])
def test_a_wheel_with_nothing_but_notes_is_refused(
    text: str, code: int, licences: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a.dist-info/licenses/third-party/noted-1.0.0/COPYRIGHT", text)
        archive.writestr(
            f"a.dist-info/licenses/third-party/{licences.STANDARD_LIBRARY}/LICENSE", "Permission is hereby granted"
        )
    monkeypatch.setattr(licences, "linked", lambda: [crate(tmp_path / "noted")])
    assert licences.check(wheel) == code
