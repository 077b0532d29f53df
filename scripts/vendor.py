"""Fetch the browser files of the dashboard: `python -m scripts.vendor`. For maintainers; needs Node's npm, koi itself does not.

Each package is packed by npm at the version below and checked against the integrity that vendor.lock.json knows (a new
version: that its registry states), then the files are copied unmodified, their version in their name.
"""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

DASHBOARD = Path(__file__).parents[1] / "dashboard"
VENDOR = DASHBOARD / "static" / "vendor"
LOCK = VENDOR / "vendor.lock.json"
LICENSES = DASHBOARD / "static" / "vendor" / "LICENSES"
NOTICES = Path(__file__).parents[1] / "THIRD_PARTY_NOTICES.md"


@dataclass(frozen=True, slots=True)
class Package:
    """What is taken of one package: path in it → name here."""

    name: str
    version: str
    license: str
    """SPDX."""
    files: Mapping[str, str]


PACKAGES = (
    Package(
        "htmx.org", "4.0.1", "0BSD",
        {"dist/htmx.min.js": "htmx-4.0.1.min.js", "dist/ext/hx-sse.min.js": "hx-sse-4.0.1.min.js"},
    ),
    Package(
        "uplot", "1.6.32", "MIT",
        {"dist/uPlot.iife.min.js": "uPlot-1.6.32.iife.min.js", "dist/uPlot.min.css": "uPlot-1.6.32.min.css"},
    ),
)  # fmt: skip


def main() -> None:
    """Replace static/vendor by what the packages hold.

    Raises: SystemExit: npm is not there, or a package is not what its integrity says.
    """
    npm = shutil.which("npm") or sys.exit("npm is not installed")
    known = integrities(json.loads(LOCK.read_text())) if LOCK.exists() else {}
    LICENSES.mkdir(parents=True, exist_ok=True)
    locked: list[dict[str, object]] = []
    for package in PACKAGES:
        tarball, stated = packed(npm, package)
        integrity = known.get((package.name, package.version), stated)
        if integrity_of(tarball) != integrity:
            sys.exit(f"{package.name}@{package.version} is not what its integrity says")
        locked.append(entry(package, integrity, unpack(package, tarball)))
    LOCK.write_text(json.dumps({"packages": locked}, indent=2) + "\n")
    NOTICES.write_text(notices())


def packed(npm: str, package: Package) -> tuple[bytes, str]:
    """The package's tarball, and the integrity that the registry states."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(  # noqa: S603 — fixed arguments
            [npm, "pack", "--json", f"{package.name}@{package.version}"],
            cwd=folder, check=True, capture_output=True, text=True,
        )  # fmt: skip
        (found,) = json.loads(said.stdout)
        return (Path(folder) / found["filename"]).read_bytes(), found["integrity"]


def integrity_of(tarball: bytes) -> str:
    """As npm writes it: "sha512-" and base64."""
    return "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()


def integrities(lock: Mapping[str, list[dict[str, str]]]) -> dict[tuple[str, str], str]:
    """(name, version) → integrity, of what was vendored before."""
    return {(one["name"], one["version"]): one["integrity"] for one in lock["packages"]}


def unpack(package: Package, tarball: bytes) -> dict[str, str]:
    """Write its files and its licence; file name → sha256."""
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for inside, name in {**package.files, "LICENSE": f"LICENSES/{package.name}.txt"}.items():
            source = archive.extractfile(f"package/{inside}")
            if source is None:
                sys.exit(f"{package.name}@{package.version} has no {inside}")
            (VENDOR / name).write_bytes(source.read())
    names = (*package.files.values(), f"LICENSES/{package.name}.txt")
    return {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in names}


def entry(package: Package, integrity: str, sha256: Mapping[str, str]) -> dict[str, object]:
    """The package's place in the lock."""
    return {**asdict(package), "integrity": integrity, "sha256": dict(sha256)}


def notices() -> str:
    """THIRD_PARTY_NOTICES.md."""
    parts = ["# Third-party notices\n\nThe dashboard serves these files, unmodified (`scripts/vendor.py`).\n"]
    for package in PACKAGES:
        text = (LICENSES / f"{package.name}.txt").read_text("utf-8").strip()
        files = ", ".join(f"`{name}`" for name in package.files.values())
        parts.append(
            f"## {package.name} {package.version} ({package.license})\n\n{files}\n\n```\n{text}\n```\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    main()
