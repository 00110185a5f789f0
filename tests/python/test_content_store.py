"""What is kept is whole, made once, and never what another recipe would make."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from framewire.content_store import ContentStore, are_whole, existing, key, replacing


def test_a_thing_is_made_once_and_found_again(tmp_path: Path) -> None:
    store, made = ContentStore(tmp_path / "deep" / "store"), []

    def make(scratch: Path) -> Path:
        made.append(scratch)
        (scratch / "thing").write_text("whole")
        return scratch / "thing"

    threads = [Thread(target=store.keep, args=("thing.txt", existing, make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.keep("thing.txt", existing, make).read_text() == "whole"
    assert len(made) == 1, "others wait for who makes it"
    assert {path.name for path in store.directory.iterdir()} == {"thing.txt", "thing.lock"}


def test_what_is_not_whole_is_made_anew_and_what_a_killed_one_left_goes(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    (tmp_path / "ladder").mkdir()
    (tmp_path / "ladder" / "level").write_text("cut o")
    (tmp_path / ".ladder-killed").mkdir()

    def find(place: Path) -> Path | None:
        return place if are_whole(place, {"level": 7}) else None

    def make(scratch: Path) -> Path:
        (scratch / "kept").mkdir()
        (scratch / "kept" / "level").write_text("cut off")
        return scratch / "kept"

    assert (store.keep("ladder", find, make) / "level").read_text() == "cut off"
    assert {path.name for path in tmp_path.iterdir()} == {"ladder", "ladder.lock"}
    assert not are_whole(tmp_path / "none", {"level": 7})


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(scratch: Path) -> Path:
        (scratch / "half").touch()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ContentStore(tmp_path).keep("thing", existing, fail)
    assert {path.name for path in tmp_path.iterdir()} == {"thing.lock"}
    (tmp_path / "page").write_text("before")
    with pytest.raises(ValueError, match="no"), replacing(tmp_path / "page") as part:
        part.write_text("half")
        raise ValueError("no")
    assert (tmp_path / "page").read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"page", "thing.lock"}


def test_keys_tell_recipes_apart() -> None:
    assert key({"bitrate": 6_000_000}) != key({"bitrate": 6_000_001})
    assert len(key([], 12)) == 12


def test_it_says_so_where_another_process_makes_the_same(tmp_path: Path) -> None:
    store, said = ContentStore(tmp_path), []

    def make(scratch: Path) -> Path:
        (scratch / "thing").touch()
        return scratch / "thing"

    with store.held("thing"):
        other = Thread(target=store.keep, args=("thing", existing, make, lambda *told: said.append(told)))
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert said == [("waiting for another process, which makes thing", 0.0)]
    other.join()
    assert store.keep("thing", existing, make, lambda *told: said.append(told)).is_file()
    assert len(said) == 1, "who need not wait says nothing"
