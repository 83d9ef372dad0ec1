// YAML as the page shows it, and as people write it back.

/** A line, with the path of its field, as engines name it: parent.spec.image. */
export interface Line { text: string; path: string }

/** Returns a value as lines in the style of kubectl. */
export function print(value: unknown, path = ""): Line[] {
  const lines: Line[] = [];
  printValue(value, path, "", "", lines);
  return lines;
}

/** Returns a value as YAML text. */
export const toYAML = (value: unknown): string => print(value).map((line) => line.text + "\n").join("");

/** Prints a value. lead is what its first line begins with, indent what the others do. */
function printValue(value: any, path: string, lead: string, indent: string, lines: Line[]): void {
  const below = (key: string | number) => (path === "" ? String(key) : `${path}.${key}`);
  if (Array.isArray(value) && value.length > 0) {
    value.forEach((item, i) => printValue(item, below(i), (i === 0 ? lead : indent) + "- ", indent + "  ", lines));
  } else if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0) {
    for (const [key, field] of Object.entries<any>(value)) {
      const start = lead + scalar(key) + ":";
      if (field !== null && typeof field === "object" && Object.keys(field).length > 0) {
        lines.push({ text: start, path: below(key) });
        const deeper = Array.isArray(field) ? indent : indent + "  ";
        printValue(field, below(key), deeper, deeper, lines);
      } else printValue(field, below(key), start + " ", indent, lines);
      lead = indent;
    }
  } else if (typeof value === "string" && isLiteral(value)) {
    const body = value.replace(/\n*$/, ""), ends = value.length - body.length;
    lines.push({ text: lead + (ends === 0 ? "|-" : ends === 1 ? "|" : "|+"), path });
    const deeper = /- $/.test(lead) ? indent : indent + "  ";
    for (const line of (ends > 1 ? value.slice(0, -1) : body).split("\n")) lines.push({ text: line && deeper + line, path });
  } else lines.push({ text: lead + (typeof value === "string" ? scalar(value) : Array.isArray(value) ? "[]"
    : JSON.stringify(value ?? null)), path });
}

const isLiteral = (text: string): boolean => /\n/.test(text) && /^[^\s]/.test(text) &&
  !/[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/.test(text);

/** Reports whether YAML's versions agree that a text without quotes is that text. */
function isPlain(text: string): boolean {
  if (!/^[A-Za-z0-9_/.$^~\\+(;-][\x20-\x7e\u00a0-\ud7ff]*$/.test(text) || /: |:$|#| $|^-+$/.test(text) || /^- /.test(text)) return false;
  try {
    return resolve(text) === text;
  } catch {
    return false;
  }
}

const scalar = (text: string): string =>
  isPlain(text) ? text : JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\ufeff]/g, (c) =>
    "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

/** Returns what text without quotes means. What YAML 1.1 and 1.2 read differently is refused. */
function resolve(text: string): unknown {
  if (/^(|~|null|Null|NULL)$/.test(text)) return null;
  if (/^(true|True|TRUE)$/.test(text)) return true;
  if (/^(false|False|FALSE)$/.test(text)) return false;
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text)) {
    const n = Number(text);
    if (Number.isInteger(n) ? Number.isSafeInteger(n) : Number.isFinite(n)) return n;
    throw new Error(`${text} is more than a browser can count: use kubectl`);
  }
  const unclear = (/^[-+.]?[\d_.:]+([eE][-+]?\d*)?$/.test(text) && !/^\d+(\.\d+){2,}$/.test(text)) ||
    /^[-+]?0[xob][\da-f_]+$/i.test(text) ||
    /^\d{4}-\d\d?-\d\d?([Tt\s].*)?$/.test(text);
  if (unclear || /^(yes|no|on|off|y|n|[-+]?\.inf|\.nan|=|<<|-)$/i.test(text)) {
    throw new Error(`put ${text} in quotes: versions of YAML read it differently`);
  }
  return text;
}

