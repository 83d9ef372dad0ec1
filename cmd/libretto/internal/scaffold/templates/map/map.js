// map is called for each Namespace that {{.Article}} {{.Kind}} selects, whenever one of the two, or an output, has changed. It
// answers with all outputs of that Namespace. The host creates, updates and deletes.
export function map({ parent, input }) {
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { namespace: input.metadata.name, name: parent.metadata.name },
    spec: { hard: { pods: String(parent.spec.pods) } },
  };
  return { outputs: [quota] };
}
