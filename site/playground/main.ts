// The playground: files and an editor at the left, and the page of libretto dev at the right, whose host is in a worker.
import { basicSetup, EditorView } from "codemirror";
import { keymap } from "@codemirror/view";
import { Compartment, EditorState } from "@codemirror/state";
import { languageServerExtensions, LSPClient } from "@codemirror/lsp-client";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { javascript } from "@codemirror/lang-javascript";
import { yaml } from "@codemirror/lang-yaml";
import { tags } from "@lezer/highlight";
import { start } from "../../cmd/libretto/internal/dev/page/src/app.ts";
import { button, fill, h, sayError } from "../../cmd/libretto/internal/dev/page/src/dom.ts";
import { root } from "./files.js";
import { Host, Texts } from "./host.ts";
import { decode, encode, isFree } from "./link.ts";

const base = new URL(".", import.meta.url).href;
const first = "examples/hello";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null], color: "var(--keyword)" }, { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" }, { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--field)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
]);

// languageOf returns how a file is highlighted. Jsonnet is near enough to JavaScript for that.
function languageOf(path: string) {
  if (/\.(ya?ml|json)$/.test(path)) return yaml();
  return javascript({ typescript: path.endsWith(".ts") });
}

class Playground {
  private texts: Texts = {};
  private current = "";
  private name = "";
  private loadedTexts: Texts = {};
  private yours?: Texts; // What was edited last, before other files were opened.
  private link = "";
  private saving = 0;
  private language = new Compartment();
  private server = new Compartment();
  private client?: LSPClient;
  private tabs = h("div.files", { role: "tablist", "aria-label": "Files" });
  private say = h("p.host-state", { role: "status" });
  private picker = h("select", { "aria-label": "Example", change: () => this.pick((this.picker as HTMLSelectElement).value) }) as HTMLSelectElement;
  private host = new Host(base, (text, kind) => {
    this.say.textContent = text;
    this.say.className = "host-state " + kind;
  });
  private view = new EditorView({
    parent: document.getElementById("editor")!,
    state: EditorState.create({ extensions: [
      basicSetup, this.language.of([]), this.server.of([]), syntaxHighlighting(colours), EditorView.contentAttributes.of({ "aria-label": "The file" }),
      EditorView.updateListener.of((update) => update.docChanged && this.edited()),
      keymap.of([{ key: "Mod-s", run: () => (this.save(), true), preventDefault: true }]),
    ] }),
  });

  constructor(private examples: { name: string; title: string; group: string }[]) {
    const groups = [...new Set(examples.map((e) => e.group))];
    fill(this.picker, h("option", { value: "" }, "Your files"), groups.map((group) => h("optgroup", { label: group },
      examples.filter((e) => e.group === group).map((e) => h("option", { value: e.name }, e.title)))));
    document.getElementById("bar")!.append(this.picker, button("New file", () => this.add()), button("Copy link", () => this.share()), this.say);
    document.getElementById("tabs")!.append(this.tabs);
    this.host.onReady = () => this.connect();
  }

  async open(): Promise<void> {
    start(document.getElementById("page")!, this.host);
    addEventListener("hashchange", () => location.hash !== this.link && this.openLink());
    addEventListener("pagehide", () => sessionStorage.setItem(location.search, JSON.stringify([this.name, this.texts, this.loadedTexts])));
    const asked = new URLSearchParams(location.search).get("open") ?? "", kept = sessionStorage.getItem(location.search);
    if (kept && (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming).type !== "navigate") {
      this.link = location.hash;
      return this.show(...JSON.parse(kept) as [string, Texts, Texts]);
    }
    if (!await this.openLink()) await this.pick(this.examples.some((e) => e.name === asked) ? asked : first);
  }

  // openLink opens the files of the address, and reports whether it has any.
  private async openLink(): Promise<boolean> {
    const texts = await decode(location.hash).catch((error) => sayError(`The link can't be read, as if a part of it were missing: ${error}`));
    if (texts) this.link = location.hash, this.show("", texts);
    return Boolean(texts);
  }

  // connect has the editor ask the language server of a host that has begun.
  private connect(): void {
    let handlers: ((message: string) => void)[] = [];
    this.host.onEdited = (message) => handlers.forEach((handle) => handle(message));
    this.client = new LSPClient({ rootUri: "file://" + root, timeout: 20_000, extensions: languageServerExtensions() }).connect({
      send: (message) => this.host.edit(message),
      subscribe: (handle) => { handlers.push(handle); },
      unsubscribe: (handle) => { handlers = handlers.filter((one) => one !== handle); },
    });
    this.view.dispatch({ effects: this.server.reconfigure(this.served(this.current)) });
  }

