// Definitions, their parents and their children: as a graph from left to right, or as a list where that has no room.
import { button, choice, empty, fill, filterField, h, icon, plural } from "./dom.ts";
import { State, TreeNode, states, tree } from "./model.ts";
import { App, View } from "./view.ts";
import { Panel, newObject } from "./panel.ts";

const rowHeight = 34, boxHeight = 28, tallHeight = 46, top = 34, narrow = 720;

/** A node that is shown: y is where its row is, and from y to last its own box may be, so that it stays in sight with its children. */
interface Placed {
  node: TreeNode; above?: Placed; depth: number; open: boolean;
  x: number; width: number; height: number; y: number; last: number; shownAt: number;
}

export class Graph implements View {
  readonly element: HTMLElement;
  private readonly scroller = h("div.graph", { tabindex: "0", role: "tree", "aria-label": "Objects" });
  private readonly layer = h("div.graph-layer");
  private readonly links = svg("svg", "graph-links");
  private readonly paths = { all: svg("path", "link"), chosen: svg("path", "link chosen") };
  private readonly heads = h("div.graph-heads", { "aria-hidden": "true" });
  private readonly summary = h("div.chips", { role: "group", "aria-label": "Show objects by state" });
  private readonly nothing = h("div.hint");
  private readonly panel: Panel;
  private readonly pool = new Map<string, HTMLElement>();
  private readonly collapsed = new Set<string>(["rest"]);
  private readonly shown = new Set<State>();
  private placed: Placed[] = [];
  private text = "";
  private style = localStorage.getItem("style") ?? "graph";
  private active = "";
  private pending = false;

  constructor(private app: App) {
    this.panel = new Panel(app, () => this.closePanel());
    this.links.append(this.paths.all, this.paths.chosen);
    this.scroller.append(this.heads, this.links, this.layer);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroller.addEventListener("keydown", (e) => this.key(e));
    this.scroller.addEventListener("click", (e) => this.click(e));
    new ResizeObserver(() => this.layout()).observe(this.scroller);
    const style = choice("Layout", [["graph", "Graph"], ["list", "List"]], this.style, (value) => {
      this.style = value;
      localStorage.setItem("style", value);
      this.layout();
    });
    style.classList.add("wide-only");
    this.element = h("section.split.objects", null,
      h("div.main-part", null,
        h("div.bar", null, filterField("Filter objects", (text) => { this.text = text; this.layout(); }), this.summary, h("span.grow"),
          style,
          button("Collapse", () => this.setAll(true), { title: "Collapse all parents (c)" }, "button.wide-only"),
          button("Expand", () => this.setAll(false), { title: "Expand everything (x)" }, "button.wide-only"),
          button([icon("i-plus"), "New"], () => newObject(app), { title: "New object (n)", "aria-label": "New object" },
            "button.primary.writes")),
        this.nothing, this.scroller),
      this.panel.element);
  }

  update(topics: Set<string>): void {
    if (topics.has("objects") || topics.has("connection")) this.layout();
    this.panel.update(topics);
  }

  open(uid: string): void {
    this.active = uid || this.active;
    this.element.toggleAttribute("data-detail", !!uid);
    this.panel.open(uid);
    this.reveal();
  }

  shortcut(key: string): boolean {
    if (key === "c" || key === "x") this.setAll(key === "c");
    else if (key === "n" && !this.app.model.meta.live) newObject(this.app);
    else return this.panel.shortcut(key);
    return true;
  }

  private closePanel(): void {
    this.app.go("objects", "");
    this.scroller.focus();
  }

  private setAll(collapse: boolean): void {
    this.collapsed.clear();
    this.collapsed.add("rest");
    if (collapse) for (const item of this.app.model.items.values()) if (item.role !== "definition") this.collapsed.add(item.uid);
    if (!collapse) this.collapsed.delete("rest");
    this.layout();
    this.reveal();
  }

