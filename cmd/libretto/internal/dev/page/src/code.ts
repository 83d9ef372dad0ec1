// Text with lines: YAML, scripts, and what differs between two texts.
import { h } from "./dom.ts";
import { Line, print } from "./yaml.ts";

export interface Change { op: " " | "+" | "-"; text: string; before?: number; after?: number }

/** Returns the lines of two texts in one list, with those that only one of them has marked. */
export function diff(before: string[], after: string[]): Change[] {
  let start = 0, same = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  const shorter = Math.min(before.length, after.length) - start;
  while (same < shorter && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  const a = before.slice(start, before.length - same), b = after.slice(start, after.length - same), width = b.length + 1;
  // The longest common part of what is left, as far as a table of it fits; of larger texts all counts as changed.
  const table = a.length * b.length <= 4e6 ? new Uint32Array((a.length + 1) * width) : undefined;
  for (let i = a.length - 1; table && i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      table[at] = a[i] === b[j] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const changes: Change[] = before.slice(0, start).map((text, i) => ({ op: " ", text, before: i + 1, after: i + 1 }));
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    const isSame = table && i < a.length && j < b.length && a[i] === b[j];
    const isGone = i < a.length && (j >= b.length || !table || table[(i + 1) * width + j] >= table[i * width + j + 1]);
    if (isSame) changes.push({ op: " ", text: a[i], before: start + ++i, after: start + ++j });
    else if (isGone) changes.push({ op: "-", text: a[i], before: start + ++i });
    else changes.push({ op: "+", text: b[j], after: start + ++j });
  }
  for (let k = same - 1; k >= 0; k--) {
    changes.push({ op: " ", text: before[before.length - 1 - k], before: before.length - k, after: after.length - k });
  }
  return changes;
}

/** Returns the changes with three lines around them, and a number for lines that are left out. */
export function fold(changes: Change[]): (Change | number)[] {
  const near = new Uint8Array(changes.length);
  changes.forEach((c, i) => c.op !== " " && near.fill(1, Math.max(0, i - 3), i + 4));
  const folded: (Change | number)[] = [];
  changes.forEach((change, i) => {
    const last = folded[folded.length - 1];
    if (near[i]) folded.push(change);
    else if (typeof last === "number") folded[folded.length - 1] = last + 1;
    else folded.push(1);
  });
  return folded;
}

const keywords = "export|function|return|const|let|var|if|else|for|of|in|while|switch|case|default|break|continue|new|throw|try|catch|" +
  "import|from|local|self|error|then|assert|async|await|type|interface|as|typeof|null|undefined|true|false|this|class";
const comments = /\/\/.*$|\/\*.*?\*\/|^\s*\*.*$|^\s*#.*$/, strings = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/;
const words = new RegExp(`(${comments.source})|(${strings.source})|\\b(${keywords})\\b|\\b(\\d[\\w.]*)`, "g");

/** Returns a line of a script with its words coloured. */
export function scriptLine(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const m of text.matchAll(words)) {
    if (m.index > at) parts.push(text.slice(at, m.index));
    parts.push(h("span." + (m[1] ? "comment" : m[2] ? "string" : m[3] ? "keyword" : "number"), null, m[0]));
    at = m.index + m[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}

/** Returns a line of YAML with its field and its value coloured. */
export function yamlLine(text: string): (Node | string)[] {
  if (/^\s*#/.test(text)) return [h("span.comment", null, text)];
  const found = /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|[^\s"'#][^:"]*?):)(?=\s|$)(.*)$/.exec(text);
  const item = found ? null : /^(\s*- )(.*)$/.exec(text);
  if (!found) return item ? [h("span.mark", null, item[1]), value(item[2])] : [value(text)];
  return [found[1] && h("span.mark", null, found[1]), h("span.field", null, found[2]), value(found[3])];
}

const value = (text: string): Node => h(/^\s*(-?\d[\d.]*|true|false|null)$/.test(text) ? "span.number" : "span.string", null, text);

const languageLine = (path: string) => (/\.(ya?ml|json)$/.test(path) && !/\.cel\.yaml$/.test(path) ? yamlLine : scriptLine);

/** Returns lines of code, each with its number and the class that mark returns for it. */
export function code(path: string, text: string, mark: (line: number) => string | undefined = () => undefined): HTMLElement {
  const own = languageLine(path);
  let within = -1; // The indentation of the field that has a script in a manifest.
  return h("pre.code.numbered", { tabindex: "0", "aria-label": path }, text.replace(/\n$/, "").split("\n").map((source, i) => {
    const kind = mark(i + 1), indent = source.search(/\S/);
    if (indent >= 0 && indent <= within) within = -1;
    const line = within >= 0 ? scriptLine : own;
    if (own === yamlLine && within < 0 && /^\s*["']?[\w.-]+\.(m?js|cjs|ts|(lib|j)sonnet|cel)["']?: *\|/.test(source)) within = indent;
    const label = kind && kind !== "here" ? h("span.hidden", null, ` (${kind})`) : null;
    return h("div.line" + (kind ? "." + kind : ""), { "data-line": i + 1, title: label && kind }, h("code", null, ...line(source)), label);
  }));
}

/** Draws lines, not more than a browser can take: the elements of an object of 1 MB keep it for seconds. */
const most = 5000, drawn = <T>(lines: T[], draw: (line: T, i: number) => HTMLElement) =>
  [lines.slice(0, most).map(draw), lines.length > most && h("div.line.cut", null, `⋯ ${lines.length - most} more lines`)];

/** Returns a value as YAML. Lines of which mark returns a class have it. */
export function yaml(value: unknown, label: string, mark: (line: Line, i: number) => string | undefined = () => undefined,
  path = ""): HTMLElement {
  return h("pre.code", { tabindex: "0", "aria-label": label }, drawn(print(value, path), (line, i) => {
    const kind = mark(line, i);
    return h("div.line" + (kind ? "." + kind : ""), null, h("code", null, ...yamlLine(line.text)));
  }));
}

/** Returns the difference of two values as YAML; null is none. */
export function valueDiff(before: unknown, after: unknown): HTMLElement {
  const lines = (v: unknown) => (v === null || v === undefined ? [] : print(v).map((line) => line.text));
  return unified(fold(diff(lines(before), lines(after))), yamlLine);
}

const unified = (changes: (Change | number)[], line: (text: string) => (Node | string)[]): HTMLElement =>
  h("pre.code.diff", { tabindex: "0", "aria-label": "what changes" }, drawn(changes, (c) =>
    typeof c === "number" ? h("div.line.cut", null, `⋯ ${c} unchanged`)
      : h("div.line" + classOf(c), null, h("span.op", null, c.op), h("code", null, ...line(c.text)))));

const classOf = (c: Change): string => (c.op === "+" ? ".added" : c.op === "-" ? ".removed" : "");

/** Returns two texts side by side, with lines that belong together in one row; below each other where that has no room. */
export function sideBySide(path: string, heads: [string, string], before: string, after: string): HTMLElement {
  const line = languageLine(path), rows: [Change?, Change?][] = [], changes = fold(diff(before.split("\n"), after.split("\n")));
  const body: Node[] = [];
  const flush = () => {
    for (const [a, b] of rows.splice(0)) {
      const side = (c: Change | undefined, n: number | undefined) => [
        h("td.n", null, n ?? ""),
        h("td" + (c ? classOf(c) : ".nothing"), null, c && h("code", null, ...line(c.text)))];
      body.push(h("tr", null, ...side(a, a?.before), ...side(b, b?.after)));
    }
  };
  let open = 0;
  for (const c of changes) {
    if (typeof c === "number" || c.op === " ") {
      if (typeof c === "number") flush(), body.push(h("tr.cut", null, h("td", { colspan: 4 }, `⋯ ${c} unchanged`)));
      else rows.push([c, c]);
      open = rows.length;
    } else if (c.op === "-") rows.push([c, undefined]);
    else {
      while (open < rows.length && rows[open][1]) open++;
      if (open < rows.length && !rows[open][1]) rows[open][1] = c;
      else rows.push([undefined, c]);
      open++;
    }
  }
  flush();
  return h("div", null, h("div.narrow-only", null, unified(changes, line)),
    h("table.sides.wide-only", { "aria-label": `${path} before and after` }, h("colgroup", null, [1, 2].map(() => [h("col.n"), h("col")])),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { colspan: 2 }, head)))), h("tbody", null, body)));
}