  private served(path: string) {
    return this.client && path ? this.client.plugin(`file://${root}/${path}`, /\.ya?ml$/.test(path) ? "yaml" : path.split(".").at(-1)) : [];
  }

  private async pick(name: string): Promise<void> {
    if (!name && this.yours) return this.show("", this.yours);
    this.picker.value = name || this.name;
    if (!name) return;
    const texts = await fetch(`${base}folders/${name}.json`).then((response) => response.ok ? response.json() : Promise.reject(new Error(response.statusText)))
      .catch((error) => sayError(`${name} can't be loaded: ${error}`));
    if (this.picker.value !== name) return; // Others were chosen meanwhile.
    if (texts) this.show(name, texts);
    else this.picker.value = this.name;
  }

  // show begins with files, of which loaded is what they were before they were edited.
  private show(name: string, texts: Texts, loaded = texts): void {
    if (this.isEdited()) this.yours = this.texts;
    [this.name, this.texts, this.loadedTexts, this.client] = [name, { ...texts }, loaded, undefined];
    this.picker.value = name;
    clearTimeout(this.saving);
    this.saving = 0;
    this.current = "";
    this.select(inOrder(texts)[0] ?? "");
    this.host.start(this.texts);
  }

  private drawTabs(): void {
    fill(this.tabs, inOrder(this.texts).map((path) => h("button.file", {
      role: "tab", type: "button", "aria-selected": String(path === this.current), click: () => this.select(path),
      title: this.texts[path] === this.loadedTexts[path] ? path : path + ", edited",
    }, path, this.texts[path] !== this.loadedTexts[path] && h("span.edited", { "aria-label": "edited" }, "•"))));
  }

  private select(path: string): void {
    if (path === this.current) return;
    if (this.saving) this.save(); // The file that is left.
    this.current = "";
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: this.texts[path] ?? "" }, effects: [this.language.reconfigure(languageOf(path)), this.server.reconfigure(this.served(path))] });
    this.current = path;
    this.drawTabs();
  }

  // edited saves the file a moment after the last key.
  private edited(): void {
    if (!this.current) return;
    const was = this.texts[this.current] === this.loadedTexts[this.current];
    this.texts[this.current] = this.view.state.doc.toString();
    if (was) this.drawTabs();
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => this.save(), 600);
  }

  private save(): void {
    clearTimeout(this.saving);
    this.saving = 0;
    if (!this.host.runs) {
      this.host.start(this.texts);
      return;
    }
    const path = this.current;
    this.host.request("PUT", "/dev/v1/files/" + path.split("/").map(encodeURIComponent).join("/"), this.texts[path])
      .catch((error) => error.message.includes("was stopped") || sayError(`${path}: ${error.message}`));
  }

  private add(): void {
    const path = prompt("The name of the new file, such as sync.js or parent.yaml")?.trim();
    if (!path || Object.hasOwn(this.texts, path)) return;
    if (!isFree(path, this.texts)) return sayError(`no file can be named ${path}`);
    this.texts[path] = "";
    this.select(path);
    this.view.focus();
  }

  private async share(): Promise<void> {
    const link = new URL(location.pathname + (this.isEdited() ? "#" + await encode(this.texts) : "?open=" + this.name), location.href).href;
    history.replaceState(null, "", link);
    this.link = location.hash;
    const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
    this.say.className = "host-state ready";
    this.say.textContent = `The link is ${copied ? "copied" : "in the address bar"}. It holds the files: nothing was sent`;
  }

  // isEdited reports whether the files are others than those of an example.
  private isEdited(): boolean {
    return Object.keys(this.texts).some((path) => this.texts[path] !== this.loadedTexts[path] || !this.name);
  }
}

// inOrder returns the names of files: scripts, definitions, what they are given, and tests.
function inOrder(texts: Texts): string[] {
  const rank = (path: string) => (/_test\.|(^|\/)testdata\//.test(path) ? 3 : !/\.(ya?ml|json)$/.test(path) ? 0 : /kind: (Namespaced)?\w+Controller\b/.test(texts[path]) ? 1 : 2);
  return Object.keys(texts).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

const examples = await (await fetch(base + "folders.json")).json();
await new Playground(examples).open();
