"""Builds the site: `python -m website.build`; with `--serve`, shows it on 127.0.0.1 as well."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import yaml

from website.assembling import assemble
from website.layout import BUILD, ROOT, SITE
from website.navigation import navigation


def build() -> None:
    """Writes build/site; warnings are errors."""
    if why_not := assemble():
        print(f"The site is built without the playground: {why_not}", flush=True)
    config = BUILD / "mkdocs.yml"
    own = {"INHERIT": str(ROOT / "website" / "mkdocs.yml"), "nav": navigation()}
    config.write_text(yaml.safe_dump(own, sort_keys=False), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", config, "-d", SITE],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    if done.returncode:
        raise SystemExit("The site was not built: mkdocs says why above.")


def serve(port: int) -> None:
    """Shows build/site until Ctrl-C."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def main() -> None:
    """Builds, and serves if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show it, too")
    parser.add_argument("--port", type=int, default=8000, help="8000 by default")
    args = parser.parse_args()
    build()
    print(f"Built {SITE.relative_to(ROOT)}", flush=True)
    if args.serve:
        serve(args.port)


if __name__ == "__main__":
    main()
