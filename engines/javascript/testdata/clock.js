export function sync() { return {now: new Date()} }
