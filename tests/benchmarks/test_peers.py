"""Peers that are there, and those that can't be had."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peers import PEERS, RUFF, Absent, Peer

NOBODY = Peer("Nobody", "no-such-package-of-ours==1.0")


def test_every_peer_has_a_version_here_or_in_the_constraints() -> None:
    pinned = peers.CONSTRAINTS.read_text(encoding="utf-8")
    for peer in PEERS:
        assert "==" in peer.requirement or f"\n{peer.package}==" in pinned, peer.name


def test_peers_share_no_name_and_none_has_the_environment_of_another() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    alone = [peer.environment for peer in PEERS if peer.stands_alone]
    assert len(set(alone)) == len(alone)


def test_a_peer_that_is_there_is_seen_with_its_version() -> None:
    assert RUFF.version == metadata.version("ruff")
    assert RUFF.why_not() == ""
    assert RUFF.command("ruff").exists()


def test_a_peer_that_is_not_there_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "REASONS", tmp_path / "none.json")
    assert NOBODY.version is None
    assert NOBODY.why_not() == "not installed; make bench does that"
    with pytest.raises(Absent, match="make bench"):
        NOBODY.command("nobody")


def test_one_that_fails_does_not_stop_the_next_and_its_reason_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def install(peer: Peer) -> None:
        tried.append(peer)
        if peer is NOBODY:
            raise Absent("can't be installed: there is no such package")

    monkeypatch.setattr(peers, "REASONS", tmp_path / "reasons.json")
    monkeypatch.setattr(peers, "PEERS", (NOBODY, RUFF))
    monkeypatch.setattr(peers, "install", install)
    assert peers.main() == 0
    assert tried == [NOBODY, RUFF]
    assert NOBODY.why_not() == "can't be installed: there is no such package"
    assert RUFF.why_not() == ""
    assert "no such package" in capsys.readouterr().out


def test_a_reason_is_forgotten_once_the_peer_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = tmp_path / "reasons.json"
    reasons.write_text(json.dumps({"ruff": "can't be installed: yesterday"}), encoding="utf-8")
    monkeypatch.setattr(peers, "REASONS", reasons)
    assert RUFF.why_not() == ""


def test_pip_s_first_error_is_the_reason() -> None:
    said = "  WARNING: old\nERROR: Could not find a version\nERROR: No matching distribution\n"
    assert peers._reason(said) == "Could not find a version"
    assert peers._reason("") == "without a word"


def test_what_needs_an_older_python_than_any_is_absent() -> None:
    with pytest.raises(Absent, match=r"needs Python 3\.6 or older"):
        peers._interpreter((3, 6))


def test_what_works_with_any_python_gets_this_one() -> None:
    assert peers._interpreter(None) == sys.executable