/** Returns the value of one document of the YAML that manifests have. It refuses the rest by its line: anchors, tags, folded text. */
export function parse(text: string): any {
  return new Parser(text).document();
}

interface Row { n: number; indent: number; text: string }

class Parser {
  private readonly raw: string[];
  private at = 0;
  private rewritten: Row | undefined;

  constructor(text: string) {
    this.raw = text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");
  }

  document(): any {
    if (this.peek()?.text.startsWith("--- ") || this.peek()?.text === "---") this.skip();
    const value = this.node(0);
    const left = this.peek();
    if (left) this.fail(left.n, /^(---|\.\.\.)/.test(left.text) ? "one object at a time: a second document begins"
      : "this does not belong to what is above: look at the indentation");
    return value;
  }

  private fail(n: number, message: string): never {
    throw new Error(`line ${n + 1}: ${message}`);
  }

  private peek(): Row | undefined {
    if (this.rewritten) return this.rewritten;
    for (; this.at < this.raw.length; this.at++) {
      const line = this.raw[this.at], text = line.trim();
      if (text === "" || text.startsWith("#")) continue;
      const indent = line.search(/[^ ]/);
      if (line[indent] === "\t") this.fail(this.at, "indent with spaces, not with a tab");
      return { n: this.at, indent, text: line.slice(indent).trimEnd() };
    }
    return undefined;
  }

  private skip(): void {
    this.rewritten = undefined;
    this.at++;
  }

  private node(least: number): any {
    const row = this.peek();
    if (!row || row.indent < least) return null;
    if (isItem(row.text)) return this.sequence(row.indent);
    if (this.key(row)) return this.mapping(row.indent);
    this.skip();
    return this.inline(row.text, least - 1, row.n);
  }

