export async function sync() { await null; for (;;) { try { for (;;); } finally { continue } } }
