package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const format = `package format

const (
	APIVersion = "example.com/v1"
	Kind       = "ControllerTest"
)

// ControllerTest is a file.
type ControllerTest struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	// Cases are a|b.
	Cases []Case ` + "`json:\"cases\"`" + `
	Skips map[Check]string ` + "`json:\"skips,omitempty\"`" + `
	File string ` + "`json:\"-\"`" + `
	place func()
}

type Check string

const (
	// CheckA is that a holds.
	CheckA Check = "A"
)

// Case is a case.
type Case struct {
	Name string ` + "`json:\"name\"`" + `
	Step ` + "`json:\",inline\"`" + `
}

type Step struct {
	Passes *int ` + "`json:\"passes,omitempty\"`" + `
	Object ObjectName ` + "`json:\"object,omitempty\"`" + `
	TYPE
}

// ObjectName names an object.
type ObjectName string
`

func output(t *testing.T, what, text string) (string, error) {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "format.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run([]string{what, directory}, &out)
	return out.String(), err
}

func TestSchema(t *testing.T) {
	text, err := output(t, "schema", strings.Replace(format, "TYPE", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"apiVersion":{"enum":["example.com/v1"],"type":"string"}`,
		`"skips":{"additionalProperties":false,"properties":{"A":{"description":"that a holds.","type":"string"}},"type":"object"}`,
		`"passes":{"pattern":"^\\$\\{[^{}]*\\}$","type":["integer","string"]}`,
		`"required":["name"],"type":"object"`,
		`"required":["cases","apiVersion","kind"]`,
	} {
		if !strings.Contains(compact.String(), part) {
			t.Errorf("%s is missing from\n%s", part, text)
		}
	}
	if again, _ := output(t, "schema", strings.Replace(format, "TYPE", "", 1)); again != text {
		t.Error("it differs the second time")
	}
}

func TestReference(t *testing.T) {
	text, err := output(t, "markdown", strings.Replace(format, "TYPE", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| `cases` (required) | list of [Case](#case) | `cases` are a\\|b. |",
		"| `skips` | map from [Check](#check) to string |  |",
		"| `A` | that a holds. |",
		"It has more fields: those of [Step](#step).",
		"| `passes` | whole number |  |",
		"| `object` | [ObjectName](#objectname) |  |",
		"ObjectName names an object.",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the line %s is missing from\n%s", line, text)
		}
	}
}

// TestUnknownType checks that a type without a form in files is not guessed.
func TestUnknownType(t *testing.T) {
	text := strings.Replace(format, "TYPE", "At big.Int `json:\"at\"`", 1)
	for _, what := range []string{"schema", "markdown"} {
		if _, err := output(t, what, text); err == nil || !strings.Contains(err.Error(), "big.Int") {
			t.Errorf("%s: error %v, want one that names the type", what, err)
		}
	}
}
