"""Whichever way a program imports torch, the auditor is there before the program uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.command_line import fresh

DRIVER = Path(__file__).parent / "launch_driver.py"

TORCH = {
    "torch/__init__.py": "import torch.nn\nfrom torch import optim\nused = 'torch is used'",
    "torch/nn/__init__.py": "",
    "torch/optim.py": "",
    "other.py": "",
}
"""What looks like it to Python, and is loaded at once."""

WAYS = {
    "a statement": "import torch",
    "by a submodule": "import torch.nn",
    "from a submodule": "from torch.nn import __name__\nimport torch",
    "import_module": "import importlib\ntorch = importlib.import_module('torch')",
    "import_module of a submodule": """
        import importlib
        importlib.import_module("torch.optim")
        import torch
    """,
    "__import__": "torch = __import__('torch')",
    "asked for before": """
        import importlib.util
        assert importlib.util.find_spec("torch") is not None
        import torch
    """,
    "asked for by many before": """
        import importlib.util
        for _ in range(5):
            importlib.util.find_spec("torch")
            importlib.util.find_spec("torch").loader.get_code("torch")
        import torch
    """,
    "a spec that was kept": """
        import importlib.util, sys
        spec = importlib.util.find_spec("torch")
        importlib.util.find_spec("torch")
        torch = importlib.util.module_from_spec(spec)
        sys.modules["torch"] = torch
        spec.loader.exec_module(torch)
    """,
    "a spec of Python's own finder": """
        import sys
        from importlib.machinery import PathFinder
        from importlib.util import module_from_spec
        spec = PathFinder.find_spec("torch", sys.path)
        torch = sys.modules["torch"] = module_from_spec(spec)
        spec.loader.exec_module(torch)
    """,
    "a loader by its path": """
        import importlib.util, sys
        spec = importlib.util.spec_from_file_location("torch", "torch/__init__.py")
        torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(torch)
    """,
    "load_module": """
        import warnings
        warnings.simplefilter("ignore")
        from importlib.machinery import SourceFileLoader
        torch = SourceFileLoader("torch", "torch/__init__.py").load_module()
    """,
    "the method of the class": """
        import importlib.util, sys
        from importlib.machinery import SourceFileLoader
        spec = importlib.util.find_spec("torch")
        torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
        SourceFileLoader.exec_module(spec.loader, torch)
    """,
    "lazily": """
        import importlib.util, sys
        spec = importlib.util.find_spec("torch")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(torch)
        import other
        print("not loaded yet", "used" in object.__getattribute__(torch, "__dict__"))
    """,
    "reloaded": """
        import importlib, torch
        importlib.reload(torch)
        importlib.reload(torch)
    """,
    "forgotten and imported again": """
        import sys, torch
        del sys.modules["torch"]
        import torch
    """,
    "another finder in front": """
        import sys
        from importlib.machinery import PathFinder
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                return PathFinder.find_spec(name, path, target)
        sys.meta_path.insert(0, Finder)
        import torch
    """,
    "a loader that loads by super": """
        import sys
        from importlib.machinery import PathFinder, SourceFileLoader
        class Loader(SourceFileLoader):
            def exec_module(self, module):
                super().exec_module(module)
                module.mark = "loaded by another loader"
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                spec = PathFinder.find_spec(name, path, target)
                if name == "torch":
                    spec.loader = Loader(spec.loader.name, spec.loader.path)
                return spec
        sys.meta_path.insert(0, Finder)
        import torch
        print(torch.mark)
    """,
    "a loader round Python's": """
        import sys
        from importlib.machinery import PathFinder
        class Loader:
            def __init__(self, inner):
                self.inner = inner
            def create_module(self, spec):
                return self.inner.create_module(spec)
            def exec_module(self, module):
                self.inner.exec_module(module)
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                spec = PathFinder.find_spec(name, path, target)
                if spec is not None:
                    spec.loader = Loader(spec.loader)
                return spec
        sys.meta_path.insert(0, Finder)
        import torch
    """,
    "other finders": """
        import sys
        from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
        sys.meta_path = [PathFinder, BuiltinImporter, FrozenImporter]
        sys.path_importer_cache.clear()
        import torch
    """,
    "finders in another order": """
        import sys
        sys.meta_path.reverse()
        import torch
    """,
    "a thread": """
        import threading
        def work():
            import torch
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        import torch
    """,
    "many threads": """
        import threading
        def work():
            import torch
            torch.used
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import torch
    """,
    "runpy of a module of its own": """
        import runpy
        runpy.run_module("torch.optim")
        import torch
    """,
    "runpy of a script": """
        import runpy
        torch = runpy.run_path("imports.py")["torch"]
    """,
    "at the second try": """
        import os
        os.environ["BROKEN"] = "1"
        for _ in range(2):
            try:
                import torch
            except OSError:
                print("not yet")
        del os.environ["BROKEN"]
        import torch
    """,
    "where it was not at first": """
        import sys
        path, sys.path[:] = sys.path[:], []
        try:
            import torch
        except ImportError:
            print("no torch")
        sys.path[:] = path
        import torch
    """,
}


def lay_out(folder: Path, way: str) -> None:
    """A program that imports what it takes for torch in this way, and then uses it."""
    for name, text in TORCH.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    failing = "import os\nif 'BROKEN' in os.environ:\n    raise OSError('broken')\n"
    start = folder / "torch" / "__init__.py"
    start.write_text(failing + start.read_text())
    (folder / "imports.py").write_text("import torch\n")
    told = "import sys\nsys.stderr.write(torch.used + '\\n')\nsys.stderr.flush()\n"
    (folder / "program.py").write_text(unindented(way) + told)


def unindented(text: str) -> str:
    lines = text.strip("\n").rstrip().split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "".join(f"{line[margin:]}\n" for line in lines)


def run(*words: str, at: Path, **environment: str) -> tuple[int, str, list[str]]:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONUNBUFFERED")}
    done = subprocess.run(
        [sys.executable, *words], cwd=at, env=kept | environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("way", WAYS)
def test_the_auditor_is_there_before_torch_is_used(way: str, tmp_path: Path) -> None:
    lay_out(tmp_path, WAYS[way])
    plain, ours = run("program.py", at=tmp_path), run(str(DRIVER), "program.py", at=tmp_path)
    told = [line for line in ours[2] if line.startswith("VERDICT") or line == "torch is used"]
    assert told == ["VERDICT: torch is there", "torch is used", "VERDICT: passed"]
    assert (*ours[:2], [line for line in ours[2] if not line.startswith("VERDICT")]) == plain


BY_ITSELF = """
    import sys
    class Loader:
        def create_module(self, spec):
            return None
        def exec_module(self, module):
            with open("torch/__init__.py") as file:
                exec(compile(file.read(), "torch/__init__.py", "exec"), vars(module))
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "torch":
                from importlib.util import spec_from_loader
                spec = spec_from_loader(name, Loader(), is_package=True)
                spec.submodule_search_locations.append("torch")
                return spec
    sys.meta_path.insert(0, Finder)
    import torch
