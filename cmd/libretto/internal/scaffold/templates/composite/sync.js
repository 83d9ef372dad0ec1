/** @import { SyncRequest, SyncResponse } from "./resources" */
import { deployment, objectsOf, service } from "libretto";

// sync is called whenever {{.Article}} {{.Kind}} or one of its children has changed. It gets what is there, and answers with
// what should be there: the whole status and all children. The host does the difference.
/** @param {SyncRequest} request @returns {SyncResponse} */
export function sync({ parent, children }) {
  const { name } = parent.metadata;
  const { image, replicas, port } = parent.spec;
  const [observed] = objectsOf(children, "apps/v1", "Deployment");
  return {
    status: { readyReplicas: observed?.status?.readyReplicas ?? 0 },
    children: [
      deployment({ name, replicas, podSpec: { containers: [{ name: "app", image, ports: [port] }] } }),
      service({ name, ports: [{ port: 80, targetPort: port }] }),
    ],
  };
}
