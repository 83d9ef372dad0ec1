// Checks the pages that were built: each link leads to a file and to an anchor that are there, no page loads anything from elsewhere, and the
// pages have addresses that others rely on.
import fs from "node:fs";
import path from "node:path";

const [folder] = process.argv.slice(2);
const base = process.env.BASE || "/";
const files = fs.readdirSync(folder, { recursive: true });
const pages = new Map(files.filter((name) => name.endsWith(".html")).map((name) => [name, fs.readFileSync(path.join(folder, name), "utf8")]));
const ids = new Map([...pages].map(([name, html]) => [name, [...html.matchAll(/ id="([^"]*)"/g)].map((match) => match[1])]));
const problems = [];
let links = 0;

for (const [name, html] of pages) {
  for (const id of new Set(ids.get(name).filter((id, i, all) => all.indexOf(id) !== i))) {
    problems.push(`${name}: two elements have the id ${id}`);
  }
  for (const [, tag, attribute, value] of html.matchAll(/<(\w+)[^>]*? (href|src)="([^"]*)"/g)) {
    const url = new URL(value.replaceAll("&amp;", "&"), `http://site${base}${name}`);
    links++;
    if (url.protocol === "data:") {
      continue;
    }
    if (url.host !== "site") {
      if (tag !== "a") {
        problems.push(`${name}: ${tag} loads ${value}`);
      }
      continue;
    }
    const to = decodeURI(url.pathname).slice(base.length).replace(/(^|\/)$/, "$1index.html");
    const anchor = decodeURIComponent(url.hash.slice(1));
    if (!url.pathname.startsWith(base) || !fs.existsSync(path.join(folder, to))) {
      problems.push(`${name}: ${attribute} ${value}: there is no ${to}`);
    } else if (anchor && to !== "playground/index.html" && !ids.get(to)?.includes(anchor)) { // A script draws the playground.
      problems.push(`${name}: ${attribute} ${value}: ${to} has no such anchor`);
    }
  }
}
for (const [page, id] of [["reference/conditions.html", "scriptnotcompared"], ["reference/events.html", "hookfailed"]]) {
  if (!ids.get(page)?.includes(id)) {
    problems.push(`${page} has no ${id}`);
  }
}
const bytes = files.map((name) => fs.statSync(path.join(folder, name))).reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
console.log(`${pages.size} pages, ${links} links, ${(bytes / 1e6).toFixed(1)} MB, ${problems.length} problems`);
problems.forEach((problem) => console.error(problem));
process.exitCode = problems.length ? 1 : 0;