  private sequence(indent: number): any[] {
    const items: any[] = [];
    for (let row = this.peek(); row && row.indent === indent && isItem(row.text); row = this.peek()) {
      const rest = row.text.slice(1).replace(/^\s+#.*/, ""), text = rest.trimStart();
      if (text === "") this.skip();
      else this.rewritten = { n: row.n, indent: indent + 1 + rest.length - text.length, text };
      items.push(this.node(indent + 1));
      this.noDeeper(indent);
    }
    return items;
  }

  private mapping(indent: number): any {
    const fields = new Map<string, any>();
    for (let row = this.peek(); row && row.indent === indent && !isItem(row.text); row = this.peek()) {
      const found = this.key(row);
      if (!found) this.fail(row.n, /^(---|\.\.\.)/.test(row.text) ? "one object at a time: a second document begins"
        : "a field is missing here: write name: value");
      const [key, rest] = found;
      if (fields.has(key)) this.fail(row.n, `${key} is here a second time`);
      this.skip();
      const next = this.peek();
      if (rest !== "") fields.set(key, this.inline(rest, indent, row.n));
      else fields.set(key, next && (next.indent > indent || (next.indent === indent && isItem(next.text))) ? this.node(next.indent) : null);
      this.noDeeper(indent);
    }
    return Object.fromEntries(fields);
  }

  private noDeeper(indent: number): void {
    const next = this.peek();
    if (next && next.indent > indent) this.fail(next.n, "this does not belong to what is above: look at the indentation");
  }

  /** Returns the name of the field that a line begins with, and the text behind it. */
  private key({ text, n }: Row): [string, string] | undefined {
    const found = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{}#&*!|>%@`,][^#]*?)\s*:(?:\s+(.*))?$/.exec(text);
    if (!found) return undefined;
    const [, name, rest = ""] = found, value = this.inline(name, -1, n);
    return [typeof value === "string" ? value : name, rest.startsWith("#") ? "" : rest];
  }

  private inline(text: string, indent: number, n: number): any {
    if (text[0] === "|") return this.literal(text, indent, n);
    const flow = new Flow(text, () => this.rewritten || this.at >= this.raw.length ? undefined : this.raw[this.at++]);
    try {
      return flow.whole();
    } catch (e) {
      this.fail(n, (e as Error).message);
    }
  }

  private literal(head: string, indent: number, n: number): string {
    const found = /^\|([-+]?)\s*(#.*)?$/.exec(head) ?? this.fail(n, "write | or |- or |+, without a number");
    const lines: string[] = [];
    let deep = -1;
    for (; this.at < this.raw.length; this.at++) {
      const line = this.raw[this.at], own = line.search(/[^ ]/);
      if (own >= 0 && own <= indent) break;
      if (own >= 0 && deep < 0) deep = own;
      if (own >= 0 && own < deep) this.fail(this.at, "this line begins before the first line of the text");
      lines.push(deep < 0 ? "" : line.slice(deep));
    }
    const body = lines.join("\n"), text = body.replace(/\n*$/, "");
    if (found[1] === "+") return lines.length ? body + "\n" : "";
    return text && found[1] === "" ? text + "\n" : text;
  }
}

const isItem = (text: string): boolean => text === "-" || /^-\s/.test(text);

/** Reads a value within a line, or within brackets, which may go on in further lines. */
class Flow {
  private at = 0;

  constructor(private text: string, private more: () => string | undefined) {}

  whole(): any {
    const value = this.value(false);
    this.space();
    const rest = this.text.slice(this.at).trim();
    if (rest) throw new Error(`${rest} is too much: put texts with such characters in quotes`);
    return value;
  }

  private space(): void {
    const found = /^(\s+#.*|\s+)+/.exec(this.text.slice(this.at));
    if (found) this.at += found[0].length;
  }

  private next(): string {
    for (this.space(); this.at >= this.text.length; this.space()) {
      const line = this.more();
      if (line === undefined) throw new Error("a bracket is not closed");
      this.text += "\n" + line;
    }
    return this.text[this.at];
  }

  private value(within: boolean): any {
    const first = this.text[this.at], rest = this.text.slice(this.at);
    if (first === "{") return this.object();
    if (first === "[") return this.list();
    const quoted = first === '"' ? /^"(?:[^"\\\n]|\\.)*"/.exec(rest) : first === "'" ? /^'(?:[^'\n]|'')*'/.exec(rest) : undefined;
    if (quoted === null) throw new Error("a quote is not closed in its line");
    if (quoted) {
      this.at += quoted[0].length;
      return first === '"' ? JSON.parse(quoted[0]) : quoted[0].slice(1, -1).replace(/''/g, "'");
    }
    if (/^[&*!|>%@`?,\]}#]/.test(rest) || /^[:-](\s|$)/.test(rest)) {
      throw new Error(`${first} has a meaning that this page does not read: use quotes or plain fields`);
    }
    const plain = (within ? /^(?:[^\s,[\]{}:#]|:(?![\s,[\]{}]|$)|[^\S\n]+(?![\s#]|$)|(?<=\S)#)+/
      : /^(?:[^\s:#]|:(?!\s|$)|[^\S\n]+(?![\s#]|$)|(?<=\S)#)+/).exec(rest);
    if (!plain) throw new Error("a value is missing");
    this.at += plain[0].length;
    return resolve(plain[0].trim());
  }

  private list(): any[] {
    const items: any[] = [];
    for (this.at++; this.next() !== "]"; ) {
      items.push(this.value(true));
      if (this.next() === ",") this.at++;
      else if (this.next() !== "]") throw new Error("a comma or ] is missing");
    }
    this.at++;
    return items;
  }

  private object(): any {
    const fields = new Map<string, any>();
    for (this.at++; this.next() !== "}"; ) {
      const from = this.at, value = this.value(true), key = typeof value === "string" ? value : this.text.slice(from, this.at).trim();
      if (this.next() !== ":") throw new Error(`a colon is missing after ${key}`);
      if (fields.has(key)) throw new Error(`${key} is here a second time`);
      this.at++;
      const none = /[,}]/.test(this.next());
      fields.set(key, none ? null : this.value(true));
      if (this.next() === ",") this.at++;
      else if (this.next() !== "}") throw new Error("a comma or } is missing");
    }
    this.at++;
    return Object.fromEntries(fields);
  }
}
