// The page knows its backend by these two functions alone: over HTTP here, and by a worker in a playground.
export interface Backend {
  /** Sends a request, with a body in JSON or as text, and resolves to the answer. It rejects with the message of a refusal. */
  request(method: string, path: string, body?: unknown): Promise<any>;
  /** Hands over each message, and {connected: boolean} when the stream begins (what is comes again then) and when it breaks. */
  stream(path: string, onMessage: (message: any) => void): void;
}

/** Returns the backend at the page's own address. */
export function http(): Backend {
  return { request, stream: (path, onMessage) => void follow(path, onMessage) };
}

async function request(method: string, path: string, body?: unknown): Promise<any> {
  const text = typeof body === "string";
  const response = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": text ? "text/plain" : "application/json" },
    body: body === undefined ? undefined : text ? body : JSON.stringify(body),
  });
  const answer = await response.text();
  const parsed = response.headers.get("Content-Type")?.includes("json") && answer ? JSON.parse(answer) : answer;
  if (!response.ok) throw new Error(parsed?.message || parsed?.error || String(parsed).trim() ||
    `${method} ${path}: ${response.status} ${response.statusText}`);
  return parsed;
}

async function follow(path: string, onMessage: (message: any) => void): Promise<void> {
  for (let pause = 250; ; pause = Math.min(2 * pause, 4000)) {
    try {
      const response = await fetch(path);
      if (!response.ok || !response.body) throw new Error(response.statusText);
      onMessage({ connected: true });
      pause = 250;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop()!;
        for (const line of lines) if (line) onMessage(JSON.parse(line));
      }
    } catch (e) {
      console.debug("the stream broke", e);
    }
    onMessage({ connected: false });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
