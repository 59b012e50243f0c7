// Runs gradledger in Pyodide, away from the page, so that typing never waits. Of the texts that come
// while it checks one, only the last is checked.

import { loadPyodide } from "pyodide";
import type { Answer, Question } from "./protocol";

interface Entry {
  check(text: string): string;
  plays(text: string): string;
  fixes(text: string): string;
}

const here = new URL(".", import.meta.url);
const tell = (answer: Answer): void => postMessage(answer);
let wanted: Question | null = null;
let wake: (() => void) | null = null;

onmessage = (event: MessageEvent<Question>) => {
  wanted = event.data;
  wake?.();
};

async function load(): Promise<Entry> {
  tell({ kind: "loading", what: "Loading Python (12 MB, once)" });
  const archive = fetch(new URL("gradledger.zip", here));
  const python = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  tell({ kind: "loading", what: "Loading the checker" });
  const response = await archive;
  if (!response.ok) throw new Error(`gradledger.zip: ${response.status}`);
  python.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/gradledger" });
  python.runPython("import sys; sys.path.insert(0, '/gradledger')");
  const entry = python.pyimport("playground") as unknown as Entry;
  entry.check("import torch\nloss.backward()\n"); // loads what a check needs
  return entry;
}

/** A moment in which a newer text can come. */
const breathe = (): Promise<void> => new Promise((go) => setTimeout(go, 0));

async function answer(entry: Entry, { id, text }: Question): Promise<void> {
  try {
    const begun = performance.now();
    const checked = JSON.parse(entry.check(text));
    tell({ kind: "checked", id, checked, milliseconds: performance.now() - begun });
    if (checked.not_checked.length) return;
    await breathe();
    if (wanted) return;
    tell({ kind: "plays", id, plays: JSON.parse(entry.plays(text)) });
    await breathe();
    if (!wanted && checked.findings.length) tell({ kind: "fixes", id, fixes: JSON.parse(entry.fixes(text)) });
  } catch (error) {
    tell({ kind: "failed", id, why: last(String(error)) });
  }
}

/** Of a traceback of Python's, the line that says what it was. */
const last = (text: string): string => text.trim().split("\n").at(-1) ?? text;

async function work(): Promise<void> {
  let entry: Entry;
  try {
    entry = await load();
  } catch (error) {
    tell({ kind: "failed", id: -1, why: last(String(error)) });
    return;
  }
  tell({ kind: "ready" });
  for (;;) {
    while (!wanted) await new Promise<void>((go) => (wake = go));
    const question = wanted;
    wanted = null;
    await answer(entry, question);
  }
}

void work();
