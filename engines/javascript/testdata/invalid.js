export function sync() {
  return {a: };
}