  /** Lays all nodes out, which is cheap; only those in sight become elements. */
  private layout(): void {
    const roots = tree(this.app.model.items), width = this.scroller.clientWidth, graph = this.style === "graph" && width >= narrow;
    this.scroller.classList.toggle("as-list", !graph);
    this.placed = [];
    const columns = graph ? columnsOf(width) : undefined, filtered = this.text !== "" || this.shown.size > 0;
    let y = graph ? top : 8;
    const place = (node: TreeNode, depth: number, above?: Placed): Placed | undefined => {
      const start = y, at = this.placed.length;
      const x = columns ? columns(depth).x : 8 + 20 * depth, own = columns ? columns(depth).width : Math.max(200, width - x - 10);
      const height = graph && (node.item?.role === "definition" || node.item?.role === "parent") ? tallHeight : boxHeight;
      const placed: Placed = { node, depth, x, width: own, height, y, last: y, above, open: false, shownAt: y };
      this.placed.push(placed);
      if (!graph) y += rowHeight - 2;
      let last: Placed | undefined;
      if (filtered || !this.collapsed.has(node.key)) for (const child of node.children) last = place(child, depth + 1, placed) ?? last;
      if (!last && filtered && !this.matches(node)) {
        this.placed.length = at;
        y = start;
        return undefined;
      }
      placed.open = !!last;
      if (graph && last) placed.last = Math.max(start, last.last + last.height - height);
      if (graph) y = Math.max(y + (last && depth > 0 ? 8 : 0), start + height + rowHeight - boxHeight);
      return placed;
    };
    for (const root of roots) if (place(root, 0)) y += graph ? 16 : 6;
    this.layer.style.height = y + 8 + "px";
    this.layer.style.width = columns ? Math.max(...this.placed.map((p) => p.x + p.width), 0) + "px" : "";
    fill(this.heads, columns && this.placed.length > 0 && ["Definitions", "Parents", "Children"].map((label, depth) => {
      const head = h("span", null, label);
      head.style.left = columns(depth).x + "px";
      return head;
    }));
    this.drawSummary();
    this.draw();
  }

  private matches({ item, label }: TreeNode): boolean {
    if (!item) return this.shown.size === 0 && label.toLowerCase().includes(this.text);
    if (this.shown.size > 0 && !this.shown.has(item.state)) return false;
    return `${item.object.kind} ${label} ${item.message ?? ""}`.toLowerCase().includes(this.text);
  }

  private drawSummary(): void {
    const counts: Record<string, number> = {};
    let total = 0, parents = 0;
    for (const item of this.app.model.items.values()) {
      if (item.role !== "parent" && item.role !== "child" && item.role !== "definition") continue;
      counts[item.state] = (counts[item.state] ?? 0) + 1;
      total++;
      if (item.role === "parent") parents++;
    }
    const signature = JSON.stringify([counts, [...this.shown], total, parents, this.app.model.synced, this.placed.length > 0]);
    if (this.summary.dataset.signature === signature) return;
    this.summary.dataset.signature = signature;
    const chips = states.map((state) => button([icon("s-" + state), h("b", null, counts[state] ?? 0), h("span.word", null, state)], () => {
      if (!this.shown.delete(state)) this.shown.add(state);
      this.layout();
    }, { "aria-pressed": String(this.shown.has(state)), "aria-label": `${counts[state] ?? 0} ${state}`, title: state, "data-focus": state },
      `button.chip.${state}${counts[state] ? "" : ".none"}`));
    fill(this.summary, chips);
    fill(this.nothing, this.hint(total, parents));
  }

  /** Returns what to do while there is little to see. */
  private hint(total: number, parents: number): HTMLElement | false {
    const { synced, meta } = this.app.model;
    if (!synced) return this.placed.length === 0 && empty("Waiting for the host", "The tree grows as objects come.");
    if (total === 0) {
      return empty(`No definition in ${meta.folder || "the folder"} yet`,
        "Write a CompositeController, a DecoratorController or a MapController into it, or have ",
        h("code", null, "libretto init"), " write a first one. The page shows it at once.");
    }
    if (this.placed.length === 0) return empty("Nothing matches", "Loosen the filter, or choose other states.");
    return parents === 0 && empty("No parents yet", "A definition acts on its parents. Create a first one, here or with kubectl.",
      h("span.actions.writes", null, button("New object", () => newObject(this.app), {}, "button.primary")));
  }

