// A link that holds files: compressed in the fragment, which no server sees.
import type { Texts } from "./host.ts";

/** How much the files of a link may have together: a host takes no more. */
const most = 16 << 20;

/** Reports whether a file may have a path beside others: no part of it is empty, hidden, or one of these files. */
export function isFree(path: string, texts: Texts): boolean {
  const parts = path.split("/");
  return parts.every((part, i) => part && !/^\.|~$|[\0-\x1f]/.test(part) && !(i > 0 && Object.hasOwn(texts, parts.slice(0, i).join("/"))));
}

async function through(bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> {
  let size = 0;
  const bounded = new TransformStream({ transform: (part, to) => (size += part.length) > most ? to.error(new Error("it has more than 16 MB")) : to.enqueue(part) });
  return new Uint8Array(await new Response(new Blob([bytes as BlobPart]).stream().pipeThrough(stream).pipeThrough(bounded)).arrayBuffer());
}

/** Returns the fragment that holds files. */
export async function encode(texts: Texts): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(texts)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return "files=" + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the files of a fragment, or undefined if it has none. It throws if they can't be read. */
export async function decode(fragment: string): Promise<Texts | undefined> {
  const encoded = /^#?files=([\w-]+)/.exec(fragment)?.[1];
  if (!encoded) return undefined;
  const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  const text = new TextDecoder().decode(await through(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw")));
  const texts = JSON.parse(text);
  for (const [path, one] of Object.entries(texts)) if (typeof one !== "string" || !isFree(path, texts)) throw new Error(`it holds no files: ${JSON.stringify(path)}`);
  return texts;
}
