// The folder's tests with the coverage of its scripts, counterexamples, and the files themselves.
import { code, yaml } from "./code.ts";
import { button, dialog, empty, fill, filterField, h, icon, iconButton, plural, say, sayError } from "./dom.ts";
import { Case } from "./model.ts";
import { drawWrite } from "./passes.ts";
import { atStart, editor } from "./panel.ts";
import { App, View } from "./view.ts";

interface Step { title: string; writes: any[]; objects: any[] }

export class Tests implements View {
  readonly element: HTMLElement;
  private readonly head = h("div.bar");
  private readonly cases = h("div.cases", { role: "region", tabindex: "0", "aria-label": "Cases" });
  private readonly detail = h("aside.detail.file", { "aria-label": "File" });
  private path = "";
  private line = 0;
  private text = "";
  private drawn = "";
  private editing = false;

  constructor(private app: App) {
    const filter = filterField("Filter cases", (text) => { this.text = text; this.drawCases(); });
    this.element = h("section.split.tests", null, h("div.main-part", null, h("div.bar", null, filter, this.head), this.cases), this.detail);
  }

  update(topics: Set<string>): void {
    if (topics.has("tests")) this.drawHead(), this.drawCases();
    if (topics.has("tests") || topics.has("files")) this.drawFile();
  }

  open(what: string): void {
    const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(what)!;
    this.path = path || this.path;
    this.line = Number(line ?? 0);
    this.drawn = "";
    this.element.toggleAttribute("data-detail", !!path);
    this.drawFile();
  }

  shortcut(key: string): boolean {
    if (key === "r") this.run();
    else if (key === "Escape" && this.element.hasAttribute("data-detail") && !this.editing) this.element.removeAttribute("data-detail");
    else return false;
    return true;
  }

  private run(): void {
    this.app.backend.request("POST", "/dev/v1/tests").catch(sayError);
  }

  private drawHead(): void {
    const { cases, running } = this.app.model.tests, failed = cases.filter((c) => !c.passed).length;
    fill(this.head, running ? h("span.state.waiting", null, icon("s-waiting"), "running")
      : cases.length > 0 && h("span.state." + (failed ? "failing" : "ready"), null, icon(failed ? "s-failing" : "s-ready"), failed
        ? `${failed} of ${cases.length} failed` : `${cases.length} passed`),
      h("span.grow"), button([icon("i-run"), "Run again"], () => this.run(), { title: "Run again (r)", "data-focus": "run" }));
  }

  private drawCases(): void {
    const { cases, problems, running } = this.app.model.tests, top = this.cases.scrollTop, files = new Map<string, Case[]>();
    for (const c of cases) {
      if (`${c.file} ${c.name} ${c.failure}`.toLowerCase().includes(this.text)) files.set(c.file, [...(files.get(c.file) ?? []), c]);
    }
    fill(this.cases, problems.map((p) => h("p.message.failing", null, p)),
      cases.length === 0 && problems.length === 0 && (running ? empty("Running", "The first results come soon.")
        : empty("No tests yet", "Write a file that ends in ", h("code", null, "_test.yaml"), ", or have ", h("code", null, "libretto init"),
        " write one.")),
      [...files].map(([file, list]) => h("section", null, h("h3", null, h("code", null, file),
        h("span.sub", null, ` ${list.filter((c) => c.passed).length}/${list.length}`)),
        h("ul.plain", null, list.sort((a, b) => Number(a.passed) - Number(b.passed) || a.line - b.line).map((c) => this.drawCase(c))))));
    this.cases.scrollTop = top;
  }

  private drawCase(c: Case): HTMLElement {
    const state = c.passed ? "ready" : "failing", place = `${c.file}:${c.line}`;
    return h("li.case." + state, null, h("div.case-head", null,
      button([icon("s-" + state), h("span.grow", null, c.name || `line ${c.line}`), h("span.hidden", null, c.passed ? "passed" : "failed"),
        h("span.sub", null, `:${c.line}`)], () => this.app.go("tests", place), { "data-focus": place }, "button.line-button"),
      button("Explore", (e) => this.explore(c, e.currentTarget as HTMLButtonElement),
        { title: "Let things go wrong on the way, and see whether the end is the same", "aria-label": `Explore ${c.name}` },
        "button.small")),
      !c.passed && h("pre.failure", { "aria-label": "Failure" }, c.failure.split("\n").map((line) => {
        const [, at, rest] = /^(\S+\.ya?ml:\d+)(?::\d+)?(: .*)$/.exec(line) ?? [];
        return h("div.line" + (/^\+/.test(line) ? ".added" : /^-(?!-)/.test(line) ? ".removed" : ""), null, at
          ? [h("a", { href: "#tests/" + encodeURIComponent(at) }, at), rest] : line);
      })));
  }

  private async explore(c: Case, starter: HTMLButtonElement): Promise<void> {
    starter.disabled = true;
    say(`Exploring ${c.name || c.file}`);
    try {
      const found = await this.app.backend.request("POST", "/dev/v1/explore", { file: c.file, case: c.name });
      if (found.steps?.length) counterexample(c, found.steps, found.failure);
      else if (found.failure) say(found.failure, true);
      else say("No counterexample: whatever went wrong on the way, the end was the same");
    } catch (e) {
      sayError(e);
    }
    starter.disabled = false;
  }