"""
"""A loader that has nothing of Python's own."""


@pytest.mark.parametrize(
    ("more", "said"),
    [("", "passed"), ("import other\n", "torch was there already"), ("import torch.optim\n", "")],
)
def test_one_that_came_in_unnoticed_is_noticed_when_another_comes(
    more: str, said: str, tmp_path: Path
) -> None:
    lay_out(tmp_path, unindented(BY_ITSELF) + more)
    plain, ours = run("program.py", at=tmp_path), run(str(DRIVER), "program.py", at=tmp_path)
    assert ours[:2] == plain[:2] == (0, "")
    verdict = [line for line in ours[2] if line.startswith("VERDICT")]
    # To import what is there already is no news.
    expected = [f"VERDICT: {said}"] if said not in ("", "passed") else []
    assert verdict == [*expected, "VERDICT: passed"]


@pytest.mark.parametrize("way", ["site", "pth"])
def test_one_that_python_itself_imports_before_us_is_there_at_once(
    way: str, tmp_path: Path
) -> None:
    lay_out(tmp_path, "import torch")
    (tmp_path / "sitecustomize.py").write_text("import torch" if way == "site" else "")
    if way == "pth":
        (tmp_path / "early.pth").write_text("import torch\n")
        (tmp_path / "sitecustomize.py").write_text(
            f"import site; site.addsitedir({str(tmp_path)!r})"
        )
    status, out, err = run(str(DRIVER), "program.py", at=tmp_path, PYTHONPATH=str(tmp_path))
    told = ["VERDICT: torch is there", "torch is used", "VERDICT: passed"]
    assert (status, out, err) == (0, "", told)


