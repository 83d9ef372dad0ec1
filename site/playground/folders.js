// The folders that the playground can open, of those that have a definition: new controllers as libretto init writes them, examples, the
// cookbook, and the scripts of the guide with what their tests have around them.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");

// textsOf returns the texts of a folder by path. Files that are large, or no text for the host, are left out.
function textsOf(folder) {
  const texts = {};
  for (const file of fs.readdirSync(folder, { recursive: true })) {
    if (/\.(ya?ml|json|[jt]s|jsonnet|libsonnet|cel)$/.test(file) && fs.statSync(path.join(folder, file)).size <= 256 << 10) {
      texts[file.replaceAll(path.sep, "/")] = fs.readFileSync(path.join(folder, file), "utf8");
    }
  }
  return texts;
}

// scaffolds returns what libretto init writes, without what an editor would need. The example is applied with the rest.
function scaffolds() {
  const kinds = { composite: "webapp", decorator: "budgets", map: "quotas" };
  const languages = { ts: "TypeScript", js: "JavaScript", jsonnet: "Jsonnet", cel: "CEL" };
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "playground-"));
  const folders = Object.entries(kinds).flatMap(([kind, name]) => Object.entries(languages).map(([lang, language]) => {
    const folder = path.join(temporary, kind + lang);
    execFileSync(path.join(root, "bin/libretto"), ["init", kind, name, "--lang", lang, "--dir", folder]);
    const texts = Object.fromEntries(Object.entries(textsOf(folder)).filter(([file]) => !/\.d\.ts$|json$/.test(file)));
    texts["kustomization.yaml"] = texts["kustomization.yaml"].replace("- definition.yaml\n", "- definition.yaml\n- example.yaml\n");
    return { name: `new/${kind}-${lang}`, title: `${kind[0].toUpperCase()}${kind.slice(1)}Controller in ${language}`, group: "New controller", texts };
  }));
  fs.rmSync(temporary, { recursive: true });
  return folders;
}

/** Calls a function with each code block of a page of Markdown, the language of it, and its key: "SECTION, LANGUAGE NUMBER". */
export function eachBlock(markdown, call) {
  const numbers = {};
  let section = "", block;
  for (const line of markdown.split("\n")) {
    const fence = line.match(/^```(\w*)$/);
    if (fence && !block) {
      const number = (numbers[section + fence[1]] = (numbers[section + fence[1]] ?? 0) + 1);
      block = { key: `${section}, ${fence[1]} ${number}`, text: "" };
    } else if (fence) {
      call(block.key, block.text);
      block = undefined;
    } else if (block) block.text += line + "\n";
    else section = line.match(/^#+ (.+)$/)?.[1] ?? section;
  }
}

// guide returns a folder for each archive of test/guide: its first lines say which blocks of the guide are which files, and follow what the
// archive has of them. Its empty files are those of examples/hello.
function guide() {
  const blocks = {};
  for (const page of fs.readdirSync(path.join(root, "docs/guide"))) {
    if (page.endsWith(".md")) eachBlock(read("docs/guide/" + page), (key, text) => { blocks[key] = text; });
  }
  const archives = "test/guide/testdata/guide";
  return fs.readdirSync(path.join(root, archives)).sort().map((file) => {
    const [comment, ...parts] = read(`${archives}/${file}`).split(/^-- (.+) --\n/m);
    const texts = {};
    for (let i = 0; i < parts.length; i += 2) texts[parts[i]] = parts[i + 1] || read("examples/hello/" + parts[i]);
    const keys = comment.split("\n").filter(Boolean).map((line) => line.match(/^(.+?): (.+)$/).slice(1));
    for (const [name, key] of keys) texts[name] = (texts[name] ?? "") + blocks[key];
    complete(texts);
    const name = file.replace(".txtar", "");
    return { name: "guide/" + name, title: name.replace(/[-_]/g, " ").replace(/^./, (first) => first.toUpperCase()), group: "Guide", texts, keys: keys.map(([, key]) => key) };
  });
}

// complete adds what a host needs and a test does not: the ConfigMaps of folders that a test names, and a parent.
function complete(texts) {
  const test = Object.values(texts).find((text) => /kind: ControllerTest/.test(text)) ?? "";
  const mapped = [...(test.match(/^scripts: \{(.+)\}$/m)?.[1] ?? "").matchAll(/(?:([\w-]+)\/)?([\w-]+): ([\w./-]+)/g)];
  if (mapped.length === 0 || texts["kustomization.yaml"]) return;
  if (Object.values(texts).some((text) => text.includes("greetings.ctl.example.com"))) texts["greeting.yaml"] = read("examples/hello/greeting.yaml");
  const resources = Object.keys(texts).filter((path) => /^[^/]+\.yaml$/.test(path) && !/_test\.yaml$/.test(path));
  const generators = mapped.map(([, namespace = "default", name, folder]) => {
    const files = Object.keys(texts).filter((path) => path.startsWith(folder + "/") && !path.slice(folder.length + 1).includes("/"));
    return `- name: ${name}\n  namespace: ${namespace}\n  options: {disableNameSuffixHash: true}\n  files: [${files.join(", ")}]\n`;
  });
  texts["kustomization.yaml"] = `resources: [${resources.join(", ")}]\nconfigMapGenerator:\n${generators.join("")}`;
}

function documented(group, parent) {
  return fs.readdirSync(path.join(root, parent)).sort().filter((name) => fs.existsSync(path.join(root, parent, name, "README.md"))).map((name) => {
    const source = `${parent}/${name}`;
    const title = read(source + "/README.md").match(/^# (.+)$/m)[1].replaceAll("`", "");
    return { source, name: source.replace("docs/", ""), title, group, texts: textsOf(path.join(root, source)) };
  });
}

/** Folders have a name in addresses, a title, a group and texts; and a source in the repository, or keys of blocks of the guide. */
export const folders = [...scaffolds(), ...documented("Examples", "examples"), ...documented("Cookbook", "docs/cookbook"), ...guide()]
  .filter(({ texts }) => Object.values(texts).some((text) => /kind: (Namespaced)?(Composite|Decorator|Map)Controller/.test(text)));
