// The page around its views: tabs, banner, shortcuts, and a redraw at most once a frame.
import { Backend } from "./backend.ts";
import { button, dialog, fill, h, icon, iconButton, plural, sayError } from "./dom.ts";
import { Edits } from "./edits.ts";
import { Graph } from "./graph.ts";
import { Kube } from "./kube.ts";
import { LogView } from "./log.ts";
import { Model, Topic } from "./model.ts";
import { Passes } from "./passes.ts";
import { Tests } from "./tests.ts";
import { App, View } from "./view.ts";

const titles: Record<string, string> = { objects: "Objects", passes: "Passes", edits: "Edits", tests: "Tests", log: "Log" };
const all: Topic[] = ["objects", "passes", "edits", "tests", "files", "log", "problems", "connection"];

/** Shows the page in an element, with what a backend tells. */
export function start(root: HTMLElement, backend: Backend): void {
  const dirty = new Set<Topic>(), missed = new Map<string, Set<string>>();
  let scheduled = false, current = "objects";
  const changed = (topic: Topic) => {
    dirty.add(topic);
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => { scheduled = false; draw(new Set(dirty)); dirty.clear(); });
  };
  const model = new Model(changed);
  const app: App = { model, backend, kube: new Kube(backend), go: (view, what = "") => {
    const hash = what ? `#${view}/${encodeURIComponent(what)}` : "#" + view;
    if (location.hash !== hash) history.pushState(null, "", hash);
    route();
  } };
  const views: Record<string, View> = {
    objects: new Graph(app), passes: new Passes(app), edits: new Edits(app), tests: new Tests(app), log: new LogView(app),
  };
  const tabs = Object.keys(views).map((name, i) => h("a.tab", { href: "#" + name, "data-view": name, title: `${titles[name]} (${i + 1})` },
    h("span", null, titles[name]), h("span.badge")));
  const banner = h("div.banner", { role: "alert" }), status = h("span.connection", { role: "status" });
  const folder = h("span.folder"), live = h("span.live", { hidden: true }, "live cluster, read only");
  const main = h("main", { id: "main", tabindex: "-1" }, Object.values(views).map((v) => v.element));
  const brand = h("span.brand", null, h("img", { src: "/icon.svg", alt: "", width: 20, height: 20 }), h("b", null, "Libretto"), folder);
  const header = h("header.top", null, brand, h("nav", { "aria-label": "Views" }, tabs), h("span.grow"), live, status,
    iconButton("i-theme", "Dark or light (t)", switchTheme),
    button("?", help, { "aria-label": "Shortcuts", title: "Shortcuts (?)" }, "button.quiet"));
  root.replaceChildren(header, banner, main, h("div.toasts", { role: "status", "aria-live": "polite" }));

  function route(): void {
    const [, name, what = ""] = /^#?([a-z]*)(?:\/(.*))?$/.exec(location.hash) ?? [];
    current = views[name] ? name : "objects";
    for (const [key, view] of Object.entries(views)) view.element.hidden = key !== current;
    for (const tab of tabs) tab.dataset.view === current ? tab.setAttribute("aria-current", "page") : tab.removeAttribute("aria-current");
    document.title = `${titles[current]} · ${model.meta.folder || "Libretto dev"}`;
    const view = views[current], behind = missed.get(current) ?? new Set(all);
    missed.set(current, new Set());
    try {
      view.open(decodeURIComponent(what));
    } catch {
      view.open(""); // An address that somebody has cut.
    }
    if (behind.size > 0) view.update(behind);
  }

  function draw(topics: Set<Topic>): void {
    for (const name of Object.keys(views)) {
      if (name === current) views[name].update(topics);
      else for (const topic of topics) missed.set(name, (missed.get(name) ?? new Set(all)).add(topic));
    }
    if (topics.has("connection")) {
      const [state, word] = !model.connected ? ["failing", "no connection"]
        : model.synced ? ["ready", "connected"] : ["waiting", "reading"];
      status.className = "connection " + state;
      fill(status, icon("s-" + state), h("span.word", null, word));
    }
    if (topics.has("problems")) drawBanner();
    drawBadges();
  }

  function drawBadges(): void {
    const held = [...model.edits.values()].filter((e) => e.held).length;
    const failed = model.tests.cases.filter((c) => !c.passed).length + model.tests.problems.length;
    let failing = 0;
    for (const i of model.items.values()) if (i.state === "failing" && i.role !== "other") failing++;
    const badges: Record<string, [string | number, string]> = {
      objects: [failing || "", "failing"], edits: [held || "", "held"], tests: [failed || "", "failing"],
    };
    for (const tab of tabs) {
      const [text, label] = badges[tab.dataset.view!] ?? ["", ""], badge = tab.querySelector(".badge")!;
      if (badge.textContent === String(text)) continue;
      badge.textContent = String(text);
      badge.setAttribute("title", label);
    }
  }

  function drawBanner(): void {
    const { problems } = model, warns = problems.every((p) => /^(\S+ )?warning: /.test(p)); // As check writes them.
    banner.className = warns ? "banner waiting" : "banner failing";
    fill(banner, problems.length > 0 && [icon(warns ? "s-waiting" : "s-failing"), h("div.grow", null,
      h("b", null, plural(problems.length, warns ? "warning" : "problem") + (model.meta.folder ? " in the folder" : "")), h("ul", null, problems.map((p) => {
      const [, file, line, text] = /^(\S+?):(\d+)(?::\d+)?: ?([^]*)$/.exec(p) ?? [];
      return h("li", null, file ? [h("a", { href: `#tests/${encodeURIComponent(`${file}:${line}`)}` }, `${file}:${line}`), " " + text] : p);
    })))]);
  }

  function switchTheme(): void {
    const { theme } = document.documentElement.dataset;
    const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    setTheme(dark ? "light" : "dark");
    localStorage.setItem("theme", dark ? "light" : "dark");
    changed("passes");
  }

  function help(): void {
    const keys: [string, string][] = [
      ["1 – 5", "Objects, passes, edits, tests, log"], ["/", "Filter"], ["↑ ↓", "Move in a list or in the tree"],
      ["← →", "Close and open a node; go to its parent and to its children"], ["Enter", "Show an object or a pass"],
      ["Esc", "Close what is open"], ["n", "New object"], ["e  d", "Edit, delete the object"], ["c  x", "Collapse, expand all"],
      ["r", "Run the tests"], ["Ctrl+Enter", "Save"], ["t", "Dark or light"], ["?", "This list"],
    ];
    const shown = keys.filter(([k]) => !model.meta.live || !/^(n|e  d|Ctrl)/.test(k));
    dialog("Shortcuts", h("dl.keys", null, shown.map(([k, text]) =>
      [h("dt", null, k.split("  ").map((one) => h("kbd", null, one))), h("dd", null, text)])));
  }

  document.addEventListener("keydown", (e) => {
    const target = e.target as HTMLElement, typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (typing && e.key === "Escape" && target instanceof HTMLInputElement) return target.blur();
    if (typing && e.key !== "Escape") return;
    if (/^[1-5]$/.test(e.key)) app.go(Object.keys(views)[Number(e.key) - 1]), main.focus();
    else if (e.key === "/") views[current].element.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    else if (e.key === "?") help();
    else if (e.key === "t") switchTheme();
    else if (!views[current].shortcut(e.key)) return;
    e.preventDefault();
  });
  addEventListener("popstate", route);
  setTheme(localStorage.getItem("theme") ?? "");
  changed("connection");
  route();
  const readMeta = () => backend.request("GET", "/dev/v1/meta").then((meta) => {
    model.meta = meta;
    root.classList.toggle("is-live", meta.live);
    live.hidden = !meta.live;
    fill(folder, meta.folder);
    folder.title = meta.version;
    route();
    for (const topic of all) changed(topic);
  }, (error) => model.connected && sayError(error));
  backend.stream("/dev/v1/stream", (message) => { model.take(message); if (message.connected) readMeta(); });
}

function setTheme(theme: string): void {
  if (theme) document.documentElement.dataset.theme = theme;
}
