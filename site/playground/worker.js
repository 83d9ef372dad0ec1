// The host in a worker: libretto.wasm, with the files of the page. Messages to it are {start: {texts, module, exec}}, then
// {id, method, path, type, body}, {stream: path}, {edit: message of the editor to the language server} and {ping}. Its answers are {ready},
// {failed}, {id, status, type, text}, {message}, {edited: message of the language server}, {pong} and {output}.
import { newFiles, root } from "./files.js";

onmessage = async ({ data }) => {
  if (data.start) await start(data.start).catch((error) => postMessage({ failed: String(error) }));
  else if (data.ping) postMessage({ pong: data.ping });
  else if (data.stream) stream(data.stream);
  else if (data.edit) librettoEdit(data.edit);
  else ask(data);
};

async function start({ texts, module, exec }) {
  globalThis.fs = newFiles(texts, (text) => postMessage({ output: text }));
  globalThis.process = { getuid: () => -1, getgid: () => -1, geteuid: () => -1, getegid: () => -1, getgroups() { throw new Error("ENOSYS"); }, pid: -1, ppid: -1, umask: () => 0o22, cwd: () => root, chdir() {} };
  globalThis.path = { resolve: (...parts) => parts.join("/") };
  globalThis.librettoReady = () => postMessage({ ready: true });
  globalThis.librettoEdited = (message) => postMessage({ edited: message });
  globalThis.librettoFailed = (message) => postMessage({ failed: message });
  (0, eval)(exec); // wasm_exec.js of the Go that has compiled the module, from this site.
  const go = new Go();
  go.env = { HOME: "/tmp", TMPDIR: "/tmp" };
  go.exit = (code) => postMessage({ failed: `the host has ended with status ${code}` });
  go.run(await WebAssembly.instantiate(module, go.importObject));
}

// ask sends a request, and the whole answer to it.
function ask({ id, method, path, type, body }) {
  const decoder = new TextDecoder();
  let status, contentType, text = "";
  librettoRequest(method, path, type, body, (...part) => {
    if (part.length === 2) [status, contentType] = part;
    else if (part.length === 1) text += decoder.decode(part[0], { stream: true });
    else postMessage({ id, status, type: contentType, text });
  });
}

// stream sends each line of an answer as a message.
function stream(path) {
  const decoder = new TextDecoder();
  let rest = "";
  librettoRequest("GET", path, "", "", (...part) => {
    if (part.length !== 1) return;
    const lines = (rest + decoder.decode(part[0], { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) postMessage({ message: line });
  });
}
