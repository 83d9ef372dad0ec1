// Page: a file of HTML, and a web server that shows it.

import { objectsOf } from "libretto";

export function sync({ parent: { metadata: { name }, spec }, children }) {
  const [deployment] = objectsOf(children, "apps/v1", "Deployment");
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  return {
    status: { readyReplicas, state: readyReplicas < spec.replicas ? "Starting" : "Running" },
    children: [content(name, spec.html), server(name, spec.replicas), service(name)],
  };
}

function content(name, html) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { "index.html": html } };
}

function server(name, replicas) {
  const labels = { app: name };
  const nginx = {
    name: "nginx",
    image: "nginxinc/nginx-unprivileged:1.29-alpine",
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: [{ name: "html", mountPath: "/usr/share/nginx/html" }],
  };
  const podSpec = {
    securityContext: { runAsNonRoot: true, runAsUser: 101, seccompProfile: { type: "RuntimeDefault" } },
    containers: [nginx],
    volumes: [{ name: "html", configMap: { name } }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec },
    },
  };
}

function service(name) {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] } };
}
