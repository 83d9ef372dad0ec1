import { childName, configMap, waiting } from "libretto";

export function map({ parent, input }) {
  const { namespace, name } = input.metadata;
  const wrong = Object.entries(input.data ?? {}).filter(([, text]) => !isJSON(text)).map(([key]) => key);
  if (wrong.length > 0) {
    return waiting("InvalidDashboard", `ConfigMap ${namespace}/${name}: ${wrong.join(", ")} is no JSON`);
  }
  return {
    outputs: [
      configMap({
        namespace: parent.spec.namespace,
        name: childName(namespace, name),
        labels: { grafana_dashboard: "1" },
        annotations: { "example.com/from": `${namespace}/${name}` },
        data: input.data,
      }),
    ],
  };
}

function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
