// Passes over parents as they happen, and each with what it asked, read, answered and wrote.
import { valueDiff, yaml } from "./code.ts";
import { button, empty, fill, filterField, h, icon, iconButton, plural, sayError, time } from "./dom.ts";
import { Call, Pass, Write, nameOf } from "./model.ts";
import { Rows } from "./rows.ts";
import { App, View } from "./view.ts";

export class Passes implements View {
  readonly element: HTMLElement;
  private readonly rows: Rows;
  private readonly strip = h("canvas.strip", { "aria-hidden": "true" }) as HTMLCanvasElement;
  private readonly detail = h("aside.detail.pass", { "aria-label": "Pass" });
  private readonly nothing = h("div");
  private shown: Pass[] = [];
  private text = "";
  private hideIdle = false;
  private opened = "";
  private newest = 0;
  private onlyRead = false;

  constructor(private app: App) {
    this.rows = new Rows("Passes, the newest first", 30, (i) => String(this.at(i).id), (i) => this.row(this.at(i)), (id) =>
      app.go("passes", id));
    this.strip.addEventListener("click", (e) => {
      const bar = Math.floor((this.strip.clientWidth - e.offsetX) / barWidth);
      if (this.shown[this.shown.length - 1 - bar]) app.go("passes", String(this.shown[this.shown.length - 1 - bar].id));
    });
    const idle = h("input", { type: "checkbox", change: () => { this.hideIdle = (idle as HTMLInputElement).checked; this.update(); } });
    this.element = h("section.split.passes", null,
      h("div.main-part", null, h("div.bar", null, filterField("Filter passes", (text) => { this.text = text; this.update(); }),
        h("span.grow"),
        h("label.check", null, idle, "Only with writes or errors")), this.strip, this.nothing, this.rows.element), this.detail);
    new ResizeObserver(() => this.drawStrip()).observe(this.strip);
    this.drawNothing();
  }

  private at = (i: number): Pass => this.shown[this.shown.length - 1 - i];

  update(): void {
    this.shown = this.app.model.passes.filter((p) => (!this.hideIdle || p.error || p.writes?.length) &&
      (!this.text || `${p.definition} ${p.parent.kind} ${nameOf(p.parent)} ${p.error}`.toLowerCase().includes(this.text)));
    const newest = this.shown[this.shown.length - 1]?.id ?? 0, added = this.shown.filter((p) => p.id > this.newest).length;
    this.newest = newest;
    this.rows.update(this.shown.length, added);
    fill(this.nothing, this.shown.length === 0 && (this.app.model.meta.live ? empty("Passes are not shown of a live cluster",
      "Another host makes them: its traces and log have them.")
      : empty("No pass yet", "Each time that a hook may have something new to say about a parent, a pass over it is listed here.")));
    this.drawStrip();
  }

  open(id: string): void {
    if (!id) return this.closeDetail();
    if (id === this.opened) return;
    this.opened = id;
    this.rows.active = id;
    this.element.toggleAttribute("data-detail", true);
    this.app.backend.request("GET", "/dev/v1/passes/" + id).then((p: Pass) => this.opened === id && this.drawPass(p))
      .catch((e) => { sayError(e); fill(this.detail, empty("This pass is no longer kept", "The host keeps the last 500.")); });
  }

  shortcut(key: string): boolean {
    if (key !== "Escape" || !this.opened) return false;
    this.app.go("passes", "");
    this.rows.element.focus();
    return true;
  }

  private closeDetail(): void {
    this.opened = "";
    this.rows.active = undefined;
    this.element.removeAttribute("data-detail");
    this.drawNothing();
    this.rows.update(this.shown.length);
  }

  private drawNothing(): void {
    fill(this.detail, empty("Choose a pass", "It shows what the hook was asked, what of it was read, the answer, and the writes."));
  }

  private row(p: Pass): HTMLElement {
    const writes = p.writes ?? [];
    return h("div.pass-row" + (p.error ? ".failing" : writes.length ? "" : ".idle"), null, icon(p.error ? "s-failing" : writes.length
      ? "s-ready" : "s-other"),
      h("span.when", null, time(p.time)), h("span.name", null, nameOf(p.parent)), h("span.kind", null, p.parent.kind),
      p.error ? h("span.note", null, p.error) : h("span.deltas", null, writes.length === 0 && h("span.sub", null, "no writes"),
        writes.slice(0, 4).map((w) => {
        const [kind, sign] = changeOf(w), own = w.kind === p.parent.kind && w.name === p.parent.name;
        return h("span." + kind, { title: `${w.verb} ${w.kind} ${w.name}` }, sign, " ", own ? (/status/.test(w.verb) ? "status" : w.kind)
          : `${w.kind} ${w.name}`);
      }), writes.length > 4 && h("span.sub", null, `and ${writes.length - 4} more`)),
      h("span.millis", null, p.durationMillis < 10 ? p.durationMillis.toFixed(1) : Math.round(p.durationMillis),
        h("span.unit", null, " ms")));
  }

