// Edits of scripts: what serves beside what was edited, and why the edit is held.
import { sideBySide } from "./code.ts";
import { button, copy, empty, fill, h, icon, say, sayError } from "./dom.ts";
import { Edit, Item } from "./model.ts";
import { App, View } from "./view.ts";

export class Edits implements View {
  readonly element = h("section.page.edits");
  private readonly served = new Map<string, Record<string, string>>();
  private drawn = "";
  private files: Map<string, string> | undefined;

  constructor(private app: App) {}

  update(): void {
    const { model } = this.app, heldFirst = (a: Edit, b: Edit) => Number(b.held) - Number(a.held) || (a.definition < b.definition ? -1 : 1);
    const edits = [...model.edits.values()].sort(heldFirst);
    const signature = JSON.stringify([edits, edits.map((e) => model.definition(e.definition))]);
    if (this.drawn === signature && this.files === model.files) return;
    this.drawn = signature;
    this.files = model.files;
    fill(this.element, edits.length === 0 ? empty("No edits yet",
      "Edit a script of the folder. Its difference is shown here, and whether it serves or is held.")
      : edits.map((e) => this.drawEdit(e)));
  }

  open(): void {}

  shortcut(): boolean {
    return false;
  }

  private drawEdit(e: Edit): HTMLElement {
    const definition = this.app.model.definition(e.definition), changes = h("div.changes");
    const isReady = !e.reason || /serv|complete/i.test(e.reason);
    const state = e.held || (definition?.state === "failing" && e.message) ? "failing" : isReady ? "ready" : "waiting";
    const word = e.held ? "held" : state === "failing" ? "not served" : state === "ready" ? "serves" : "on its way";
    if (definition && (!this.app.model.meta.live || this.app.model.files.size > 0)) this.drawChanges(changes, definition);
    return h("article.edit", null,
      h("header", null, h("div.grow", null, h("h2", null, e.definition), h("div.sub", null, "revision ", h("code", null, e.revision))),
      h("span.state." + state, null, icon("s-" + state), word)),
      (e.message || (e.reason && state !== "ready")) && h("div.why." + state, null, e.reason && h("b", null, e.reason), e.message &&
        h("p", null, e.message)),
      e.held && definition && h("div.actions.writes", null, button("Let it through", () => this.approve(definition, e.revision),
        { title: "Approves this revision, and no other" })),
      e.commands?.length > 0 && h("ul.commands", { "aria-label": "Commands" },
        e.commands.map((c) => h("li", null, h("code", null, c), button([icon("i-copy"), "Copy"], () => copy(c),
        { "aria-label": "Copy " + c })))),
      changes);
  }

  private approve({ object }: Item, revision: string): void {
    const annotations = { ...object.metadata.annotations, "metacontroller.k8s.io/approved-revision": revision };
    this.app.kube.update({ ...object, metadata: { ...object.metadata, annotations } }).then(() => say(`Approved ${revision}`), sayError);
  }

  /** Draws what differs in the folder from what serves, or else what the last edit has changed. */
  private async drawChanges(target: HTMLElement, definition: Item): Promise<void> {
    const { scriptRevision, previousScriptRevisionHash } = definition.object.status ?? {};
    for (const id of [scriptRevision, previousScriptRevisionHash].filter(Boolean).map((hash) => hash.slice(0, 16))) {
      let before: Record<string, string>;
      try {
        before = await this.revision(definition, id);
      } catch (e) {
        return fill(target, h("p.sub", null, `What served before can't be read: ${(e as Error).message}`));
      }
      const after = (path: string) => this.edited(path, this.app.model.files, definition);
      const changed = Object.entries(before).map(([path, text]) => [path, text, after(path) ?? text]).filter(([, a, b]) => a !== b);
      const edited = this.app.model.meta.live ? "in the folder" : "edited";
      const heads: [string, string] = id === scriptRevision ? ["serves now", edited] : ["served before", "serves now"];
      fill(target, changed.map(([path, a, b]) => h("section", null, h("h3", null, h("code", null, path)), sideBySide(path, heads, a, b))));
      if (changed.length > 0) return;
    }
    fill(target, h("p.sub", null, "There is no earlier revision from which it differs."));
  }

  /** Returns the files of a revision; those that were found once are kept. */
  private async revision(definition: Item, id: string): Promise<Record<string, string>> {
    const key = `${definition.uid}/${id}`, files = this.served.get(key) ?? (await this.app.kube.revision(definition, id));
    if (files) this.served.set(key, files);
    return files ?? {};
  }

  /** Returns the text of a script as it is in the folder: a file of that name, or a key of a ConfigMap that is in the cluster. */
  private edited(path: string, files: Map<string, string>, definition: Item): string | undefined {
    for (const source of definition.object.spec?.scriptSources ?? []) {
      const map = source.configMap && this.app.model.find("ConfigMap", source.configMap.namespace ?? definition.object.metadata.namespace,
        source.configMap.name);
      if (map?.object.data?.[path] !== undefined) return map.object.data[path];
    }
    const found = [...files.keys()].find((f) => f === path) ?? [...files.keys()].find((f) => f.endsWith("/" + path));
    return found === undefined ? undefined : files.get(found);
  }
}
