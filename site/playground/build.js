// Builds the playground into the site: node playground/build.js FOLDER. The host is there already, as libretto.wasm beside it.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import esbuild from "esbuild";
import { folders } from "./folders.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = path.join(here, "../..");
const page = path.join(root, "cmd/libretto/internal/dev/page/src");
const [to, wasm] = process.argv.slice(2).map((name) => path.resolve(name));
fs.mkdirSync(to, { recursive: true });

// Everything is at relative addresses: the site may be below any path.
const { metafile } = esbuild.buildSync({ metafile: true, entryPoints: [path.join(here, "main.ts")], outfile: path.join(to, "playground.js"), bundle: true, minify: true, format: "esm", target: "esnext", nodePaths: [path.join(root, "site/node_modules")] });
esbuild.buildSync({ entryPoints: [path.join(here, "worker.js")], outfile: path.join(to, "worker.js"), bundle: true, minify: true, format: "esm", target: "esnext" });
fs.writeFileSync(path.join(to, "playground.css"), fs.readFileSync(path.join(page, "style.css"), "utf8") + fs.readFileSync(path.join(here, "style.css"), "utf8"));
fs.copyFileSync(path.join(page, "icon.svg"), path.join(to, "icon.svg"));
// The page reaches nothing but its own address, whatever a link holds. It compiles the host, and CodeMirror adds styles.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'";
const html = fs.readFileSync(path.join(page, "index.html"), "utf8")
  .replace('<meta charset="utf-8">', (charset) => `${charset}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
  .replace("<title>Libretto dev</title>", "<title>Libretto playground</title>")
  .replaceAll('"/icon.svg"', '"icon.svg"').replaceAll('"/page.css"', '"playground.css"').replaceAll('"/page.js"', '"playground.js"')
  .replace("What it shows is at /dev/v1, too.", "libretto dev shows the same on your machine.")
  .replace('<div id="page"></div>', '<section class="author" aria-label="Files"><div id="bar"></div><div id="tabs"></div><div id="editor"></div></section>\n<div id="page"></div>');
fs.writeFileSync(path.join(to, "index.html"), html);

// The licences of what the bundle and the host hold.
const go = (...args) => spawnSync("go", args, { encoding: "utf8", cwd: root, env: { ...process.env, GOOS: "js", GOARCH: "wasm" }, maxBuffer: 1 << 26 }).stdout;
const goroot = go("env", "GOROOT").trim();
const packages = Object.keys(metafile.inputs).map((input) => path.resolve(input).match(/^.*node_modules\/((?:@[^/]+\/)?[^/]+)/)).filter(Boolean);
const modules = go("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "./cmd/libretto/playground").split("\n").filter(Boolean);
const bundled = new Map([["Go", goroot], ...packages.map(([folder, name]) => [name, folder]), ...modules.map((line) => line.split(" "))]);
fs.writeFileSync(path.join(to, "LICENSES.txt"), [...bundled].sort(([a], [b]) => a.localeCompare(b)).map(([name, folder]) => {
  const licences = fs.readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).map((file) => fs.readFileSync(path.join(folder, file), "utf8"));
  if (licences.length === 0) throw new Error(`${name} has no licence in ${folder}`);
  return `${name}\n\n${licences.join("\n")}`;
}).join("\n----\n\n"));

fs.copyFileSync(path.join(goroot, "lib/wasm/wasm_exec.js"), path.join(to, "wasm_exec.js"));
fs.writeFileSync(path.join(to, "libretto.wasm.gz"), zlib.gzipSync(fs.readFileSync(wasm), { level: 9 }));

for (const { name, texts } of folders) {
  fs.mkdirSync(path.join(to, "folders", path.dirname(name)), { recursive: true });
  fs.writeFileSync(path.join(to, "folders", name + ".json"), JSON.stringify(texts));
}
fs.writeFileSync(path.join(to, "folders.json"), JSON.stringify(folders.map(({ name, title, group }) => ({ name, title, group }))));
const size = fs.statSync(path.join(to, "libretto.wasm.gz")).size;
console.log(`the playground has ${folders.length} folders, and its host ${(size / 1e6).toFixed(1)} MB`);
