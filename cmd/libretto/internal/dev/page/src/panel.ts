// One object: what it is, what happened to it, and what can be done to it.
import { yaml } from "./code.ts";
import { button, choice, dialog, empty, fill, h, icon, iconButton, plural, say, sayError, time } from "./dom.ts";
import { example, skeleton } from "./kube.ts";
import { Item, KubeObject, Pass } from "./model.ts";
import { parse, print, toYAML } from "./yaml.ts";
import { App } from "./view.ts";

const tabs = ["YAML", "Events", "Passes"];

export class Panel {
  readonly element = h("aside.panel.detail", { "aria-label": "Object", hidden: true });
  private uid = "";
  private tab = "YAML";
  private item: Item | undefined;
  private readonly body = h("div.panel-body");
  private editing = false;
  private area: HTMLTextAreaElement | undefined;
  private lines: string[] = [];
  private readonly switches = new Map<string, string>();

  constructor(private app: App, private close: () => void) {}

  open(uid: string): void {
    if (uid === this.uid && !this.element.hidden === !!uid) return;
    this.uid = uid;
    this.editing = false;
    this.item = undefined;
    this.element.hidden = !uid;
    if (uid) this.draw();
  }

  update(topics: Set<string>): void {
    if (!this.uid || this.editing) return;
    const item = this.app.model.items.get(this.uid);
    if (item !== this.item && (item || this.app.model.synced)) this.draw();
    else if (this.tab === "Passes" && topics.has("passes")) this.drawBody();
  }

  shortcut(key: string): boolean {
    if (!this.uid) return false;
    if (key === "Escape" && !this.editing) this.close();
    else if (key === "Escape") isChanged(this.area) ? say("Cancel leaves what you have typed; Ctrl+Enter saves it") : this.cancel();
    else if (key === "e" && this.item && !this.app.model.meta.live && !this.editing) this.edit();
    else if (key === "d" && this.item && !this.app.model.meta.live) this.remove();
    else return false;
    return true;
  }

  private draw(): void {
    const before = this.item?.object, item = this.app.model.items.get(this.uid);
    this.item = item;
    if (!item) {
      return fill(this.element, h("header", null, h("h2.grow", null, "Gone"), this.closer()),
        empty("This object is no longer there", before ? `${before.kind} ${before.metadata.name} was deleted.` : ""));
    }
    const { object, state } = item, m = object.metadata;
    fill(this.element,
      h("header", null, h("div.grow", null, h("div.sub", null, `${object.kind} · ${object.apiVersion}`), h("h2", null, m.name)),
        this.closer()),
      h("div.facts", null, h("span.state." + state, null, icon("s-" + state), state), m.namespace &&
        h("span", null, "namespace ", h("b", null, m.namespace)),
        item.definition && item.role !== "definition" && h("span", null, item.definition)),
      item.message && h("p.message." + state, null, item.message),
      h("div.actions.writes", null,
        button("Edit", () => this.edit(), { title: "Edit as YAML (e)", "data-focus": "edit" }),
        button("Delete", () => this.remove(), { title: "Delete (d)", "data-focus": "delete" }, "button.danger"),
        item.role !== "definition" && item.role !== "crd" && button("New like this", () => newObject(this.app, object),
          { "data-focus": "new" }),
        (item.role === "child" || item.role === "other") && h("div.ready-switch", null, h("span.sub", null, "Becomes"),
          choice("Readiness of the object", [["null", "as usual"], ["true", "ready"], ["false", "failing"]],
            this.switches.get(item.uid) ?? "null", (v) => this.setReady(v)))),
      h("div.tabs", { role: "group", "aria-label": "Show" }, tabs.map((name) => button(name, () => { this.tab = name; this.draw(); },
        { "aria-pressed": String(name === this.tab), "data-focus": "tab" + name }))),
      this.body);
    this.drawBody(before);
  }

  private closer(): HTMLElement {
    return iconButton("i-close", "Close (Esc)", () => this.close());
  }

