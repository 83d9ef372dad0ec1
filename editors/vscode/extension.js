// Starts libretto lsp for what is open.
"use strict";

const { commands, workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function newClient() {
  const settings = workspace.getConfiguration("libretto");
  const server = { command: settings.get("path"), args: ["lsp", ...settings.get("arguments")] };
  const languages = ["yaml", "javascript", "typescript", "jsonnet"];
  return new LanguageClient("libretto", "Libretto", server, {
    documentSelector: [...languages.map((language) => ({ scheme: "file", language })), { scheme: "file", pattern: "**/*.{jsonnet,libsonnet}" }],
    synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{yaml,yml,json,js,mjs,ts,jsonnet,libsonnet}") },
  });
}

async function start() {
  client = newClient();
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`libretto lsp does not start: put libretto on the PATH, or set libretto.path (${error.message})`);
  }
}

exports.activate = async (context) => {
  context.subscriptions.push(
    commands.registerCommand("libretto.restart", async () => {
      await exports.deactivate();
      await start();
    }),
  );
  await start();
};

exports.deactivate = async () => {
  const running = client;
  client = undefined;
  if (running?.isRunning()) {
    await running.stop();
  }
};