  /** Draws what is in sight, in the next frame. */
  private draw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.drawNow();
    });
  }

  private drawNow(): void {
    const { scrollTop, clientHeight, clientWidth } = this.scroller, end = scrollTop + clientHeight,
      graph = !this.scroller.classList.contains("as-list");
    const seen = new Set<string>(), lines = { all: "", chosen: "" }, now = performance.now();
    const chosen = new Set<Placed>();
    this.scroller.removeAttribute("aria-activedescendant");
    for (const p of this.placed) {
      p.shownAt = Math.min(Math.max(p.y, graph ? scrollTop + top : 0), p.last);
      if (p.node.key === this.active) for (let q: Placed | undefined = p; q; q = q.above) chosen.add(q);
    }
    for (const p of this.placed) {
      if (p.last + p.height < scrollTop - 60 || p.y > end + 60) continue;
      seen.add(p.node.key);
      const element = this.elementOf(p, now);
      element.style.transform = `translate(${p.x}px, ${p.shownAt}px)`;
      element.style.width = p.width + "px";
      if (p.node.key === this.active) this.scroller.setAttribute("aria-activedescendant", element.id);
      if (!graph || !p.above) continue;
      const path = link(p.above, p, scrollTop, end);
      lines.all += path;
      if (chosen.has(p)) lines.chosen += path;
    }
    for (const [key, element] of this.pool) if (!seen.has(key)) element.remove(), this.pool.delete(key);
    this.links.setAttribute("width", String(graph ? Math.max(clientWidth, this.layer.offsetWidth) : 0));
    this.links.setAttribute("height", String(graph ? clientHeight : 0));
    this.links.style.transform = `translateY(${scrollTop}px)`;
    for (const which of ["all", "chosen"] as const) this.paths[which].setAttribute("d", lines[which]);
  }

  private elementOf(p: Placed, now: number): HTMLElement {
    const { node } = p, { item } = node, state = item?.state ?? "other", namespace = p.above?.node.item?.object.metadata.namespace;
    const label = item && namespace && namespace === item.object.metadata.namespace ? item.object.metadata.name : node.label;
    let element = this.pool.get(node.key);
    const isNew = !element;
    if (!element) {
      element = h("div.node", { role: "treeitem", id: "node-" + node.key, "data-key": node.key });
      this.pool.set(node.key, element);
      this.layer.appendChild(element);
    }
    const totals = node.children.length ? states.map((s) => node.totals[s]).join() : "";
    const signature = `${state}|${label}|${item?.message}|${totals}|${p.open}|${node.key === this.active}|${p.depth}|${p.height}`;
    if (element.dataset.signature !== signature) {
      const stateBefore = element.dataset.state;
      element.dataset.signature = signature;
      element.dataset.state = state;
      element.className = `node ${state} ${item?.role ?? "group"}` + (node.key === this.active ? " active" : "");
      element.setAttribute("aria-level", String(p.depth + 1));
      const siblings = p.above?.node.children;
      if (siblings) {
        element.setAttribute("aria-setsize", String(siblings.length));
        element.setAttribute("aria-posinset", String(siblings.indexOf(node) + 1));
      }
      element.setAttribute("aria-selected", String(node.key === this.active));
      if (node.children.length) element.setAttribute("aria-expanded", String(p.open));
      else element.removeAttribute("aria-expanded");
      const below = node.children.length ? `, ${plural(node.children.length, "object")} below` : "";
      element.setAttribute("aria-label", `${item?.object.kind ?? ""} ${node.label}, ${item ? state : ""} ${item?.message ?? ""}${below}`);
      element.title = item ? `${item.object.kind} ${node.label}: ${state}${item.message ? ", " + item.message : ""}` : "";
      const kind = item && h("span.kind", null, item.object.kind), name = h("span.name", null, label);
      const note = item?.message && state !== "ready" && h("span.note", null, item.message);
      element.classList.toggle("tall", p.height > boxHeight);
      const fold = node.children.length > 0 && h("span.fold" + (p.open ? ".open" : ""), null, counts(node), icon("i-right"));
      const two = () => h("span.two.grow", null, h("span.over", null, name, h("span.grow"), fold), h("span.under", null, note || kind));
      fill(element, icon("s-" + state), p.height > boxHeight ? two() : [kind, name, note || h("span.grow"), fold]);
      if (stateBefore && stateBefore !== state) animate(element, flash, 700);
    }
    if (isNew && item && now - item.born < 500) animate(element, appear, 220);
    return element;
  }

  private click(e: Event): void {
    const target = e.target as HTMLElement, key = target.closest<HTMLElement>(".node")?.dataset.key;
    if (!key) return;
    this.active = key;
    if (target.closest(".fold") || key === "rest") this.toggle(key);
    else this.app.go("objects", key);
    this.draw();
  }

  private toggle(key: string): void {
    if (!this.collapsed.delete(key)) this.collapsed.add(key);
    this.layout();
  }

  private key(e: KeyboardEvent): void {
    const at = this.placed.findIndex((p) => p.node.key === this.active), p = this.placed[at];
    const move = (to: number) => { this.active = this.placed[Math.max(0, Math.min(this.placed.length - 1, to))]?.node.key ?? ""; };
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / rowHeight) - 2);
    if (e.metaKey || e.ctrlKey || e.altKey) return;
    switch (e.key) {
      case "ArrowDown": move(at + 1); break;
      case "ArrowUp": move(at - 1); break;
      case "PageDown": move(at + page); break;
      case "PageUp": move(at - page); break;
      case "Home": move(0); break;
      case "End": move(this.placed.length - 1); break;
      case "ArrowRight": if (p?.open) move(at + 1); else if (p?.node.children.length) this.toggle(p.node.key); break;
      case "ArrowLeft": if (p?.open) this.toggle(p.node.key); else if (p?.above) this.active = p.above.node.key; break;
      case " ": if (p?.node.children.length) this.toggle(p.node.key); break;
      case "Enter": if (p?.node.item) this.app.go("objects", p.node.key); else if (p) this.toggle(p.node.key); break;
      default: return;
    }
    e.preventDefault();
    this.reveal();
  }

  /** Scrolls to the active node. */
  private reveal(): void {
    const p = this.placed.find((q) => q.node.key === this.active), { scrollTop, clientHeight } = this.scroller;
    if (p && p.last < scrollTop + top) this.scroller.scrollTop = p.y - top - 8;
    else if (p && p.y + p.height > scrollTop + clientHeight) this.scroller.scrollTop = p.y + p.height - clientHeight + 14;
    this.draw();
  }
}

