// Which Python has gradledger, and what to say where none has.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

export const INSTALL = "pip install 'gradledger[lsp]'";

/** The interpreters to try, the most likely first. */
async function candidates(): Promise<string[]> {
  const set = vscode.workspace.getConfiguration("gradledger").get<string>("interpreter", "");
  if (set) return [set];
  const found: string[] = [];
  const python = vscode.extensions.getExtension("ms-python.python");
  if (python) {
    const api = await python.activate();
    const path = api?.environments?.getActiveEnvironmentPath?.()?.path;
    if (path) found.push(path);
  }
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    const path = join(folder.uri.fsPath, ".venv", ...inside);
    if (existsSync(path)) found.push(path);
  }
  return [...found, "python3", "python"];
}

/** Whether it runs `import` of these modules. */
function imports(interpreter: string, modules: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(interpreter, ["-c", `import ${modules}`], (error) => resolve(error === null));
  });
}

/** The first interpreter that has gradledger and what its server needs. */
export async function interpreter(): Promise<string | undefined> {
  for (const candidate of await candidates()) {
    if (await imports(candidate, "gradledger, pygls")) return candidate;
  }
  return undefined;
}

/** Says what to install, and offers to type it. */
export async function sayWhatToInstall(): Promise<void> {
  const type = "Type it in a terminal";
  const set = "Choose an interpreter";
  const message = `gradledger is not installed for the selected Python: ${INSTALL}`;
  const chosen = await vscode.window.showWarningMessage(message, type, set);
  if (chosen === type) {
    const terminal = vscode.window.createTerminal("gradledger");
    terminal.show();
    terminal.sendText(INSTALL, false);
  } else if (chosen === set) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "gradledger.interpreter");
  }
}
