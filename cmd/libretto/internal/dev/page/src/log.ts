// What hooks log.
import { empty, fill, filterField, h, time } from "./dom.ts";
import { Log } from "./model.ts";
import { Rows } from "./rows.ts";
import { App, View } from "./view.ts";

export class LogView implements View {
  readonly element: HTMLElement;
  private readonly rows: Rows;
  private readonly nothing = h("div");
  private shown: Log[] = [];
  private text = "";

  constructor(private app: App) {
    this.rows = new Rows("Log lines, the newest first", 26, String, (i) => this.row(this.shown[this.shown.length - 1 - i]));
    this.element = h("section.page.log", null, h("div.bar", null,
      filterField("Filter log", (text) => { this.text = text; this.update(); })), this.nothing, this.rows.element);
  }

  update(): void {
    const before = this.shown.length;
    this.shown = this.app.model.log.filter((l) => !this.text ||
      `${l.definition} ${l.hook} ${l.parent} ${l.text}`.toLowerCase().includes(this.text));
    fill(this.nothing, this.shown.length === 0 && empty("No log lines", "What a hook logs, by console.log in JavaScript, is listed here."));
    this.rows.update(this.shown.length, this.shown.length - before);
  }

  open(): void {}

  shortcut(): boolean {
    return false;
  }

  private row(l: Log): HTMLElement {
    return h("div.log-row", { title: `${l.definition}, hook ${l.hook}` }, h("span.when", null, time(l.time)), h("span.kind", null, l.hook),
      h("span.name", null, l.parent), h("span.text", null, l.text));
  }
}
