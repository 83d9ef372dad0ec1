package main

import (
	"fmt"
	"strings"
)

// markdown returns the reference of the types.
func markdown(declarations []declaration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Hook reference\n\n<!-- %s -->\n\n", generated)
	b.WriteString("Every request and response of every hook, with types as TypeScript writes them. A field with `?` may be absent. ")
	b.WriteString("`libretto types` writes the same for editors.\n")
	for _, d := range declarations {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", d.name, prose(d.doc))
		if d.alias != "" {
			fmt.Fprintf(&b, "\n```ts\n%s\n```\n", d.alias)
			continue
		}
		b.WriteString("\n| Field | Type | Description |\n| --- | --- | --- |\n")
		for _, f := range d.fields {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", f.name(), strings.ReplaceAll(f.kind, "|", `\|`), prose(f.doc)+f.constraint())
		}
	}
	return b.String()
}

// constraint returns a sentence about the field's type parameter, if that is of a type that has a section.
func (f field) constraint() string {
	name, of, found := strings.Cut(f.parameter, " extends ")
	of, _, _ = strings.Cut(of, " ")
	if !found || of == "object" {
		return ""
	}
	return fmt.Sprintf(" `%s` is a `%s`.", name, of)
}

// prose joins the lines of a comment.
func prose(doc string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(strings.Fields(doc), " "), "<", "&lt;"), "|", `\|`)
}
