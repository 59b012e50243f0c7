"""Workflows, templates, the citation and the conda recipe agree with the project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from release.packages import ROOT
from release.pythons import supported

GITHUB = ROOT / ".github"
FILES = [*GITHUB.rglob("*.yml"), ROOT / "CITATION.cff"]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
VERSION = re.findall(r'^version = "(.*)"$', PROJECT, re.M)[0]


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def _workflow(name: str) -> Any:
    return _read(GITHUB / "workflows" / name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_yaml(path: Path) -> None:
    assert isinstance(_read(path), dict)


def test_every_supported_python_is_tested_by_every_target() -> None:
    matrix = _workflow("ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix == {"python-version": supported(), "target": ["test", "test-slow"]}


def test_what_a_workflow_makes_is_a_target() -> None:
    text = "".join(path.read_text("utf-8") for path in (GITHUB / "workflows").iterdir())
    made = set(re.findall(r"run: make ([a-z-]+)$", text, re.M))
    assert made == {"check", "dist"}  # and those of the matrix
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert made | {"test", "test-slow"} <= set(targets)


def test_only_publishing_may_do_more_than_read() -> None:
    for path in (GITHUB / "workflows").iterdir():
        workflow = _read(path)
        assert workflow["permissions"] == {"contents": "read"}
        more = {name for name, job in workflow["jobs"].items() if "permissions" in job}
        assert more == ({"publish"} if path.name == "release.yml" else set())
    publish = _workflow("release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"
    assert not any("run" in step for step in publish["steps"])


def test_every_action_is_pinned_to_a_major_version() -> None:
    for path in (GITHUB / "workflows").iterdir():
        for job in _read(path)["jobs"].values():
            for step in job["steps"]:
                assert re.search(r"@(v\d+|release/v1)$", step.get("uses", "@v1"))


def test_the_tag_that_is_published_is_compared_with_the_version() -> None:
    steps = _workflow("release.yml")["jobs"]["build"]["steps"]
    (command,) = (step["run"] for step in steps if "TAG" in step.get("env", {}))
    pattern = re.findall(r"s/(.*)/\\1/p", command)[0].replace(r"\(", "(").replace(r"\)", ")")
    assert re.findall(pattern, PROJECT, re.M) == [VERSION]


def test_every_template_asks_for_a_program_a_command_and_versions() -> None:
    templates = [
        path for path in (GITHUB / "ISSUE_TEMPLATE").iterdir() if "config" not in path.name
    ]
    assert {path.stem for path in templates} == {"crash", "false-alarm", "missed-fault"}
    for path in templates:
        required = {
            field["id"]
            for field in _read(path)["body"]
            if field.get("validations", {}).get("required")
        }
        assert {"program", "command", "output", "versions"} <= required


def test_the_citation_is_of_this_version() -> None:
    citation = _read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert (str(citation["version"]), citation["license"]) == (VERSION, "Apache-2.0")


def test_the_recipe_needs_what_the_package_needs() -> None:
    text = (ROOT / "release" / "conda" / "meta.yaml").read_text("utf-8")
    recipe = yaml.safe_load(jinja2.Template(text).render(python_min="3.10", PYTHON="python"))
    assert recipe["package"] == {"name": "gradledger", "version": VERSION}
    assert recipe["build"]["noarch"] == "python"
    listed = re.findall(r"^dependencies = \[(.*?)^\]", PROJECT, re.M | re.S)[0]
    needed = {item.partition(";")[0] for item in re.findall(r'"([^"]+)"', listed)}
    run = {item.replace(" ", "") for item in recipe["requirements"]["run"]}
    assert run == {*needed, "python>=3.10"}
    assert recipe["build"]["entry_points"] == ["gradledger = gradledger.cli:start"]
    assert 'gradledger = "gradledger.cli:start"' in PROJECT
