import { configMap } from "libretto";

export function sync({ parent: { metadata, spec } }) {
  const byZone = Object.fromEntries(spec.zones.map((zone) => [zone, []]));
  for (let shard = 0; shard < spec.shards; shard++) {
    byZone[spec.zones[shard % spec.zones.length]].push(shard);
  }
  const data = Object.fromEntries(Object.entries(byZone).map(([zone, shards]) => [zone, shards.join(" ")]));
  return { status: { placed: spec.shards }, children: [configMap({ name: metadata.name, data })] };
}