  /** Draws a bar for each pass, the newest at the right: its height is how long it took, its colour what came of it. */
  private drawStrip(): void {
    const { clientWidth: width, clientHeight: height } = this.strip, scale = devicePixelRatio, c = this.strip.getContext("2d")!;
    if (!width) return;
    this.strip.width = width * scale;
    this.strip.height = height * scale;
    c.scale(scale, scale);
    const style = getComputedStyle(this.strip), colour = (name: string) => style.getPropertyValue(name);
    const idle = colour("--line-strong"), wrote = colour("--accent"), failed = colour("--failing");
    const bars = this.shown.slice(-Math.floor(width / barWidth)), most = Math.max(5, ...bars.map((p) => p.durationMillis));
    bars.reverse().forEach((p, i) => {
      const tall = Math.max(3, Math.sqrt(p.durationMillis / most) * (height - 8));
      c.fillStyle = p.error ? failed : p.writes?.length ? wrote : idle;
      c.beginPath();
      c.roundRect(width - (i + 1) * barWidth + 1, height - tall, barWidth - 2, tall, [2, 2, 0, 0]);
      c.fill();
    });
  }

  private drawPass(p: Pass): void {
    const parent = this.app.model.items.get(p.parent.uid);
    fill(this.detail, h("header", null, h("div.grow", null, h("div.sub", null,
      `Pass ${p.id} · ${time(p.time)} · ${p.durationMillis.toFixed(1)} ms`),
      h("h2", null, `${p.parent.kind} ${nameOf(p.parent)}`), h("div.sub", null, p.definition)),
      parent ? button("Show parent", () => this.app.go("objects", parent.uid)) : null,
      iconButton("i-close", "Close (Esc)", () => this.app.go("passes", ""))),
      h("div.scroll", null, p.error && h("p.message.failing", null, p.error),
        (p.calls ?? []).map((c) => this.drawCall(c)),
        !p.calls?.length && h("p.sub", null, "No hook was called: nothing had changed of what the hook reads."),
        h("section.step", { "aria-label": "Writes" }, h("h3", null, p.writes?.length ? plural(p.writes.length, "write")
          : "Nothing was written"), (p.writes ?? []).map(drawWrite))));
    this.detail.querySelector(".scroll")!.scrollTop = 0;
  }

  private drawCall(c: Call): HTMLElement {
    const reads = (c.reads ?? []).map((path) => path.replace(/\[(\d+)\]/g, ".$1"));
    const isRead = (path: string) => reads.some((r) => path === r || path.startsWith(r + "."));
    const leads = (path: string) => reads.some((r) => r.startsWith(path + "."));
    const request = h("div");
    const { parent, object, ...rest } = c.request ?? {}, ordered = { ...(parent && { parent }), ...(object && { object }), ...rest };
    const draw = () => fill(request, yaml(ordered, "Request", ({ path }) =>
      reads.length === 0 ? undefined : isRead(path) ? "read" : leads(path) ? "leads" : this.onlyRead ? "hidden-line" : "unread"));
    draw();
    const only = h("input", { type: "checkbox", checked: this.onlyRead,
      change: () => { this.onlyRead = (only as HTMLInputElement).checked; draw(); } });
    return h("section.step", { "aria-label": `Hook ${c.hook}` }, h("h3", null, `Hook ${c.hook}`, c.subject
      ? h("span.sub", null, " " + c.subject) : null),
      c.error && h("p.message.failing", null, c.error),
      c.logs?.length ? h("pre.logs", { "aria-label": "Log lines" }, c.logs.join("\n")) : null,
      h("details", { open: true }, h("summary", null, "Request", reads.length > 0 && h("span.legend", null, "marked: what the hook read")),
        reads.length > 0 && h("label.check", null, only, "Only what was read"), request),
      c.response !== null && c.response !== undefined && h("details", { open: true }, h("summary", null, "Answer"),
        yaml(c.response, "Answer")));
  }
}

const barWidth = 6;

const changeOf = (w: Write): [string, string] => (/^delete/i.test(w.verb) ? ["removed", "−"] : /^create/i.test(w.verb) ? ["added", "+"]
  : ["changed", "~"]);

/** Returns a write as a difference that can be folded. */
export function drawWrite(w: Write): HTMLElement {
  const title = [h("span.verb." + changeOf(w)[0], null, w.verb.toLowerCase()), h("span.kind", null, w.kind), h("b", null, nameOf(w)),
    w.error ? h("span.note.failing", null, w.error) : null];
  if ((w.before ?? null) === null && (w.after ?? null) === null) return h("div.write", null, title);
  return h("details.write", { open: true }, h("summary", null, title), valueDiff(w.before, w.after));
}
