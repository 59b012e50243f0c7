// gradledger in VS Code: the language server of the selected interpreter, and audits.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { audit } from "./audit";
import { interpreter, sayWhatToInstall } from "./interpreter";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("gradledger", { log: true });
  const command = vscode.commands.registerCommand;
  context.subscriptions.push(
    output,
    command("gradledger.audit", () => audit(output)),
    command("gradledger.restart", () => restart(output)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("gradledger.interpreter")) void restart(output);
    }),
  );
  await start(output);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(output: vscode.LogOutputChannel): Promise<void> {
  await client?.stop();
  client = undefined;
  await start(output);
}

async function start(output: vscode.LogOutputChannel): Promise<void> {
  const python = await interpreter();
  if (!python) return sayWhatToInstall();
  const server: ServerOptions = { command: python, args: ["-m", "gradledger", "server"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { notebook: "jupyter-notebook", language: "python" },
    ],
    outputChannel: output,
  };
  client = new LanguageClient("gradledger", "gradledger", server, options);
  await client.start();
}
