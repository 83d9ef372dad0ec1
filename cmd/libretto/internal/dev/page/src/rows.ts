// A list of which only the rows in sight are elements.
import { h } from "./dom.ts";

export class Rows {
  readonly element: HTMLElement;
  private readonly inner = h("div.rows-inner");
  private count = 0;
  active: string | undefined;

  /** keyOf names a row however the list shifts; open is called with a row that is chosen. */
  constructor(label: string, private height: number, private keyOf: (i: number) => string, private row: (i: number) => HTMLElement,
    private open?: (key: string) => void) {
    this.element = h("div.rows", { tabindex: "0", role: open ? "listbox" : "log", "aria-label": label, "aria-live": "off" }, this.inner);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("click", (e) => {
      const i = Math.floor((e.clientY - this.inner.getBoundingClientRect().top) / this.height);
      if (i >= 0 && i < this.count) this.choose(i);
    });
    if (open) this.element.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Draws a list of count rows. What is looked at stays where it is when added rows come above it. */
  update(count: number, added = 0): void {
    this.count = count;
    this.inner.style.height = count * this.height + "px";
    if (added > 0 && this.element.scrollTop > this.height) this.element.scrollTop += added * this.height;
    this.draw();
  }

  private index(): number {
    for (let i = 0; i < this.count; i++) if (this.keyOf(i) === this.active) return i;
    return -1;
  }

  private choose(i: number): void {
    this.active = this.keyOf(i);
    const top = i * this.height, { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.element.scrollTop = top + this.height - clientHeight;
    this.draw();
    this.open?.(this.active);
  }

  private key(e: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1), now = this.index();
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: this.count - 1,
      Enter: now }[e.key];
    if (to === undefined || this.count === 0) return;
    e.preventDefault();
    this.choose(Math.max(0, Math.min(this.count - 1, to)));
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor(scrollTop / this.height) - 4),
      to = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / this.height) + 4);
    const rows: HTMLElement[] = [];
    this.element.removeAttribute("aria-activedescendant");
    for (let i = from; i < to; i++) {
      const row = this.row(i), chosen = this.open && this.keyOf(i) === this.active;
      row.classList.add("row");
      row.style.transform = `translateY(${i * this.height}px)`;
      if (this.open) {
        row.id = "row-" + this.keyOf(i);
        row.setAttribute("role", "option");
        row.setAttribute("aria-selected", String(!!chosen));
        row.setAttribute("aria-posinset", String(i + 1));
        row.setAttribute("aria-setsize", String(this.count));
        if (chosen) this.element.setAttribute("aria-activedescendant", row.id);
      }
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
  }
}
