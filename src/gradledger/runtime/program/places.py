"""Where the user's program is: the first line of the call in its innermost frame."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

import torch

from gradledger.ledger.places import Place
from gradledger.runtime.program.installed_libraries import LibraryLines
from gradledger.runtime.program.notebook_cells import shown_path
from gradledger.runtime.program.source_files import End, Source
from gradledger.runtime.program.variables import variables

_OURS = str(Path(__file__).absolute().parents[2])
_LIBRARIES = tuple(
    {
        os.path.join(os.path.realpath(path), "")
        for path in (
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            os.path.dirname(torch.__file__),
            _OURS,
        )
    }
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Spot(NamedTuple):
    """An instruction of the user's code: its place, and where its expression ends."""

    place: Place
    end: End


class Places:
    """Tells the user's code from libraries, and finds one's place in it."""

    def __init__(self, main: str | None = None) -> None:
        self.last = Place(main or "<unknown>", 1)
        """Where the program was last seen."""
        self._places: dict[Place, Place] = {}
        """Equal places are one object, for ever: who has one may go by its identity."""
        self._main = main
        self._users: dict[str, bool] = {}
        self._sources: dict[str, Source] = {}
        self._named: dict[str, str] = {}
        """For files of code, the paths under which places in them are told."""
        # By identity: Python hashes a code object anew each time, all of its bytecode.
        self.user_code: dict[int, bool] = {}
        """For code that was met: did the user write it?"""
        self.spots: dict[tuple[int, int], Spot] = {}
        """Of the user's code alone, by code and instruction."""
        self._codes: list[CodeType] = []
        """Kept alive, so that no other code is ever taken for one of them."""
        self.met: list[str] = []
        """The user's files, in the order in which they were met."""
        self._libraries = LibraryLines()

    # Whose code

    def is_users(self, code: CodeType) -> bool:
        """Did the user write this?"""
        known = self.user_code.get(id(code))
        if known is None:
            known = self.user_code[id(code)] = self.is_users_file(code.co_filename)
            self._codes.append(code)
        return known

    def is_users_file(self, path: str) -> bool:
        """Is it neither Python's, nor torch's, nor installed, nor ours?"""
        known = self._users.get(path)
        if known is None:
            known = self._users[path] = self._judge(path)
            if known:
                self.met.append(path)
        return known

    def _judge(self, path: str) -> bool:
        if path == self._main:
            return True
        if path.startswith("<"):
            # A cell of a notebook has its text in the cache; what `exec` made up has none.
            return bool(linecache.getlines(path))
        real, package, is_library = _home(path)
        if self._main is None:
            return not is_library
        main, mains_package, _ = _home(self._main)
        if package and package == mains_package:
            # The command of an installed program: its own package is what is audited.
            return not real.startswith(_OURS)
        return real == main or not is_library

    # Finding one's place

    def here(self, frame: FrameType | None = None, *, outside: object = None) -> Place:
        """The call in the innermost frame of the user's; the last one, if none is running.

        A call that a library makes on its own account stands in the library's line, `via` that of
        the user. Frames of `outside.__init__` are passed over: an object is made where its class is
        called.
        """
        if frame is None:
            frame = sys._getframe(1)
        spot = self.spots.get((id(frame.f_code), frame.f_lasti))
        if spot is None or outside is not None:
            users = self.running(frame, outside=outside)
            if users is None:
                return self.last
            place = self.spot(users).place
            if users is not frame and (line := self._library_line(frame, users, outside)):
                place = self._libraries.led_to(line, place)
        else:
            place = spot.place
        self.last = place
        return place

    def _library_line(
        self, frame: FrameType | None, users: FrameType, outside: object
    ) -> Place | None:
        """The innermost line of a library, from this frame to the user's, that is to be told."""
        while frame is not users and frame is not None:
            line = self._libraries.line(frame.f_code, frame.f_lasti, frame.f_lineno)
            if line is not None and not (outside is not None and _initialises(frame, outside)):
                return line
            frame = frame.f_back
        return None

    def running(self, frame: FrameType | None, *, outside: object = None) -> FrameType | None:
        """The innermost frame of the user's, from this one outwards."""
        known = self.user_code
        while frame is not None:
            users = known.get(id(frame.f_code))
            if users is None:
                users = self.is_users(frame.f_code)
            if users and not (outside is not None and _initialises(frame, outside)):
                return frame
            frame = frame.f_back
        return None

    def frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """All frames of the user's, the innermost first."""
        while (frame := self.running(frame)) is not None:
            yield frame
            frame = frame.f_back

    def spot(self, frame: FrameType) -> Spot:
        """Where this frame of the user's is."""
        code, instruction = frame.f_code, frame.f_lasti
        known = self.spots.get((id(code), instruction))
        if known is None:
            self.is_users(code)
            known = self._find(code, instruction, frame.f_lineno)
            self.spots[id(code), instruction] = known
        return known

    def in_traceback(self, traceback: TracebackType | None) -> Place | None:
        """The innermost call of the user's that an exception came through."""
        place = None
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self.is_users(code):
                place = self._find(code, traceback.tb_lasti, traceback.tb_lineno).place
            traceback = traceback.tb_next
        return place

    def end_at_users_line(self, traceback: TracebackType | None) -> None:
        """Cut what lies below the program's innermost frame: libraries, and what we put round."""
        last = None
        while traceback is not None:
            if self.is_users(traceback.tb_frame.f_code):
                last = traceback
            traceback = traceback.tb_next
        if last is not None:
            last.tb_next = None

    def source(self, path: str) -> Source:
        """The text of a file, as it was when it was first asked for."""
        path = self.named(path)
        known = self._sources.get(path)
        if known is None:
            known = self._sources[path] = Source(path)
        return known

    def named(self, path: str) -> str:
        """The path under which a place in this file is told: that of a cell has its number."""
        known = self._named.get(path)
        if known is None:
            known = self._named[path] = shown_path(path)
            if known != path:
                self._named[known] = known
                source = self._sources.setdefault(known, Source(known, file=path))
                # For who shows a place later, without this audit.
                linecache.cache[known] = len(source.text), None, source.lines, known
        return known

    def _find(self, code: CodeType, instruction: int, line: int) -> Spot:
        end: End = (None, None)
        column = 0
        if sys.version_info >= (3, 11):
            positions = list(code.co_positions())[instruction // 2]
            start, last, start_column, end_column = positions
            end, line = (last, end_column), start or line
            column = start_column or 0
            call = self.source(code.co_filename).calls.get(end)
            # A loop ends where the last call in its body ends, and starts before it.
            if call is not None and call.lineno <= line:
                line, column = call.lineno, call.col_offset
        place = Place(self.named(code.co_filename), line, column)
        return Spot(self._places.setdefault(place, place), end)


@lru_cache(maxsize=10_000)
def _home(path: str) -> tuple[str, str | None, bool]:
    """A file's real path, the installed package it belongs to, and is it a library's at all?"""
    # Links are followed only where the path itself does not tell: that asks the disk.
    for spell in (str, os.path.realpath):
        spelled = spell(path)
        for part in _INSTALLED:
            before, found, behind = spelled.partition(part)
            if found:
                return spelled, before + found + behind.partition(os.sep)[0], True
        if spelled.startswith(_LIBRARIES):
            return spelled, None, True
    return spelled, None, False


def _initialises(frame: FrameType, owner: object) -> bool:
    return frame.f_code.co_name == "__init__" and any(
        value is owner for value in variables(frame).values()
    )