def test_one_that_waits_to_be_used_is_not_loaded_by_us(tmp_path: Path) -> None:
    lay_out(tmp_path, "import torch")
    (tmp_path / "sitecustomize.py").write_text(unindented(WAYS["lazily"]))
    status, out, err = run(str(DRIVER), "program.py", at=tmp_path, PYTHONPATH=str(tmp_path))
    told = ["VERDICT: torch is there", "torch is used", "VERDICT: passed"]
    assert (status, out, err) == (0, "not loaded yet False\n", told)


def test_a_failing_import_looks_as_it_does_without_us(tmp_path: Path) -> None:
    lay_out(tmp_path, "import torch")
    plain = run("program.py", at=tmp_path, BROKEN="1")
    ours = run(str(DRIVER), "program.py", at=tmp_path, BROKEN="1")
    assert (*ours[:2], ours[2][:-1]) == plain
    assert ours[2][-1] == "VERDICT: failed, died of OSError"


# With torch itself

LOOP = """
import importlib.util
import sys
{way}
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
print(model.weight.tolist())
"""

ASKED = """
assert importlib.util.find_spec("torch") is not None
assert importlib.util.find_spec("torch").loader is not None
import torch
torch.manual_seed(0)
"""

LAZY = """
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch)
torch.manual_seed(0)
"""

RELOADED = """
import torch
try:
    importlib.reload(torch)
except RuntimeError:
    pass  # it can't be, and half of it is there twice
torch.manual_seed(0)
"""

UNNOTICED = """
import gradledger.runtime.program.import_hooks as arrival
expected, arrival._expected[:] = arrival._expected[:], []
import torch
torch.manual_seed(0)
"""
"""As if torch had come in where nobody looks."""

AND_THEN = """
torch.ones(2, requires_grad=True).sum().backward()
arrival._expected[:] = expected
import graphlib
"""

UNSEEN = """
import sys
from gradledger.cli import main
from gradledger.cli.auditing import Auditing

def deliver(self, verdict):
    print(*(one.phrase for one in verdict.unseen), *(one.rule for one in verdict.findings))

Auditing._deliver = deliver
sys.argv[1:] = ["run", "train.py"]
sys.exit(main())
"""
"""Says in short what the verdict would."""


@pytest.mark.slow
@pytest.mark.parametrize("way", [ASKED, LAZY, RELOADED], ids=["asked", "lazy", "reloaded"])
def test_torch_itself_is_audited(way: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.format(way=way))
    words = ("-m", "gradledger", "run", "--format", "json", "--output", "verdict", "train.py")
    ours, plain = fresh(*words, at=tmp_path), fresh("train.py", at=tmp_path)
    assert ours.seen_by_the_program == plain.seen_by_the_program
    verdict = json.loads((tmp_path / "verdict").read_text())
    assert [found["rule"] for found in verdict["findings"]] == ["GL101"]
    assert [found["count"] for found in verdict["findings"]] == [4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "5 backward passes (torch was imported in a way that gradledger did not notice)"),
        (AND_THEN, "1 backward pass (before gradledger noticed that torch was imported) GL101"),
    ],
    ids=["never", "later"],
)
def test_passes_that_nobody_watched_are_said(more: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.format(way=UNNOTICED + more))
    ended = fresh("-c", UNSEEN, at=tmp_path)
    assert (ended.status, ended.output.splitlines()[1:]) == (0, [said])


@pytest.mark.slow
def test_passes_that_nobody_watched_are_not_nothing_to_audit(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.format(way=UNNOTICED))
    ended = fresh("-m", "gradledger", "run", "train.py", at=tmp_path)
    assert ended.status == 0
    assert "nothing to audit" not in ended.errors
