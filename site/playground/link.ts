// A link that holds files: compressed in the fragment, which no server sees.
import type { Texts } from "./host.ts";

async function through(bytes: Uint8Array, stream: GenericTransformStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes as BlobPart]).stream().pipeThrough(stream)).arrayBuffer());
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
  const encoded = /^#?files=([\w-]+)$/.exec(fragment)?.[1];
  if (!encoded) return undefined;
  const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  const text = new TextDecoder().decode(await through(Uint8Array.from(binary, (c) => c.charCodeAt(0)), new DecompressionStream("deflate-raw")));
  const texts = JSON.parse(text);
  if (typeof texts !== "object" || Object.values(texts).some((one) => typeof one !== "string")) throw new Error("it holds no files");
  return texts;
}
