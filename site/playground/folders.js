// The folders that the playground can open: those of examples and cookbook that have a definition.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the texts of a folder by path. Files that are large, or no text for the host, are left out. */
export function textsOf(folder) {
  const texts = {};
  for (const file of fs.readdirSync(path.join(root, folder), { recursive: true })) {
    const from = path.join(root, folder, file);
    if (/\.(ya?ml|json|[jt]s|jsonnet|libsonnet|cel)$/.test(file) && fs.statSync(from).size <= 256 << 10) {
      texts[file.replaceAll(path.sep, "/")] = fs.readFileSync(from, "utf8");
    }
  }
  return texts;
}

const hasDefinition = (texts) => Object.values(texts).some((text) => /kind: (Namespaced)?(Composite|Decorator|Map)Controller/.test(text));

/** Folders have a source in the repository, a name in addresses, a title and a group. */
export const folders = [["Examples", "examples"], ["Cookbook", "docs/cookbook"]].flatMap(([group, parent]) =>
  fs.readdirSync(path.join(root, parent)).sort().filter((name) => fs.existsSync(path.join(root, parent, name, "README.md"))).map((name) => {
    const source = `${parent}/${name}`;
    const title = fs.readFileSync(path.join(root, source, "README.md"), "utf8").match(/^# (.+)$/m)[1].replaceAll("`", "");
    return { source, name: source.replace("docs/", ""), title, group };
  }).filter(({ source }) => hasDefinition(textsOf(source))));
