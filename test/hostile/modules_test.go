//go:build linux

package hostile

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// attacked is a program with a package that has state, one of whose calls is an attack, and whose others look at what the attack has left.
const attacked = `import { sync as attack } from "./attack.js";
import shared from "shared";
export function sync(request) {
	if (request.parent.metadata.name === "attack") {
		shared.count();
		shared.cache.set("attack", request);
		shared.list.push(request);
		return attack(request);
	}
	const polluted = [];
	for (const name in {}) polluted.push(name);
	return { status: {
		state: [shared.count(), shared.cache.size, shared.list.length, shared.pattern.lastIndex].join(),
		language: [[...[1, 2]].join(), JSON.stringify({ a: 1 }), typeof Promise.prototype.then, String({}), polluted.join()].join(";"),
	} };
}`

const sharedPackage = `let n = 0;
module.exports = { cache: new Map(), list: [], pattern: /a/g, count() { this.pattern.test("aa"); return ++n } };`

// TestModulesAfterAttacks calls a program in turn with an attack and with an innocent request, which must find the modules as they were.
// Attacks that run while their modules load, and those that take time or memory alone, are left to TestContained.
func TestModulesAfterAttacks(t *testing.T) {
	given := givenTerms()
	l := newLane(t, given, sandbox.Config{})
	tried := 0
	for _, a := range corpus(t, newCanary(t)) {
		switch class := a.class(); {
		case a.language != "JavaScript", len(a.files) != 1, class == "loop", class == "native", class == "memory", class == "regex":
			continue
		}
		files := map[string]string{"sync.js": attacked, "node_modules/shared/index.js": sharedPackage, "attack.js": a.files[a.entry()]}
		loading, cancel := context.WithTimeout(t.Context(), given.loading)
		program, err := l.compile(loading, attack{name: "sync.js", language: a.language, files: maps.Clone(files)})
		cancel()
		if err != nil {
			continue // TestContained sees that this is how it ends.
		}
		tried++
		t.Run(a.name, func(t *testing.T) {
			ask := func(name string, limit time.Duration) (any, error) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				response, err := program.Run(ctx, request(name))
				return response.Body, err
			}
			before, err := ask("good", 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			_, failure := ask("attack", given.deadline)
			after, err := ask("good", 10*time.Second)
			if diff := cmp.Diff(before, after); err != nil || diff != "" {
				t.Errorf("after the attack, which ended with %v: %v (-before +after):\n%s", failure, err, diff)
			}
		})
	}
	if tried < 30 {
		t.Errorf("only %d attacks were tried", tried)
	}
}
