// What the stream has told. Views read it once a frame; nothing here knows of elements.
export interface KubeObject { apiVersion: string; kind: string; metadata: any; spec?: any; status?: any; [field: string]: any }
export type State = "ready" | "waiting" | "failing" | "deleting";
export interface Item {
  uid: string; role: "definition" | "parent" | "child" | "crd" | "other"; state: State; message: string; owner: string; definition: string;
  object: KubeObject; label: string; order: string; born: number; changed: number;
}
export interface Write { verb: string; kind: string; namespace: string; name: string; error: string; before?: any; after?: any }
export interface Call { hook: string; subject: string; request: any; response: any; reads: string[]; logs: string[]; error: string }
export interface Pass {
  id: number; time: string; durationMillis: number; definition: string; hooks: string[]; writes: Write[]; error: string; calls?: Call[];
  parent: { apiVersion: string; kind: string; namespace: string; name: string; uid: string };
}
export interface Edit { definition: string; revision: string; held: boolean; reason: string; message: string; commands: string[] }
export interface Case { file: string; line: number; name: string; passed: boolean; failure: string }
export interface Tests { running: boolean; cases: Case[]; coverage: Record<string, Record<string, string>>; problems: string[] }
export interface Log { time: string; definition: string; hook: string; parent: string; text: string }
export type Topic = "objects" | "passes" | "edits" | "tests" | "files" | "log" | "problems" | "connection";

const keptPasses = 500, keptLines = 5000;

export class Model {
  items = new Map<string, Item>();
  passes: Pass[] = [];
  edits = new Map<string, Edit>();
  tests: Tests = { running: false, cases: [], coverage: {}, problems: [] };
  files = new Map<string, string>();
  log: Log[] = [];
  problems: string[] = [];
  meta = { live: false, edit: false, folder: "", version: "" };
  connected = false;
  synced = false;
  private stale = new Set<string>();

  constructor(private changed: (topic: Topic) => void) {}

  /** Takes a message of the stream. */
  take(m: any): void {
    if (m.object) this.takeObject(m.object);
    if (m.pass) this.takePass(m.pass);
    if (m.edit) this.edits.set(m.edit.definition, m.edit), this.changed("edits");
    if (m.tests) {
      this.tests = { running: !!m.tests.running, cases: m.tests.cases ?? [], coverage: m.tests.coverage ?? {},
        problems: m.tests.problems ?? [] };
      this.changed("tests");
    }
    if (m.files) this.files = new Map(m.files.map((f: any) => [f.path, f.text])), this.changed("files");
    if (m.problems) this.problems = m.problems, this.changed("problems");
    if (m.log) {
      if (this.log.push(m.log) > keptLines) this.log.splice(0, keptLines / 10);
      this.changed("log");
    }
    if (m.connected !== undefined) this.connect(m.connected);
    if (m.synced) {
      for (const uid of this.stale) this.items.delete(uid);
      this.stale.clear();
      this.synced = true;
      this.changed("objects"), this.changed("connection");
    }
  }

  /** Expects all that is anew once the stream begins again; what has gone meanwhile is not in it. */
  private connect(connected: boolean): void {
    this.connected = connected;
    if (connected) {
      this.stale = new Set(this.items.keys());
      this.log = [], this.passes = [], this.problems = [], this.synced = false;
      this.edits.clear();
    }
    this.changed("connection"), this.changed("edits"), this.changed("problems");
  }

  private takeObject(m: any): void {
    const { metadata, kind } = m.object, uid = metadata.uid || `${kind}/${metadata.namespace}/${metadata.name}`,
      before = this.items.get(uid);
    this.stale.delete(uid);
    this.changed("objects");
    if (m.event === "DELETED") return void this.items.delete(uid);
    const now = performance.now(), label = nameOf(metadata), same = before && before.state === m.state;
    this.items.set(uid, { ...m, uid, label, order: `${kind} ${label.replace(/\d+/g, (n: string) => n.padStart(9, "0"))}`,
      born: before?.born ?? (this.synced ? now : -Infinity), changed: same ? before.changed : now });
  }

  private takePass(pass: Pass): void {
    this.changed("passes");
    const last = this.passes.length - 1;
    if (last >= 0 && this.passes[last].id >= pass.id) this.passes = this.passes.filter((p) => p.id !== pass.id);
    if (this.passes.push(pass) > keptPasses) this.passes.shift();
  }

  /** Returns the object of a pass or a write, if it is there. */
  find(kind: string, namespace: string, name: string): Item | undefined {
    for (const item of this.items.values()) {
      const { metadata } = item.object;
      if (metadata.name === name && item.object.kind === kind && (metadata.namespace ?? "") === (namespace ?? "")) return item;
    }
    return undefined;
  }

  definition(key: string): Item | undefined {
    for (const item of this.items.values()) if (item.role === "definition" && definitionKeys(item).includes(key)) return item;
    return undefined;
  }
}

export const nameOf = (m: any): string => (m.namespace && m.namespace !== "default" ? m.namespace + "/" : "") + m.name;

/** Returns how messages name a definition: with its namespace, if it has one. */
export const definitionKeys = ({ object: { kind, metadata } }: Item): string[] =>
  metadata.namespace ? [`${kind} ${metadata.namespace}/${metadata.name}`, `${kind} ${metadata.name}`] : [`${kind} ${metadata.name}`];

export interface TreeNode {
  key: string; item?: Item; label: string; children: TreeNode[]; parent?: TreeNode; totals: Record<State, number>;
}

/** Returns definitions with their parents, these with their children, and at the end what belongs to none of them. */
export function tree(items: Map<string, Item>): TreeNode[] {
  const nodes = new Map<string, TreeNode>(), definitions = new Map<string, TreeNode>();
  for (const item of items.values()) {
    const node = { key: item.uid, item, label: item.label, children: [], totals: { ready: 0, waiting: 0, failing: 0, deleting: 0 } };
    nodes.set(item.uid, node);
    if (item.role === "definition") for (const key of definitionKeys(item)) definitions.set(key, node);
  }
  const roots: TreeNode[] = [];
  const rest: TreeNode = { key: "rest", label: "Other objects", children: [], totals: { ready: 0, waiting: 0, failing: 0, deleting: 0 } };
  for (const node of nodes.values()) {
    const { role, owner, definition } = node.item!;
    const ofDefinition = role === "parent" || role === "child" ? definitions.get(definition) : undefined;
    const above = role === "definition" ? undefined : nodes.get(owner) ?? ofDefinition;
    if (above && above !== node) (node.parent = above).children.push(node);
    else (role === "definition" ? roots : rest.children).push(node);
  }
  for (const child of rest.children) child.parent = rest;
  if (rest.children.length) roots.push(rest);
  roots.forEach(finish);
  return roots.sort((a, b) => Number(a === rest) - Number(b === rest) || (a.label < b.label ? -1 : 1));
}

/** Sorts what is below a node, and counts it by its state. */
function finish(node: TreeNode): void {
  node.children.sort((a, b) => (a.item!.order < b.item!.order ? -1 : 1));
  for (const child of node.children) {
    finish(child);
    node.totals[child.item!.state]++;
    for (const state of states) node.totals[state] += child.totals[state];
  }
}

export const states: State[] = ["ready", "waiting", "failing", "deleting"];