  private drawBody(before?: KubeObject): void {
    const item = this.item!;
    if (this.tab === "YAML") return this.drawYAML(item, before);
    if (this.tab === "Passes") {
      const passes = this.app.model.passes.filter((p) => p.parent.uid === item.uid ||
        p.writes?.some((w) => isOf(w, item.object))).reverse();
      return fill(this.body, passes.length ? h("ul.plain", null, passes.map((p) => passRow(p, this.app)))
        : empty("No pass yet", "Passes over this object, or that wrote it, are listed here."));
    }
    if (!this.body.querySelector(".events")) fill(this.body, h("p.sub", null, "Reading events…"));
    this.app.kube.events(item).then((events) => item === this.item && this.tab === "Events" && fill(this.body, events.length
      ? h("ul.plain.events", null, events.map((e) => h("li" + (e.type === "Warning" ? ".warning" : ""), null,
        h("div", null, h("b", null, e.reason), h("span.sub", null,
          ` ${time(e.when).slice(0, 8)}${e.count > 1 ? ` · ${e.count} times` : ""}`)), h("div", null, e.message))))
      : empty("No events", "Nothing has been reported about this object.")), sayError);
  }

  /** Draws the object. Lines that were not in it before are marked for a moment. */
  private drawYAML(item: Item, before?: KubeObject): void {
    const old = new Set(before ? this.lines : []), top = this.body.firstElementChild?.scrollTop ?? 0;
    this.lines = print(item.object).map((line) => line.text);
    fill(this.body, yaml(item.object, "YAML of the object", (line) => (before && !old.has(line.text) ? "fresh" : undefined)));
    if (before) this.body.firstElementChild!.scrollTop = top;
  }

  private edit(): void {
    const { object } = this.item!, { status, ...rest } = object;
    this.editing = true;
    this.app.kube.resource(object).then((resource) => {
      const area = (this.area = editor(toYAML(resource.status ? rest : object), () => save()));
      const save = async () => {
        try {
          const edited = parse(area.value);
          await this.app.kube.update(resource.status && status !== undefined ? { ...edited, status } : edited);
          say(`Saved ${object.kind} ${object.metadata.name}`);
          this.cancel();
        } catch (e) {
          fill(problem, (e as Error).message);
        }
      };
      const problem = h("p.message.failing", { role: "alert" });
      fill(this.body, h("div.editing", null, area, problem, h("div.actions", null,
        button("Save", save, { title: "Ctrl+Enter" }, "button.primary"), button("Cancel", () => this.cancel()),
        resource.status && h("span.sub", null, "The status is left out: who reconciles writes it."))));
      atStart(area);
    }, (e) => { this.editing = false; sayError(e); });
  }

  private cancel(): void {
    this.editing = false;
    this.draw();
    this.element.querySelector<HTMLElement>('[data-focus="edit"]')?.focus();
  }

  private remove(): void {
    const { object } = this.item!, below = [...this.app.model.items.values()].filter((i) => i.owner === this.uid).length;
    const d = dialog(`Delete ${object.kind} ${object.metadata.name}?`,
      h("p", null, below ? `${plural(below, "object")} that it owns will go with it.` : "Its parent's next pass may create it anew."),
      h("div.actions", null, button("Delete", () => {
        d.close();
        this.app.kube.remove(object).then(() => say(`Deleted ${object.kind} ${object.metadata.name}`), sayError);
      }, { autofocus: true }, "button.danger"), button("Cancel", () => d.close())));
  }

  private setReady(value: string): void {
    const { apiVersion, kind, metadata: { namespace, name } } = this.item!.object;
    this.switches.set(this.uid, value);
    this.app.backend.request("POST", "/dev/v1/ready", { apiVersion, kind, namespace: namespace ?? "", name, ready: JSON.parse(value) })
      .then(() => say(value === "null" ? `${name} becomes ready as usual` : `${name} becomes ${value === "true" ? "ready" : "failing"}`),
        sayError);
  }
}

const isOf = (w: { kind: string; namespace: string; name: string }, o: KubeObject): boolean =>
  w.kind === o.kind && w.name === o.metadata.name && (w.namespace ?? "") === (o.metadata.namespace ?? "");

/** Returns a line about a pass, as a link to it. */
export function passRow(p: Pass, app: App): HTMLElement {
  return h("li", null, button([icon(p.error ? "s-failing" : "s-ready"), h("span.sub", null, time(p.time)),
    h("span.grow", null, p.writes?.length ? plural(p.writes.length, "write") : "nothing to write"),
    h("span.sub", null, p.durationMillis.toFixed(1) + " ms")], () => app.go("passes", String(p.id)), {},
      "button.line-button" + (p.error ? ".failing" : "")));
}

/** Returns a field for YAML. Ctrl+Enter and Ctrl+S save. */
export function editor(text: string, save: () => void): HTMLTextAreaElement {
  const area = h("textarea.code", { spellcheck: "false", autocapitalize: "off", "aria-label": "YAML", keydown: (e: KeyboardEvent) => {
    if ((e.ctrlKey || e.metaKey) && (e.key === "Enter" || e.key === "s")) e.preventDefault(), save();
  } }) as HTMLTextAreaElement;
  area.defaultValue = text;
  return area;
}

