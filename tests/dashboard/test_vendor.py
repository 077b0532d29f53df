"""What others wrote is served unmodified, and nothing comes from elsewhere."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from scripts.vendor import LICENSES, LOCK, NOTICES, PACKAGES, VENDOR, integrities, integrity_of, notices

DASHBOARD = Path(__file__).parents[2] / "dashboard"
LOCKED: list[dict[str, Any]] = json.loads(LOCK.read_text())["packages"]
FIRST_SCREEN_BYTES = 150_000


@pytest.mark.parametrize("package", LOCKED, ids=lambda package: package["name"])
def test_vendored_files_are_those_that_were_locked(package: dict[str, Any]) -> None:
    found = {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in package["sha256"]}

    assert found == package["sha256"]


def test_every_vendored_file_is_locked() -> None:
    there = {str(file.relative_to(VENDOR)) for file in VENDOR.rglob("*") if file.is_file() and file != LOCK}

    assert there == {name for package in LOCKED for name in package["sha256"]}


def test_the_lock_is_of_the_versions_that_the_script_names() -> None:
    locked = [(one["name"], one["version"], one["license"], one["files"]) for one in LOCKED]

    assert locked == [(one.name, one.version, one.license, dict(one.files)) for one in PACKAGES]
    assert all(one["integrity"].startswith("sha512-") for one in LOCKED)
    assert integrities(json.loads(LOCK.read_text())).keys() == {(one.name, one.version) for one in PACKAGES}


def test_the_integrity_is_that_of_npm() -> None:
    assert integrity_of(b"koi") == (
        "sha512-" + "4RGVOKaTF18ffCup1auHRm+PQBiCwwEQc8q6Dife1Mynl+XWcKSw3SNP1offgsdorCaWBo7cE6FA4Z0Y144ulQ=="
    )


def test_licences_are_there_in_full() -> None:
    assert NOTICES.read_text("utf-8") == notices()
    for package in PACKAGES:
        assert "WARRANT" in (LICENSES / f"{package.name}.txt").read_text("utf-8")


ELSEWHERE = re.compile(
    r"""(?:src|srcset|href|action|hx-\w+)\s*=\s*["']\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import"""
)
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)(?![^>]*application/json)|\son[a-z]+=|hx-on|javascript:|<style", re.IGNORECASE
)


@pytest.mark.parametrize("file", sorted((DASHBOARD / "templates").glob("*.html")), ids=lambda file: file.name)
def test_templates_load_nothing_from_elsewhere_and_hold_no_script(file: Path) -> None:
    text = file.read_text("utf-8")

    assert not ELSEWHERE.search(text)
    assert not INLINE.search(text)


def test_our_style_and_script_load_nothing_from_elsewhere() -> None:
    for name in ("koi.css", "koi.js"):
        text = (DASHBOARD / "static" / name).read_text("utf-8")
        assert not ELSEWHERE.search(text)
        assert not re.search(r"\beval\(|new Function|fetch\(|XMLHttpRequest", text)


def test_what_every_page_loads_leaves_room_for_the_page() -> None:
    base = (DASHBOARD / "templates" / "base.html").read_text("utf-8")
    loaded = re.findall(r"static\('([^']+)'\)", base)
    size = sum((DASHBOARD / "static" / name).stat().st_size for name in loaded)

    assert len(loaded) == 7  # all that base.html names
    assert size <= FIRST_SCREEN_BYTES - 25_000
