// What views and the page know of each other.
import { Backend } from "./backend.ts";
import { Kube } from "./kube.ts";
import { Model } from "./model.ts";

export interface App {
  model: Model; backend: Backend; kube: Kube;
  /** Shows a view, with what it has under a name: an object, a pass, a file. */
  go(view: string, what?: string): void;
}

export interface View {
  element: HTMLElement;
  /** Draws what has changed; called at most once a frame, and only while the view is shown, or when it comes to be shown. */
  update(topics: Set<string>): void;
  open(what: string): void;
  /** Reports whether a key means something here. */
  shortcut(key: string): boolean;
}
