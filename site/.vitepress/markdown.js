// What the site does to Markdown that was written for GitHub.
import fs from "node:fs";
import path from "node:path";
import { folders } from "../playground/folders.js";
import { address, pages, repository, root } from "./pages.js";

const source = (env) => path.relative(root, env.realPath ?? env.path);

// slug returns GitHub's anchor of a heading.
export const slug = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");

// target returns where a link leads: to a page of the site, or to a file or folder of the repository on GitHub.
function target(href, from) {
  const [to, anchor] = href.split("#");
  const file = path.posix.join(path.posix.dirname(from), decodeURI(to)).replace(/\/$/, "");
  const found = [file, path.posix.join(file, "README.md")].find((page) => pages.includes(page));
  if (found) {
    return "/" + address(found) + (anchor ? "#" + anchor : "");
  }
  const stat = fs.statSync(path.join(root, file), { throwIfNoEntry: false });
  if (!stat) {
    throw new Error(`${from}: there is no ${file}, which it links to`);
  }
  return `${repository}/${stat.isDirectory() ? "tree" : "blob"}/main/${file}` + (anchor ? "#" + anchor : "");
}

// named are the pages whose words have an address each, such as conditions.html#scriptnotcompared. On other pages of the reference, where
// the fields of many objects have the same name, the section comes first: api.html#compositecontroller-spec-hooks.
const named = /^docs\/(reference\/(conditions|events|metrics|traces)|guide\/|runbooks\/|design\/messages)/;
const rows = /^docs\/(reference|guide|runbooks|spec)\/|^docs\/design\/messages/;

// anchors gives an address to each word in the first cell of a row, and to a paragraph that begins with a word and a colon. A second one
// with the same word has its section or condition before it: #forbidden, #ready-forbidden.
function anchors(tokens, from, Token) {
  const taken = new Set(tokens.filter((token) => token.type === "heading_open").map((token) => token.attrGet("id")));
  let section = "";
  const claim = (text) => {
    const long = `${section}-${slug(text)}`;
    const choices = [...(named.test(from) ? [slug(text)] : []), long, ...Array.from({ length: 99 }, (_, i) => `${long}-${i + 2}`)];
    const id = choices.find((choice) => !taken.has(choice));
    taken.add(id);
    return id;
  };
  const wrap = (id, tokens) => {
    const open = new Token("link_open", "a", 1);
    open.attrs = [["id", id], ["href", "#" + id], ["class", "row-anchor"], ["tabindex", "-1"]];
    return [open, ...tokens, new Token("link_close", "a", -1)];
  };
  const anchorWords = (inline) => {
    let inLink = false;
    inline.children = inline.children.flatMap((child) => {
      inLink = child.type === "link_open" || (inLink && child.type !== "link_close");
      if (child.type !== "code_inline" || inLink) {
        return [child];
      }
      return wrap(claim(child.content.replace(/\{.*/, "")), [child]);
    });
  };
  tokens.forEach((token, i) => {
    const inline = tokens[i + 1];
    if (token.type === "heading_open") {
      section = token.attrGet("id");
    } else if (token.type === "td_open" && tokens[i - 1].type === "tr_open" && inline.content) {
      if (inline.content.includes("`")) {
        anchorWords(inline);
      } else if (!inline.children.some((child) => child.type === "link_open")) {
        inline.children = wrap(claim(/^\d+$/.test(inline.content) ? `message-${inline.content}` : inline.content), inline.children);
      }
    } else if (token.type === "paragraph_open" && /^`\w+`: /.test(inline.content)) {
      section = claim(inline.children[0].content);
      inline.children.splice(0, 1, ...wrap(section, [inline.children[0]]));
    }
  });
}

// openInPlayground adds a link below the title of a folder's page, and below each script of the guide.
function openInPlayground(tokens, from, Token) {
  const link = ({ name }) => {
    const token = new Token("html_block", "", 0);
    token.content = `<p class="playground"><a href="${process.env.BASE || "/"}playground/?open=${name}" target="_self">Open in the playground</a></p>\n`;
    return token;
  };
  const folder = folders.find(({ source }) => from === source + "/README.md");
  const title = tokens.findIndex((token) => token.type === "heading_close");
  if (folder && title >= 0) {
    tokens.splice(title + 1, 0, link(folder));
  }
  if (from.startsWith("docs/guide/")) {
    let section = "";
    const numbers = {};
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i];
      if (token.type === "heading_open") {
        section = tokens[i + 1].content;
      } else if (token.type === "fence") {
        const language = token.info.trim();
        const number = (numbers[section + language] = (numbers[section + language] ?? 0) + 1);
        const found = folders.find(({ keys }) => keys?.includes(`${section}, ${language} ${number}`));
        if (found) {
          tokens.splice(++i, 0, link(found));
        }
      }
    }
  }
}

export const markdown = {
  languageAlias: { cel: "js" },
  anchor: { slugify: slug },
  config(md) {
    const code = md.renderer.rules.code_inline;
    md.renderer.rules.code_inline = (...args) => code(...args).replace("<code", "<code v-pre"); // Or Vue takes {{ }} for its own.
    md.core.ruler.push("libretto", ({ tokens, env, Token }) => {
      const from = source(env);
      if (rows.test(from)) {
        anchors(tokens, from, Token);
      }
      openInPlayground(tokens, from, Token);
      for (const token of tokens.filter((token) => token.type === "code_block")) {
        Object.assign(token, { type: "fence", tag: "code", info: "text", markup: "```" });
      }
      for (const child of tokens.flatMap((token) => token.children ?? [])) {
        const href = child.type === "link_open" && child.attrGet("href");
        if (href && !href.startsWith("#") && !/^[a-z]+:/.test(href)) {
          child.attrSet("href", target(href, from));
        }
      }
    });
  },
};

// forSearch returns a page as it is looked through: words that have an address are headings, so that a result leads to their row. What is
// about Libretto's own code is left out.
export function forSearch(text, env, md) {
  const html = md.render(text, env);
  if (/^docs\/(design|spec)\//.test(source(env))) {
    return "";
  }
  return html.replace(/<a id="([^"]+)" href="[^"]+" class="row-anchor"[^>]*>(.*?)<\/a>/g, named.test(source(env)) && source(env).includes("reference") ?
    '<h6>$2 <a href="#$1"></a></h6> $2 ' : "$2");
}
