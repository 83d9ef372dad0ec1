import { objectsOf } from "libretto";

// sync is called whenever {{.Article}} {{.Kind}} or one of its children has changed. It gets what is there, and answers with
// what should be there: the whole status and all children. The host does the difference.
export function sync({ parent, children }) {
  const { name } = parent.metadata;
  const [deployment] = objectsOf(children, "apps/v1", "Deployment");
  return {
    status: { readyReplicas: deployment?.status?.readyReplicas ?? 0 },
    children: [newDeployment(name, parent.spec), newService(name, parent.spec)],
  };
}

function newDeployment(name, { image, replicas, port }) {
  const labels = { app: name };
  const container = { name: "app", image, ports: [{ containerPort: port }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

function newService(name, { port }) {
  const labels = { app: name };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { selector: labels, ports: [{ port: 80, targetPort: port }] },
  };
}
