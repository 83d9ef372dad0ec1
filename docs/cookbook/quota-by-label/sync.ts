import { formatQuantity, objectsOf, parseQuantity } from "libretto";
import type { CompositeRequest, CompositeResponse, CustomizeRequest, CustomizeResponse, KubernetesObject } from "libretto";

interface TeamBudget extends KubernetesObject {
  spec: { team: string; cpu: string; memory: string };
}

export function customize({ parent }: CustomizeRequest<TeamBudget>): CustomizeResponse {
  const labelSelector = { matchLabels: { "example.com/team": parent.spec.team } };
  return { relatedResources: [{ apiVersion: "v1", resource: "namespaces", labelSelector }] };
}

export function sync({ parent, related }: CompositeRequest<TeamBudget>): CompositeResponse {
  const namespaces = objectsOf(related, "v1", "Namespace").filter(({ metadata }) => !metadata.deletionTimestamp);
  const total = namespaces.reduce((sum, namespace) => sum + weightOf(namespace), 0);
  const invalid = namespaces.filter((namespace) => label(namespace) !== undefined && !isWeight(label(namespace)));

  const cpu = parseQuantity(parent.spec.cpu) * 1000;
  const memory = parseQuantity(parent.spec.memory);
  return {
    status: {
      namespaces: namespaces.length,
      message: invalid.map(({ metadata }) => `${metadata.name}: label example.com/weight is no number`).join("; "),
    },
    children: namespaces.map((namespace) => {
      const share = weightOf(namespace) / total;
      return {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { namespace: namespace.metadata.name, name: "budget" },
        spec: {
          hard: {
            "requests.cpu": formatQuantity(Math.floor(cpu * share) / 1000),
            "requests.memory": formatQuantity(Math.floor(memory * share), "BinarySI"),
          },
        },
      };
    }),
  };
}

const label = ({ metadata }: KubernetesObject) => metadata.labels?.["example.com/weight"];
const isWeight = (text: string | undefined) => /^[1-9][0-9]{0,3}$/.test(text ?? "");
const weightOf = (namespace: KubernetesObject) => (isWeight(label(namespace)) ? Number(label(namespace)) : 1);