  private drawFile(): void {
    const { files, tests: { coverage }, meta } = this.app.model, names = [...files.keys()].sort();
    if (this.editing) return;
    const script = names.find((n) => coverage[n]) ?? names.find((n) => /\.(js|ts|jsonnet|cel)$/.test(n));
    if (!files.has(this.path)) this.path = script ?? names[0] ?? "";
    const text = files.get(this.path), own = coverage[this.path] ?? {},
      signature = JSON.stringify([this.path, text, own, names.map((n) => share(coverage[n])), this.line, meta.edit]);
    if (signature === this.drawn) return;
    this.drawn = signature;
    if (text === undefined) return fill(this.detail, empty("No files yet", "Scripts, tests and manifests of the folder are shown here."));
    const select = h("select", { "aria-label": "File", change: () => this.app.go("tests", (select as HTMLSelectElement).value) },
      names.map((n) => h("option", { value: n, selected: n === this.path }, n + share(coverage[n]))));
    const counts = (kind: string) => Object.values(own).filter((k) => k === kind).length,
      top = this.detail.querySelector(".code")?.scrollTop ?? 0;
    const view = code(this.path, text, (line) => own[line] ?? (line === this.line ? "here" : undefined));
    fill(this.detail, h("header", null, iconButton("i-left", "Back", () => this.app.go("tests", ""), { class: "quiet narrow-only" }),
      select, h("span.grow"),
      Object.keys(own).length > 0 && h("span.legend.coverage", null, ["covered", "partial", "uncovered"].map((k) => counts(k) > 0 &&
        h("span." + k, null, `${counts(k)} ${k}`))),
      meta.edit && button("Edit", () => this.editFile(text), { class: "writes" })), view);
    const here = this.line > 0 ? view.querySelector<HTMLElement>(`[data-line="${this.line}"]`) : null;
    if (here) here.classList.add("here"), here.scrollIntoView({ block: "center" });
    else view.scrollTop = top;
  }

  private editFile(text: string): void {
    this.editing = true;
    const path = this.path, done = () => { this.editing = false; this.drawn = ""; this.drawFile(); };
    const save = () => {
      const now = this.app.model.files.get(path) ?? "";
      if (now !== text) return text = now, say(`${path} has changed in the folder meanwhile. Save again to write over it`, true);
      return this.app.backend.request("PUT", "/dev/v1/files/" + path.split("/").map(encodeURIComponent).join("/"),
        area.value).then(() => { say("Saved " + path); done(); }, sayError);
    };
    const area = editor(text, save);
    fill(this.detail, h("header", null, h("code", null, path), h("span.grow"), button("Save", save, { title: "Ctrl+Enter" },
      "button.primary"), button("Cancel", done)), area);
    atStart(area);
  }
}

const share = (lines: Record<string, string> | undefined): string => {
  const kinds = Object.values(lines ?? {});
  return kinds.length ? ` (${Math.floor((100 * kinds.filter((k) => k === "covered").length) / kinds.length)} % of lines)` : "";
};

/** Opens the steps of a counterexample, to go through one by one. */
function counterexample(c: Case, steps: Step[], failure: string): void {
  let at = 0;
  const list = h("ol.steps", { "aria-label": "Steps" }), body = h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Step",
    "aria-live": "polite" });
  const move = (to: number) => {
    const within = list.contains(document.activeElement);
    at = Math.max(0, Math.min(steps.length - 1, to));
    draw();
    if (within || back.disabled || next.disabled) list.querySelector<HTMLElement>("[aria-current]")!.focus();
  };
  const back = button("Back", () => move(at - 1)), next = button("Next step", () => move(at + 1), {}, "button.primary"),
    place = h("span.sub.grow");
  const draw = () => {
    const step = steps[at], last = at === steps.length - 1;
    back.disabled = at === 0;
    next.disabled = last;
    fill(place, `Step ${at + 1} of ${steps.length}`);
    fill(list, steps.map((s, i) => h("li", null, button(s.title, () => move(i), { "aria-current": i === at ? "step" : null },
      "button.line-button" + (i < at ? ".past" : "")))));
    fill(body, last && failure && h("p.message.failing", null, failure), step.writes?.length
      ? [h("h3", null, plural(step.writes.length, "write")), step.writes.map(drawWrite)]
      : h("p.sub", null, "Nothing is written in this step."),
      step.objects?.length > 0 && [h("h3", null, `${plural(step.objects.length, "object")} afterwards`),
        step.objects.map((o) => h("details", null, h("summary", null, h("span.kind", null, o.kind), h("b", null, o.metadata?.name)),
        yaml(o, o.metadata?.name ?? "object")))]);
  };
  const d = dialog(`Counterexample: ${c.name}`, h("div.counterexample", null, list, body), h("footer", null, place, back, next));
  d.classList.add("wide");
  d.addEventListener("keydown", (e) => {
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") move(at + (e.key === "ArrowRight" ? 1 : -1)), e.preventDefault();
  });
  draw();
  next.focus();
}
