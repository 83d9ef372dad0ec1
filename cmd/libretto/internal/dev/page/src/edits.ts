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
  private chosen = "";

  constructor(private app: App) {}

  update(): void {
    const { model } = this.app, heldFirst = (a: Edit, b: Edit) => Number(b.held) - Number(a.held) || (a.definition < b.definition ? -1 : 1);
    const edits = [...model.edits.values()].sort(heldFirst);
    const signature = JSON.stringify([edits, edits.map((e) => this.revisions(e))]);
    if (this.drawn === signature && this.files === model.files) return;
    this.drawn = signature;
    this.files = model.files;
    fill(this.element, edits.length === 0 ? empty("No edits yet",
      "Edit a script of the folder. Its difference is shown here, and whether it serves or is held.")
      : edits.map((e) => this.drawEdit(e)));
    if (this.chosen) this.element.querySelector(`[data-definition="${CSS.escape(this.chosen)}"]`)?.scrollIntoView({ block: "start" });
  }

  open(definition: string): void {
    this.chosen = definition;
  }

  shortcut(): boolean {
    return false;
  }

  /** Returns the revision to compare with: what serves while an edit waits, what served before once it has taken over. */
  private revisions(e: Edit): { definition?: Item; before?: string } {
    const definition = this.app.model.definition(e.definition), status = definition?.object.status ?? {};
    const serves = status.scriptRevision?.slice(0, 16);
    const waits = serves && serves !== e.revision?.slice(0, 16);
    return { definition, before: waits ? serves : status.previousScriptRevisionHash?.slice(0, 16) };
  }

  private drawEdit(e: Edit): HTMLElement {
    const { definition, before } = this.revisions(e), changes = h("div.changes");
    const state = e.held ? "failing" : !e.reason || /serv|complete/i.test(e.reason) ? "ready" : "waiting";
    if (this.app.model.meta.live) fill(changes);
    else if (definition && before) this.drawChanges(changes, definition, before);
    else fill(changes, h("p.sub", null, "There is no earlier revision to compare with."));
    return h("article.edit", { "data-definition": e.definition },
      h("header", null, h("div.grow", null, h("h2", null, e.definition), h("div.sub", null, "revision ", h("code", null, e.revision))),
      h("span.state." + state, null, icon("s-" + state), e.held ? "held" : state === "ready" ? "serves" : "on its way")),
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

  private async drawChanges(target: HTMLElement, definition: Item, id: string): Promise<void> {
    const key = `${definition.uid}/${id}`;
    try {
      if (!this.served.has(key)) this.served.set(key, (await this.app.kube.revision(definition, id)) ?? {});
    } catch (e) {
      return fill(target, h("p.sub", null, `What served before can't be read: ${(e as Error).message}`));
    }
    const before = this.served.get(key)!, files = this.app.model.files, changed: [string, string, string][] = [];
    for (const [path, text] of Object.entries(before)) {
      const after = this.edited(path, files, definition);
      if (after !== undefined && after !== text) changed.push([path, text, after]);
    }
    fill(target, changed.length === 0 ? h("p.sub", null, "No text of its scripts differs in the folder.")
      : changed.map(([path, a, b]) => h("section", null, h("h3", null, h("code", null, path)), sideBySide(path, a, b))));
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
