// Which files of the repository are pages of the site, and what their tables of contents say. The texts stay where GitHub shows them.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const repository = "https://github.com/libretto-k8s/libretto";

const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const markdown = (folder) => fs.readdirSync(path.join(root, folder), { recursive: true })
  .filter((name) => name.endsWith(".md")).map((name) => path.posix.join(folder, name));

// docs/guide.md only leads links to the guide of before to its pages.
export const pages = ["README.md", ...markdown("docs"), ...markdown("examples")].filter((page) => page !== "docs/guide.md");

// address returns where the site has a page: docs/guide/README.md becomes guide/index.md.
export const address = (page) => page.replace(/^docs\//, "").replace(/(^|\/)README\.md$/, "$1index.md");

const item = (text, page) => ({ text, link: "/" + address(page).replace(/(^|\/)index\.md$/, "$1") });
const title = (page) => read(page).match(/^# (.+)$/m)[1].replaceAll("`", "");
const linked = (page, link) => path.posix.join(path.posix.dirname(page), link);

// contents returns a group for each table of a page whose rows begin with links, named by the first cell of its header.
function contents(page) {
  const groups = [];
  let header = "";
  for (const line of read(page).split("\n")) {
    const row = line.match(/^\| \[(.+?)\]\(([\w./-]+\.md)\) \|/);
    if (row && header !== null) {
      groups.push({ text: header || title(page), collapsed: false, items: [] });
      header = null;
    }
    if (row) {
      groups.at(-1).items.push(item(row[1], linked(page, row[2])));
    } else if (line.startsWith("| ") && !line.startsWith("| ---")) {
      header = line.split("|")[1].replace(/: `.*/, "").trim().replace(/^./, (first) => first.toUpperCase());
    }
  }
  return groups;
}

// lookUp has the links of the paragraph of the guide's contents that begins so.
function lookUp() {
  const page = "docs/guide/README.md";
  const paragraph = read(page).match(/^To look up: [^]*/m)[0];
  return [...paragraph.matchAll(/\]\(([\w./-]+\.md)\)/g)].map((link) => linked(page, link[1])).map((to) => item(title(to), to));
}

export function sidebar() {
  const start = (text, link, groups) => [{ items: [{ text, link }] }, ...groups];
  const reference = [{ text: "To look up", items: lookUp() }, { ...contents("docs/runbooks/README.md")[0], text: "Runbooks of alerts" }];
  const chapters = ["docs/guide/README.md", "docs/cookbook/README.md", "examples/README.md", "docs/design/README.md"];
  const home = { text: "Libretto", items: ["README.md", ...chapters].map((page) => item(page === "README.md" ? "What and why" : title(page), page)) };
  const spec = { text: "Specification", collapsed: true, items: markdown("docs/spec").map((page) => item(title(page), page)) };
  const design = contents("docs/design/README.md").map((group) => ({ ...group, collapsed: true }));
  return {
    "/guide/": start("The guide", "/guide/", contents("docs/guide/README.md")),
    "/cookbook/": start("The cookbook", "/cookbook/", contents("docs/cookbook/README.md")),
    "/examples/": contents("examples/README.md"),
    "/design/": start("Design", "/design/", [...design, spec]),
    "/spec/": start("Design", "/design/", [{ ...spec, collapsed: false }, ...design]),
    "/reference/": reference,
    "/runbooks/": reference,
    "/": [home, ...reference],
  };
}
