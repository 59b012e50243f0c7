"""From a keystroke to fresh findings, by the real server: `python -m benchmarks.keystroke`.

A file of 1,000 lines is open in an editor, and one letter is typed again and again. Each time is
from sending the change to hearing the findings, the wait for more keystrokes included.
"""

from __future__ import annotations

import asyncio
import sys
from statistics import median
from time import perf_counter

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LINES = 1_000
TIMES = 20
GOAL = 0.3
URI = "file:///benchmark/train.py"

TRAINS = """\
class Trainer{n}:
    def __init__(self, model, data):
        self.model = model
        self.data = data
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 10)

    def fit(self, epochs):
        for epoch in range(epochs):
            for i, (x, y) in enumerate(self.data):
                loss = torch.nn.functional.cross_entropy(self.model(x), y) / 4
                loss.backward()
                if (i + 1) % 4 == 0:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            self.scheduler.step()

"""
OTHER = """\
def prepare_{n}(rows, *, scale=1.0):
    found = []
    for row in rows:
        if row is None:
            continue
        found.append([value * scale for value in row])
    return found


"""


def program() -> str:
    """Of a thousand lines: several classes that train, and functions that do not."""
    parts, n = ["import torch\n\n\n"], 0
    while sum(part.count("\n") for part in parts) < LINES:
        n += 1
        parts.append((TRAINS if n % 50 == 1 else OTHER).format(n=n))
    return "".join("".join(parts).splitlines(keepends=True)[:LINES])


async def times() -> list[float]:
    """Seconds, one for each keystroke."""
    client = LanguageClient("benchmark", "1")
    heard = asyncio.Event()

    def hear(client: LanguageClient, params: types.PublishDiagnosticsParams) -> None:
        if params.uri == URI and params.diagnostics:
            heard.set()

    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(hear)
    await client.start_io(sys.executable, "-m", "gradledger", "server")
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    text = program()
    item = types.TextDocumentItem(URI, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await heard.wait()
    end = types.Position(LINES, 0)
    took = []
    for number in range(TIMES):
        heard.clear()
        begun = perf_counter()
        typed = types.TextDocumentContentChangePartial(types.Range(end, end), "#")
        document = types.VersionedTextDocumentIdentifier(number + 2, URI)
        changed = types.DidChangeTextDocumentParams(document, [typed])
        client.text_document_did_change(changed)
        await heard.wait()
        took.append(perf_counter() - begun)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return took


def main() -> int:
    """Prints what was measured; status 1 where the goal is missed."""
    took = sorted(asyncio.run(times()))
    print(f"a keystroke to fresh findings, {LINES} lines, {len(took)} times:")
    print(f"  median {median(took):.3f} s, fastest {took[0]:.3f} s, slowest {took[-1]:.3f} s")
    print(f"  goal: {GOAL} s")
    return int(median(took) > GOAL)


if __name__ == "__main__":
    sys.exit(main())
