package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func reference(t *testing.T, text string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.d.ts")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run([]string{path}, &out)
	return out.String(), err
}

const kettles = `/** Any kettle. */
export type Kettle = null;

// Boiling

/** What boils. */
export interface Water {
  /** In litres. */
  amount: number;
}

/**
 * Boils water, if it is
 * <enough>. Also in CEL.
 * @example
 * boil({ amount: 1 })
 * // {"hot": true,
 * //  "amount": 1}
 */
export function boil(
  water: Water,
): Kettle;

// Pouring

/**
 * Pours.
 * @example
 * pour(1)
 * // null
 */
export function pour(n: number): Kettle;

declare global {
  /** Not of the module. */
  var steam: number;
}
`

func TestReference(t *testing.T) {
	got, err := reference(t, kettles)
	if err != nil {
		t.Fatal(err)
	}
	want := "\n| | |\n| --- | --- |\n| Boiling | [`boil`](#boil) |\n| Pouring | [`pour`](#pour) |\n" +
		"\n## Boiling\n" +
		"\n### Water\n\n```ts\ninterface Water {\n  /** In litres. */\n  amount: number;\n}\n```\n\nWhat boils.\n" +
		"\n### boil\n\n```ts\nfunction boil(\n  water: Water,\n): Kettle;\n```\n\nBoils water, if it is &lt;enough>.\n" +
		"\nIn JavaScript, Jsonnet and CEL:\n\n```\nboil({ amount: 1 })\n// {\"hot\": true,\n//  \"amount\": 1}\n```\n" +
		"\n## Pouring\n" +
		"\n### pour\n\n```ts\nfunction pour(n: number): Kettle;\n```\n\nPours.\n\nIn JavaScript and Jsonnet:\n\n```\npour(1)\n// null\n```\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", got, want)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"NoSections": {"a wrong file must not give an empty page", "export function a(): void;\n", "no line comment"},
		"NoComment":  {"authors have nothing else to read", "// A\n\nexport function a(): void;\n", "a: has no comment"},
		"NoExample":  {"each function is shown", "// A\n\n/** Does. */\nexport function a(): void;\n", "a: its comment has no @example"},
		"OtherCall":  {"by a call of itself", "// A\n\n/**\n * Does.\n * @example\n * b()\n * // 1\n */\nexport function a(): void;\n", "a: its comment has no @example"},
		"NoResult":   {"with what it returns", "// A\n\n/**\n * Does.\n * @example\n * a()\n */\nexport function a(): void;\n", "a: its comment has no @example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if _, err := reference(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if err := run(nil, &bytes.Buffer{}); err == nil {
		t.Error("no file is no error")
	}
}
