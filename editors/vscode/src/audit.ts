// "Audit this file": runs it with `gradledger run`, and shows the report beside the code.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import * as vscode from "vscode";
import { interpreter, sayWhatToInstall } from "./interpreter";

/** The report of each script that was audited: the next audit takes its place. */
const panels = new Map<string, vscode.WebviewPanel>();

export async function audit(output: vscode.OutputChannel): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== "python" || editor.document.isUntitled) {
    void vscode.window.showInformationMessage("gradledger: open and save the script to audit first.");
    return;
  }
  const python = await interpreter();
  if (!python) return sayWhatToInstall();
  await editor.document.save();
  const script = editor.document.uri;
  const folder = await mkdtemp(join(tmpdir(), "gradledger-"));
  try {
    const page = join(folder, "report.html");
    const given = vscode.workspace.getConfiguration("gradledger", script).get<string[]>("auditArguments", []);
    const cwd = vscode.workspace.getWorkspaceFolder(script)?.uri.fsPath ?? dirname(script.fsPath);
    // As a person would type it there: the report calls the script by this name.
    const words = ["-m", "gradledger", "run", "--html", page, relative(cwd, script.fsPath), ...given];
    const progress = { location: vscode.ProgressLocation.Notification, title: "gradledger: auditing", cancellable: true };
    await vscode.window.withProgress(progress, (_, cancelled) => run(python, words, cwd, output, cancelled));
    await show(page, script, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(
  python: string, words: string[], cwd: string, output: vscode.OutputChannel, cancelled: vscode.CancellationToken,
): Promise<void> {
  return new Promise((resolve) => {
    output.appendLine(`> ${[python, ...words].join(" ")}`);
    const child = spawn(python, words, { cwd });
    // As Ctrl-C: the verdict so far is written.
    const stop = cancelled.onCancellationRequested(() => child.kill("SIGINT"));
    child.stdout.on("data", (data) => output.append(String(data)));
    child.stderr.on("data", (data) => output.append(String(data)));
    child.on("error", (error) => output.appendLine(String(error)));
    child.on("close", () => { stop.dispose(); resolve(); });
  });
}

async function show(page: string, script: vscode.Uri, output: vscode.OutputChannel): Promise<void> {
  let html: string;
  try {
    html = await readFile(page, "utf-8");
  } catch {
    output.show(true);
    void vscode.window.showErrorMessage("gradledger: there is no report. The output says why.");
    return;
  }
  panelOf(script).webview.html = html.replace("<html", `<html data-theme="${theme()}"`);
}

/** The report is as light or dark as the editor, whatever the system's own setting is. */
function theme(): "light" | "dark" {
  const { Dark, HighContrast } = vscode.ColorThemeKind;
  return [Dark, HighContrast].includes(vscode.window.activeColorTheme.kind) ? "dark" : "light";
}

function panelOf(script: vscode.Uri): vscode.WebviewPanel {
  const open = panels.get(script.fsPath);
  if (open) {
    open.reveal(undefined, true);
    return open;
  }
  const name = vscode.workspace.asRelativePath(script);
  const column = vscode.ViewColumn.Beside;
  const panel = vscode.window.createWebviewPanel("gradledger.report", `Audit of ${name}`, column, { enableScripts: true });
  panels.set(script.fsPath, panel);
  panel.onDidDispose(() => panels.delete(script.fsPath));
  return panel;
}