const counts = ({ totals }: TreeNode) => states.filter((s) => totals[s]).map((s) => h("span.count." + s, null, icon("s-" + s), totals[s]));

function columnsOf(width: number): (depth: number) => { x: number; width: number } {
  const between = (share: number, least: number, most: number) => Math.round(Math.min(most, Math.max(least, share * width)));
  const gap = between(0.04, 28, 52), first = between(0.25, 200, 310), second = between(0.27, 210, 340),
    x2 = 16 + first + gap + second + gap;
  const third = Math.min(560, Math.max(240, width - x2 - 24));
  return (depth) => depth === 0 ? { x: 16, width: first } : depth === 1 ? { x: 16 + first + gap, width: second }
    : { x: x2 + (depth - 2) * (third + gap), width: third };
}

/** Returns a line from the right of one box to the left of another, with round corners. What is out of sight is cut off. */
function link(a: Placed, b: Placed, from: number, to: number): string {
  const within = (y: number) => Math.min(Math.max(y, from - 40), to + 40) - from;
  const x = a.x + a.width, y = within(a.shownAt + a.height / 2), x2 = b.x, y2 = within(b.shownAt + b.height / 2),
    middle = Math.round((x + x2) / 2);
  const r = Math.min(7, Math.abs(y2 - y) / 2), d = Math.sign(y2 - y);
  if (r < 1) return `M${x} ${y}H${x2}`;
  return `M${x} ${y}H${middle - r}q${r} 0 ${r} ${d * r}V${y2 - d * r}q0 ${d * r} ${r} ${d * r}H${x2}`;
}

function svg(tag: string, name: string): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  element.setAttribute("class", name);
  element.setAttribute("aria-hidden", "true");
  return element;
}

const flash = [{ boxShadow: "0 0 0 4px var(--flash)" }, { boxShadow: "0 0 0 0 transparent" }];
const appear = [{ opacity: 0, translate: "-10px 0" }, { opacity: 1, translate: "0 0" }];
const still = matchMedia("(prefers-reduced-motion: reduce)");

function animate(element: HTMLElement, frames: Keyframe[], duration: number): void {
  if (!still.matches) element.animate(frames, { duration, easing: "ease-out" });
}
