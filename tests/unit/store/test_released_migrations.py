"""Released migrations stay as they are, and new ones come after them: a data directory of the release takes no other.

`migrations/released.sha256` records the release. At a release: `cd migrations && sha256sum *.sql > released.sha256`.
"""

from __future__ import annotations

from pathlib import Path

import migrations
from store.db.migration_files import read_folder

FOLDER = Path(migrations.__file__).parent


def against_release(folder: Path, record: str) -> list[str]:
    """Return what a data directory of the recorded release would refuse, a line each."""
    released = {name.removesuffix(".sql"): checksum for checksum, name in map(str.split, record.splitlines())}
    files = {file.name: file for file in read_folder(folder)}
    newest = max(int(name[:4]) for name in released)
    changed = [
        f"{name} is released and was changed"
        for name in files
        if files[name].checksum != released.get(name, files[name].checksum)
    ]
    missing = [f"{name} is released and is gone" for name in released if name not in files]
    early = [
        f"{name} is new: number it above {newest:04}"
        for name, file in files.items()
        if name not in released and file.version <= newest
    ]
    return [*changed, *missing, *early]


def test_released_migrations_are_unchanged_and_new_ones_are_numbered_above() -> None:
    assert against_release(FOLDER, (FOLDER / "released.sha256").read_text()) == []


def test_changed_missing_and_early_migrations_are_reported(tmp_path: Path) -> None:
    (tmp_path / "0001_ground.sql").write_text("SELECT 1")
    (tmp_path / "0003_between.sql").write_text("SELECT 3")
    (tmp_path / "0006_later.sql").write_text("SELECT 6")
    record = f"{'0' * 64}  0001_ground.sql\n{'0' * 64}  0005_gone.sql\n"
    assert against_release(tmp_path, record) == [
        "0001_ground is released and was changed",
        "0005_gone is released and is gone",
        "0003_between is new: number it above 0005",
    ]
