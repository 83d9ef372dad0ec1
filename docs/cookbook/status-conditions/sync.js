import { deployment, findChild, readyCondition, service, setCondition } from "libretto";

const now = () => new Date().toISOString();

export function sync({ parent, children }) {
  const { name } = parent.metadata;
  const { image, host } = parent.spec;
  const desired = [deployment({ name, podSpec: { containers: [{ name: "web", image, ports: [8080] }] } }), service({ name, ports: [8080] })];
  const conditions = setCondition(parent.status?.conditions, readyCondition(children, desired, parent), now);
  if (!host) {
    return { status: { conditions: conditions.filter(({ type }) => type !== "Exposed") }, children: desired };
  }
  const outside = ingress(name, host);
  return { status: { conditions: setCondition(conditions, exposed(findChild(children, outside, parent)), now) }, children: [...desired, outside] };
}

function exposed(ingress) {
  const [address] = ingress?.status?.loadBalancer?.ingress ?? [];
  return address
    ? { type: "Exposed", status: "True", reason: "AddressAssigned", message: `reached at ${address.ip ?? address.hostname}` }
    : { type: "Exposed", status: "False", reason: "NoAddress", message: "no controller of Ingresses has given it an address yet" };
}

function ingress(name, host) {
  const backend = { service: { name, port: { number: 8080 } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: { rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
  };
}
