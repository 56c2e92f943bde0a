// Starts shardy-lsp for MLIR files; docs/editors.md describes the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("shardy").get("server.command");
  const server = { command, args };
  client = new LanguageClient("shardy", "Shardy", server, {
    documentSelector: [{ language: "mlir" }],
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `cannot start '${command}': ${error.message}; install it: pip install 'shardy_py[lsp]', or set shardy.server.command`,
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined && running.isRunning()) {
    await running.stop();
  }
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand("shardy.restart", restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) =>
      event.affectsConfiguration("shardy.server") ? restart() : undefined,
    ),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
