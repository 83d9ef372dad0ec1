// Elements, and the few things of a page that each view needs.
export type Child = Node | string | number | false | null | undefined | Child[];

/** Returns an element of a tag with classes, "button.primary". Attributes that are functions are listeners; false is none. */
export function h(tag: string, attributes?: Record<string, unknown> | null, ...children: Child[]): HTMLElement {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(key, value as EventListener);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element: Node, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.appendChild(child);
    else if (child !== false && child !== null && child !== undefined) element.appendChild(document.createTextNode(String(child)));
  }
}

/** Puts children in the place of all that an element has. What has the focus keeps it, if it has a name in data-focus. */
export function fill(element: Element, ...children: Child[]): void {
  const fragment = document.createDocumentFragment(), focused = document.activeElement;
  const name = focused && element.contains(focused) ? focused.getAttribute("data-focus") : null;
  append(fragment, children);
  element.replaceChildren(fragment);
  if (name) element.querySelector<HTMLElement>(`[data-focus="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

/** Returns a picture of the sprite in index.html, which says nothing to those who listen. */
export function icon(id: string): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon " + id);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", "#" + id);
  svg.appendChild(use);
  return svg;
}

type Attributes = Record<string, unknown>;

export const button = (label: Child, run: (e: Event) => void, attributes: Attributes = {}, tag = "button"): HTMLButtonElement =>
  h(tag, { type: "button", click: run, ...attributes }, label) as HTMLButtonElement;

export const iconButton = (id: string, label: string, run: (e: Event) => void, attributes: Attributes = {}): HTMLButtonElement =>
  button(icon(id), run, { "aria-label": label, title: label, ...attributes }, "button.quiet");

/** Returns what stands where nothing is yet. */
export const empty = (title: string, ...text: Child[]): HTMLElement =>
  h("div.empty", null, h("strong", null, title), h("p", null, ...text));

/** Shows a line for a while, which is read out, too. */
export function say(text: string, failed = false): void {
  const toasts = document.querySelector(".toasts")!;
  const toast = h("div.toast" + (failed ? ".bad" : ""), null, text);
  toasts.appendChild(toast);
  setTimeout(() => toast.remove(), failed ? 9000 : 3500);
}

export const sayError = (e: unknown): void => say(e instanceof Error ? e.message : String(e), true);

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    say("The browser did not let the page copy: mark the text, and copy it yourself", true);
  }
}

/** Opens a dialog that goes when it is closed. */
export function dialog(title: string, ...content: Child[]): HTMLDialogElement {
  const d = h("dialog", { "aria-label": title },
    h("header", null, h("h2", null, title), iconButton("i-close", "Close", () => d.close())), ...content) as HTMLDialogElement;
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => e.target === d && !d.querySelector("textarea") && d.close());
  document.body.appendChild(d);
  d.showModal();
  return d;
}

/** Returns a field that filters, and calls back with its text in lower case. */
export function filterField(label: string, onInput: (text: string) => void): HTMLElement {
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: "false", autocomplete: "off",
    input: () => onInput((input as HTMLInputElement).value.trim().toLowerCase()) });
  return h("label.filter", null, icon("i-search"), input, h("kbd", { "aria-hidden": "true" }, "/"));
}

/** Returns buttons of which one is pressed. */
export function choice(label: string, options: [string, string][], chosen: string, onChoose: (value: string) => void): HTMLElement {
  const group = h("div.choice", { role: "group", "aria-label": label }, options.map(([value, text]) =>
    button(text, (e) => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === e.currentTarget));
      onChoose(value);
    }, { "aria-pressed": String(value === chosen), "data-focus": value })));
  return group;
}

export const time = (text: string): string => {
  const t = new Date(text);
  return isNaN(+t) ? "" : t.toLocaleTimeString("en-GB") + "." + String(t.getMilliseconds()).padStart(3, "0");
};

export const plural = (n: number, word: string): string =>
  `${n} ${n === 1 ? word : word.endsWith("y") ? word.slice(0, -1) + "ies" : /(s|x|ch|sh)$/.test(word) ? word + "es" : word + "s"}`;
