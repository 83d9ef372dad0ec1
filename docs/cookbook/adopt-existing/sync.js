import { objectsOf, waiting } from "libretto";

export function sync({ parent, children }) {
  const { name } = parent.metadata;
  const { image, replicas, selector } = parent.spec;
  const deployments = objectsOf(children, "apps/v1", "Deployment");
  const others = deployments.filter(({ metadata }) => metadata.name !== name).map(({ metadata }) => metadata.name);
  if (others.length > 0) {
    return waiting("OthersSelected", `spec.selector matches ${others.join(", ")}, too: not in the answer, they would be deleted`);
  }
  // What can't be changed, and what would restart the Pods, is taken from what is there.
  const [existing] = deployments;
  const podLabels = existing?.spec.selector.matchLabels ?? selector.matchLabels;
  const container = existing?.spec.template.spec.containers[0].name ?? "app";
  return {
    children: [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, labels: selector.matchLabels },
        spec: {
          replicas,
          selector: { matchLabels: podLabels },
          template: { metadata: { labels: podLabels }, spec: { containers: [{ name: container, image }] } },
        },
      },
    ],
  };
}
