// The site: make site. CONTRIBUTING.md and docs/design/build/site.md have more.
import { forSearch, markdown } from "./markdown.js";
import { address, pages, repository, root, sidebar } from "./pages.js";

const icon = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='%233451b2'/>" +
  "<path d='M9 7h4v15h10v4H9z' fill='white'/></svg>";

// The pages are outside of this folder, and what they are compiled to imports Vue, which is here.
const vue = {
  name: "libretto:vue",
  enforce: "pre",
  resolveId(id, importer, options) {
    return /^vue(\/|$)/.test(id) && !importer?.includes("node_modules") ?
      this.resolve(id, root + "site/package.json", { ...options, skipSelf: true }) : null;
  },
};

export default {
  title: "Libretto",
  description: "Kubernetes controllers whose hooks are scripts",
  lang: "en",
  base: process.env.BASE || "/",
  srcDir: root,
  srcExclude: ["!(docs|examples)/**/*", "!(README).md", "docs/guide.md"],
  outDir: root + "bin/site",
  cacheDir: root + "bin/.site-cache",
  rewrites: Object.fromEntries(pages.map((page) => [page, address(page)])),
  head: [["link", { rel: "icon", href: "data:image/svg+xml," + icon }]],
  markdown,
  vite: { plugins: [vue], build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/guide/", activeMatch: "/guide/" },
      { text: "Cookbook", link: "/cookbook/", activeMatch: "/cookbook/" },
      { text: "Examples", link: "/examples/", activeMatch: "/examples/" },
      { text: "Playground", link: "/playground/", target: "_self" },
      { text: "Reference", link: "/reference/api", activeMatch: "/(reference|runbooks)/" },
      { text: "Design", link: "/design/", activeMatch: "/(design|spec)/" },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    externalLinkIcon: true,
    editLink: { pattern: repository + "/edit/main/:path", text: "Edit this page" },
    socialLinks: [{ icon: "github", link: repository }],
    search: { provider: "local", options: { _render: forSearch } },
  },
};
