import slug from "@acme/slug";
import { configMap } from "libretto";

export function map({ parent, input }) {
  const name = slug(input.data?.title ?? "");
  if (name === "") {
    throw new Error(`ConfigMap ${input.metadata.name}: its title has no letters and digits to name a page by`);
  }
  return { outputs: [configMap({ name: `${parent.metadata.name}-${name}`, data: { title: input.data.title, of: input.metadata.name } })] };
}
