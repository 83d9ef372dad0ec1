// Rota: who is on duty in which week, in a ConfigMap. People take turns; who is away is left out in that week.
// rota/main.go does the same in Go. The cases of fallback_test.yaml that call a hook are run on both.

export function sync({ parent: { metadata, spec } }) {
  const away = new Set(spec.away.map(({ person, week }) => `${week} ${person}`));
  const data = {};
  const empty = [];
  let turn = 0;
  for (let week = 1; week <= spec.weeks; week++) {
    const order = spec.people.map((_, i) => spec.people[(turn + i) % spec.people.length]);
    const person = order.find((name) => !away.has(`${week} ${name}`));
    if (person) {
      data[`week-${String(week).padStart(3, "0")}`] = person;
      turn = spec.people.indexOf(person) + 1;
    } else {
      empty.push(week);
    }
  }
  const ready = empty.length === 0
    ? { type: "Ready", status: "True", reason: "Filled", message: "somebody is on duty in every week" }
    : { type: "Ready", status: "False", reason: "NobodyThere", message: `nobody is there in weeks ${empty.join(", ")}` };
  return {
    status: { weeks: Object.keys(data).length, conditions: [ready] },
    children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${metadata.name}-rota` }, data }],
  };
}
