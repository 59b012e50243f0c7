"""Puts all pages of the site into one folder, as mkdocs wants them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from website import api, commands, player, why_pages
from website.directives import filled_in
from website.layout import ASSETS, BUILD, NAMED, PAGES, ROOT, SOURCES, page_of
from website.markdown import adapted
from website.playground import page as playground_page
from website.playground.bundling import bundle
from website.playground.links import PAGE as PLAYGROUND

LANGUAGES = {".py": "python", ".json": "json", ".yml": "yaml", ".toml": "toml", ".lua": "lua"}


def assemble() -> str:
    """Writes build/site-source/pages; and says why there is no playground, if there is none."""
    pages = BUILD / "pages"
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ASSETS, pages / "assets")
    _write(pages / "assets" / "player.js", player.script())
    shutil.copy(player.STYLE, pages / "assets")
    why_not = bundle(pages / "assets" / PLAYGROUND)
    _write(pages / f"{PLAYGROUND}.md", playground_page.page(why_not))
    linked: dict[str, None] = {}
    for document in _documents():
        text = (ROOT / document).read_text(encoding="utf-8")
        if not why_not:
            text = playground_page.with_links(text, document)
        _write(pages / page_of(document), adapted(text, path=document, found=linked.setdefault))
    for path in _files("docs"):
        if path.suffix in {".json", ".svg", ".png"}:
            target = pages / page_of(str(path.relative_to(ROOT)))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for path in _own_pages():
        name = path.relative_to(PAGES)
        text = path.read_text(encoding="utf-8")
        depth = len(name.parts) - 1
        _write(pages / name, filled_in(text, depth=depth, playground=not why_not))
    for page, text in {**commands.pages(), **api.pages(), **why_pages.pages()}.items():
        _write(pages / page, text)
    for linked_file in linked:
        if page_of(linked_file).startswith(f"{SOURCES}/"):
            _write(pages / page_of(linked_file), source_page(linked_file))
    return why_not


def source_page(path: str) -> str:
    """A page that shows a file of the repository, or what is in a folder of it."""
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {Path(path).name}\n\n`{path}`\n\n"
    file = ROOT / path
    if file.is_dir():
        return head + "".join(f"- `{child.name}`\n" for child in sorted(file.iterdir()))
    language = LANGUAGES.get(file.suffix, "text")
    return f'{head}```{language} linenums="1"\n{file.read_text(encoding="utf-8")}```\n'


def _documents() -> Iterator[str]:
    for path in _files("docs"):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".md" and name not in {"docs/README.md"}:
            yield name
    yield from (name for name in NAMED if name not in {"README.md", "docs/README.md"})


def _own_pages() -> Iterator[Path]:
    yield from sorted(PAGES.rglob("*.md"))


def _files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.is_file())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