/** Opens a dialog for a new object: like another one, or from an example of a kind. */
export function newObject(app: App, like?: KubeObject): void {
  const examples = like ? new Map([[like.kind, toYAML(renamed(app, example(like)))]]) : examplesOf(app);
  if (examples.size === 0) return say("No kind of parent is known yet: write a definition and its CustomResourceDefinition into the folder",
    true);
  const area = editor([...examples.values()][0], () => create());
  const select = h("select", { "aria-label": "Kind", change: () =>
    (area.value = area.defaultValue = examples.get((select as HTMLSelectElement).value) ?? "") },
    [...examples.keys()].map((kind) => h("option", null, kind)));
  const problem = h("p.message.failing", { role: "alert" });
  const create = async () => {
    try {
      const created = await app.kube.create(parse(area.value));
      d.close();
      say(`Created ${created.kind} ${created.metadata.name}`);
      if (created.metadata.uid) app.go("objects", created.metadata.uid);
    } catch (e) {
      fill(problem, (e as Error).message);
    }
  };
  const d = dialog("New object", h("div.row-fields", null, h("label", null, "Kind ", select), h("span.sub", null, "in YAML or JSON")), area,
    problem,
    h("div.actions", null, button("Create", create, { title: "Ctrl+Enter" }, "button.primary"), button("Cancel", () => d.close())));
  d.addEventListener("cancel", (e) => isChanged(area) && e.preventDefault());
  atStart(area);
}

/** Reports whether somebody has typed into a field. */
const isChanged = (area: HTMLTextAreaElement | undefined): boolean => !!area && area.value !== area.defaultValue;

/** Focuses a field at its first line; in the next frame, so that it does not get the key by which it was opened. */
export function atStart(area: HTMLTextAreaElement): void {
  requestAnimationFrame(() => {
    area.setSelectionRange(0, 0);
    area.focus();
    area.scrollTop = 0;
  });
}

/** Returns an example of each kind of parents: the object of a file, one that is there, or what the schema requires. */
function examplesOf(app: App): Map<string, string> {
  const { items, files } = app.model, examples = new Map<string, string>();
  const parents = [...items.values()].filter((i) => i.role === "parent"), crds = [...items.values()].filter((i) => i.role === "crd");
  for (const crd of crds) {
    const { kind } = crd.object.spec.names, there = parents.find((i) => i.object.kind === kind);
    examples.set(kind, fromFiles(files, kind) ?? toYAML(there ? example(there.object) : skeleton(crd.object)));
  }
  for (const { object } of parents) if (!examples.has(object.kind)) examples.set(object.kind, toYAML(example(object)));
  for (const kind of kindsOf(files)) if (!examples.has(kind)) examples.set(kind, fromFiles(files, kind) ?? "");
  const taken = (text: string) => {
    try {
      const o = parse(text);
      return parents.some((i) => i.object.kind === o.kind && i.object.metadata.name === o.metadata.name) ? toYAML(renamed(app, o)) : text;
    } catch {
      return text;
    }
  };
  return new Map([...examples].map(([kind, text]) => [kind, taken(text)]));
}

const documentsOf = (files: Map<string, string>): string[] => [...files].flatMap(([path, text]) =>
  /\.ya?ml$/.test(path) && !/_test\.yaml$/.test(path) ? text.split(/^---.*$/m) : []);

const kindOf = (document: string): string => /^kind: ['"]?(\w+)['"]?\s*$/m.exec(document)?.[1] ?? "";

/** What a folder is made of, rather than an example of what its definitions act on. */
const ofFolder = /^$|Controller$|^(CustomResourceDefinition|Kustomization|Component|ConfigMap)$/;

const kindsOf = (files: Map<string, string>): string[] => documentsOf(files).map(kindOf).filter((kind) => !ofFolder.test(kind));

const fromFiles = (files: Map<string, string>, kind: string): string | undefined =>
  documentsOf(files).find((document) => kindOf(document) === kind)?.replace(/^\s*\n/, "");

function renamed(app: App, o: KubeObject): KubeObject {
  const base = o.metadata.name.replace(/-\d+$/, "");
  for (let i = 2; ; i++) if (!app.model.find(o.kind, o.metadata.namespace ?? "default", `${base}-${i}`)) return { ...o,
    metadata: { ...o.metadata, name: `${base}-${i}` } };
}
