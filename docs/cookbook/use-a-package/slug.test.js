import slug from "@acme/slug";
import { expect, test } from "libretto/test";

test.each([
  ["Hello, world", "hello-world"],
  ["  Crème brûlée!", "creme-brulee"],
  ["7 x 7", "7-x-7"],
  ["***", ""],
])("slug of %s", (title, name) => {
  expect(slug(title)).toBe(name);
});
