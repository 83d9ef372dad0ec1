package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func written(t *testing.T, source string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "a.go"), []byte("package a\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	return directory
}

const kettle = `
// Kettle boils
// water.
type Kettle struct {
	// Lid is shut.
	Lid *Lid ` + "`json:\"lid,omitempty\"`" + `
	Heat
	// Rest is open.
	Rest map[string]any ` + "`json:\",inline\"`" + `
}

// Lid has a size.
type Lid struct {
	// Size is in cm.
	Size *float64 ` + "`json:\"size\"`" + `
	// Marks are many.
	Marks []string ` + "`json:\"marks\"`" + `
}

// Heat lends its fields.
type Heat struct {
	// By is what heats, A|B.
	By any ` + "`json:\"by\" typescript:\"Fuel | null\" parameter:\"Fuel = any\"`" + `
}

// Pots are kettles by name.
//
//typescript:type Pots<K> = { [name: string]: K }
type Pots map[string]Kettle
`

func TestTypeScript(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"typescript", written(t, kettle)}, &out); err != nil {
		t.Fatal(err)
	}
	want := `
/**
 * Kettle boils
 * water.
 */
export interface Kettle<Fuel = any> {
  /** lid is shut. */
  lid?: Lid;
  /** by is what heats, A|B. */
  by: Fuel | null;
  /** Rest is open. */
  [field: string]: any;
}

/** Lid has a size. */
export interface Lid {
  /** size is in cm. */
  size: number | null;
  /** marks are many. */
  marks: string[];
}

/** Pots are kettles by name. */
export type Pots<K> = { [name: string]: K };
`
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant at its end\n%s", out.String(), want)
	}
}

// TestInstead checks the types of a struct with a field that stands in place of another one.
func TestInstead(t *testing.T) {
	var out bytes.Buffer
	source := `
// Cup is full.
type Cup struct {
	// Tea is in it.
	Tea string ` + "`json:\"tea\" parameter:\"Cane = any\"`" + `
	// Milk is in it.
	Milk *string ` + "`json:\"milk,omitempty\" instead:\"tea\"`" + `
	// Sugar sweetens.
	Sugar string ` + "`json:\"sugar,omitempty\" typescript:\"Leaf\" parameter:\"Leaf = any\"`" + `
}
`
	if err := run([]string{"typescript", written(t, source)}, &out); err != nil {
		t.Fatal(err)
	}
	want := `
/** Cup is full. */
export interface Cup<Cane = any, Leaf = any> {
  /** tea is in it. */
  tea: string;
  milk?: null;
  /** sugar sweetens. */
  sugar?: Leaf;
}

/** MilkCup is Cup with milk in place of tea. */
export interface MilkCup<Leaf = any> {
  /** sugar sweetens. */
  sugar?: Leaf;
  /** milk is in it. */
  milk: string | null;
  tea?: null;
}
`
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant at its end\n%s", out.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"markdown", written(t, kettle)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"## Kettle\n\nKettle boils water.", "| `by` | `Fuel \\| null` | by is what heats, A\\|B. |", "type Pots<K> = { [name: string]: K }",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("%q is missing from\n%s", line, out.String())
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ reason, source, want string }{
		"NoTypes":   {"a wrong directory must not give an empty file", "", "no types"},
		"NoTag":     {"the JSON name is not to be guessed", "type A struct {\n// B is.\nB string }", "A.B: has no tags"},
		"NoComment": {"authors have nothing else to read", "type A struct { B string `json:\"b\"` }", "A.B: has no comment"},
		"UnknownType": {
			"a type of another package is not known here",
			"type A struct {\n// B is.\nB time.Time `json:\"b\"` }", "a type that hooktypes does not know",
		},
		"NoStruct":    {"its TypeScript has to be given", "type A map[string]string", "A: is not a struct"},
		"ForeignPart": {"its fields are not known", "type A struct { time.Time }", "embeds a struct of another package"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			err := run([]string{"typescript", written(t, c.source)}, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestCEL(t *testing.T) {
	source := strings.Replace(kettle, "// water.\n", "// water.\n//\n//hooks:boil,pour\n", 1) + `
// Cup is full.
//
//hooks:pour
type Cup struct {
	// Full is true, mostly.
	Full bool ` + "`json:\"full\"`" + `
	// Name is its own.
	Name string ` + "`json:\"name\"`" + `
	// Others are near.
	Others map[string]any ` + "`json:\"others\" typescript:\"ObjectGroups<Cups>\"`" + `
}
`
	var out bytes.Buffer
	if err := run([]string{"cel", written(t, source)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\"boil\": {", "\"pour\": {", "\"full\":   cel.BoolType,", "\"name\":   cel.StringType,", "\"others\": grouped,", "\"by\":     cel.DynType,",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
