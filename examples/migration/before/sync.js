module.exports = async function (context) {
  const { parent, children } = context.request.body;
  const name = parent.metadata.name;
  const labels = { app: name };

  const deployment = children["Deployment.apps/v1"][name];
  const ready = (deployment && deployment.status && deployment.status.readyReplicas) || 0;

  return {
    status: 200,
    headers: { "Content-Type": "application/json" },
    body: {
      status: { readyReplicas: ready, state: ready < parent.spec.replicas ? "Starting" : "Running" },
      children: [
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: name }, data: { "index.html": parent.spec.html } },
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: name },
          spec: {
            replicas: parent.spec.replicas,
            selector: { matchLabels: labels },
            template: {
              metadata: { labels: labels },
              spec: {
                securityContext: { runAsNonRoot: true, runAsUser: 101, seccompProfile: { type: "RuntimeDefault" } },
                containers: [{
                  name: "nginx",
                  image: "nginxinc/nginx-unprivileged:1.29-alpine",
                  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
                  volumeMounts: [{ name: "html", mountPath: "/usr/share/nginx/html" }],
                }],
                volumes: [{ name: "html", configMap: { name: name } }],
              },
            },
          },
        },
        { apiVersion: "v1", kind: "Service", metadata: { name: name }, spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } },
      ],
    },
  };
};
