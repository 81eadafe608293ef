"""The licences that go into the wheel: those of what is linked into its binaries, each text once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import licences


def package(folder: Path, name: str, *, is_ours: bool = False, kind: str = "lib") -> dict[str, Any]:
    (folder / name).mkdir()
    (folder / name / "LICENSE-MIT").write_text("MIT text\n", encoding="utf-8")
    return {
        "id": name,
        "name": name,
        "version": "1.0",
        "license": "MIT",
        "authors": [],
        "source": None if is_ours else "registry",
        "manifest_path": str(folder / name / "Cargo.toml"),
        "targets": [{"kind": [kind]}],
    }


def need(name: str, kind: str | None = None) -> dict[str, Any]:
    return {"pkg": name, "dep_kinds": [{"kind": kind}]}


def test_licences_name_linked_crates_but_no_build_or_dev_crates(tmp_path: Path) -> None:
    packages = [
        package(tmp_path, "aqmlab-py", is_ours=True),
        package(tmp_path, "linked"),
        package(tmp_path, "below"),
        package(tmp_path, "derive", kind="proc-macro"),
        package(tmp_path, "of-derive"),
        package(tmp_path, "test-only"),
    ]
    needs = {
        "aqmlab-py": [need("linked"), need("derive"), need("test-only", "dev")],
        "linked": [need("below")],
        "derive": [need("of-derive")],
    }
    nodes = [{"id": crate["id"], "deps": needs.get(crate["id"], [])} for crate in packages]
    bundled = licences.bundled({"packages": packages, "resolve": {"nodes": nodes}})
    assert [crate["name"] for crate in bundled] == ["below", "linked"]
    assert [text for crate in bundled for text in licences.texts(crate)] == ["MIT text", "MIT text"]
