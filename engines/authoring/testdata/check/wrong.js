// Each mistake here must be found.

// @ts-expect-error: the module has no such function
import { childKey, deployment, needs, nothing, objectsOf, wantedOrdinals } from "libretto";
// @ts-expect-error: there is no Node.js
import fs from "node:fs";

/**
 * @param {import("libretto").CompositeRequest} request
 * @returns {import("libretto").CompositeResponse}
 */
export function sync(request) {
  // @ts-expect-error: there is no network
  fetch("http://example.com");
  // @ts-expect-error: there are no timers
  setTimeout(() => 1);
  // @ts-expect-error: there is no Node.js
  process.exit();
  // @ts-expect-error: the runtime does not have it
  new WeakRef({});
  // @ts-expect-error: a request is no object of the cluster
  childKey(request);
  // @ts-expect-error: the field is called children
  request.child;
  // @ts-expect-error: so it is in the response
  return { childs: [] };
}

/** @returns {import("libretto").DecoratorResponse} */
export function decorate() {
  // @ts-expect-error: labels are texts
  return { attachments: [], labels: { a: 1 } };
}

/** @returns {import("libretto").CompositeResponse} */
export function unnamed() {
  // @ts-expect-error: a child has a name
  return { children: [{ apiVersion: "v1", kind: "Pod", metadata: {} }] };
}

/** @returns {import("libretto").CompositeResponse} */
export function misspelt() {
  // @ts-expect-error: the option is called labels
  const web = deployment({ name: "web", lables: {}, podSpec: { containers: [] } });
  // @ts-expect-error: a container has an image
  deployment({ name: "web", podSpec: { containers: [{ name: "a" }] } });
  // @ts-expect-error: it has to say what it needs
  needs(null);
  // @ts-expect-error: replicas are a number
  wantedOrdinals([], "web", "3");
  return { children: [web] };
}

/** @param {import("libretto").CompositeRequest<import("libretto").KubernetesObject, { "Pod.v1": import("libretto").KubernetesObject }>} request */
export function wrongGroups({ children }) {
  objectsOf(children, "v1", "Pod");
  // @ts-expect-error: there is no such group
  objectsOf(children, "v1", "Podd");
  // @ts-expect-error: Pods are of v1
  objectsOf(children, "apps/v1", "Pod");
  // @ts-expect-error: there may be no object of that key
  children["Pod.v1"]["default/a"].metadata;
}

/** @param {import("libretto").CompositeRequest} request */
export function missingGroups({ children }) {
  objectsOf(children, "v1", "Pod");
  // @ts-expect-error: there may be no such group
  children["Pods.v1"]["default/a"];
}
