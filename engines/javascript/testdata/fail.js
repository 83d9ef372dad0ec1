export function sync() {
  const why = 'boom';
  throw new Error(why);
}
