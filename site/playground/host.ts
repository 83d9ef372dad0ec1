// The host of the page: a worker, which is ended if it does not answer, and begun again with the files as they are.
import type { Backend } from "../../cmd/libretto/internal/dev/page/src/backend.ts";

export type Texts = Record<string, string>;

/**
 * How long the worker may not answer: a script without end keeps it from that. Compiling and the start are not counted. On a slow machine
 * it is twice as long as the start takes.
 */
const patience = 10_000;

export class Host implements Backend {
  private worker?: Worker;
  private waiting = new Map<number, { resolve: (answer: any) => void; reject: (error: Error) => void }>();
  private streams: { path: string; onMessage: (message: any) => void }[] = [];
  private requests = 0;
  private starts = 0;
  private ready = Promise.withResolvers<void>();
  private ponged = 0; // Or when it was ready.
  private began = 0;
  private patience = patience;
  private module?: Promise<WebAssembly.Module>;
  private exec?: Promise<string>;

  /** Is called when a host has begun, whose language server is told nothing yet, and with each message of that. */
  onReady = () => {};
  onEdited = (message: string) => {};

  constructor(private base: string, private say: (text: string, kind: "progress" | "ready" | "stopped" | "failed") => void) {
    setInterval(() => this.watch(), 1000);
  }

  /** Begins a host with files, in place of the one there is. */
  async start(texts: Texts): Promise<void> {
    this.stop();
    this.module ??= this.load();
    this.exec ??= fetch(this.base + "wasm_exec.js").then((response) => response.ok ? response.text() : Promise.reject(new Error(response.statusText)));
    const start = ++this.starts;
    try {
      const [module, exec] = await Promise.all([this.module, this.exec]);
      if (start !== this.starts) return; // It was begun again meanwhile.
      this.say("The host starts", "progress");
      this.began = performance.now();
      const worker = this.worker = new Worker(this.base + "worker.js", { type: "module" });
      worker.onmessage = ({ data }) => worker === this.worker && this.take(data);
      worker.onerror = () => worker === this.worker && this.take({ failed: "its worker can't be loaded" });
      worker.postMessage({ start: { texts, module, exec } });
    } catch (error) {
      this.module = this.exec = undefined;
      this.say(`The host can't be loaded: ${error}`, "failed");
    }
  }

  /** Ends the host. What was asked of it is answered by an error, and what waits for a host goes on waiting. */
  stop(): void {
    this.worker?.terminate();
    this.worker = undefined;
    if (this.ponged) this.ready = Promise.withResolvers();
    this.ponged = 0;
    for (const { reject } of this.waiting.values()) reject(new Error("the host was stopped"));
    this.waiting.clear();
    for (const s of this.streams) s.onMessage({ connected: false });
  }

  /** Sends a message to the language server. */
  edit(message: string): void { this.worker?.postMessage({ edit: message }); }

  get runs(): boolean { return this.worker !== undefined; }

  async request(method: string, path: string, body?: unknown): Promise<any> {
    const start = this.starts;
    await this.ready.promise;
    if (method === "PUT" && start !== this.starts) throw new Error("the host was stopped"); // The next one has files of its own.
    const id = ++this.requests, text = typeof body === "string";
    const answer = await new Promise<any>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker?.postMessage({ id, method, path, type: text ? "text/plain" : "application/json", body: body === undefined ? "" : text ? body : JSON.stringify(body) });
    });
    const parsed = answer.type?.includes("json") && answer.text ? JSON.parse(answer.text) : answer.text;
    if (answer.status >= 300) throw new Error(parsed?.message || parsed?.error || String(parsed).trim());
    return parsed;
  }

  stream(path: string, onMessage: (message: any) => void): void {
    this.streams.push({ path, onMessage });
    if (this.ponged) this.begin(this.streams.at(-1)!);
  }

  private begin({ path, onMessage }: { path: string; onMessage: (message: any) => void }): void {
    onMessage({ connected: true });
    this.worker?.postMessage({ stream: path });
  }

  private take(data: any): void {
    if (data.ready) {
      this.ponged = performance.now();
      this.patience = Math.max(patience, 2 * (this.ponged - this.began));
      this.say("", "ready");
      for (const s of this.streams) this.begin(s);
      this.ready.resolve();
      this.onReady();
    } else if (data.failed) {
      this.stop();
      this.say(`The host has ended: ${data.failed}. It starts again when you edit a file`, "failed");
    } else if (data.edited) this.onEdited(data.edited);
    else if (data.pong) this.ponged = performance.now();
    else if (data.message) for (const s of this.streams) s.onMessage(JSON.parse(data.message));
    else if (data.id) {
      this.waiting.get(data.id)?.resolve(data);
      this.waiting.delete(data.id);
    } else if (data.output) console.debug(data.output.trimEnd());
  }

  // watch ends a host that does not answer. A page in the background is not called often, and then nothing is known.
  private watched = 0;
  private watch(): void {
    const now = performance.now(), late = now - this.watched > 5000;
    this.watched = now;
    if (!this.ponged) return;
    if (late) this.ponged = now;
    if (now - this.ponged > this.patience) {
      this.stop();
      this.say(`The host did not answer for ${Math.round(this.patience / 1000)} s, as for a script without end, and was stopped. It starts again when you edit a file`, "stopped");
      return;
    }
    this.worker?.postMessage({ ping: 1 });
  }

  // load fetches and compiles the host. It is compressed in itself, so that any server of files will do.
  private async load(): Promise<WebAssembly.Module> {
    const response = await fetch(this.base + "libretto.wasm.gz");
    if (!response.ok || !response.body) throw new Error(response.statusText);
    const size = Number(response.headers.get("Content-Length"));
    let loaded = 0;
    const counted = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
      transform: (part, to) => {
        loaded += part.length;
        this.say(`The host is loaded: ${(loaded / 1e6).toFixed(0)}${size ? " of " + (size / 1e6).toFixed(0) : ""} MB`, "progress");
        to.enqueue(part);
      },
    }));
    const module = counted.pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compileStreaming(new Response(module, { headers: { "Content-Type": "application/wasm" } }));
  }
}
