package merge

import (
	"bytes"
	"encoding/base64"
	"strings"
	"time"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// sameForm reports whether o is d in the form in which the API server keeps it, where
// the schema tells that it has one. What is asked for in another form has not changed,
// whether or not it was asked for like this before.
func sameForm(at place, o, d any) bool {
	if at.schema == nil || at.schema.Form == openapi.AsGiven {
		return false
	}
	if at.schema.Form == openapi.Quantity {
		return sameQuantity(o, d)
	}
	kept, ok := o.(string)
	if !ok {
		return false
	}
	given, ok := d.(string)
	return ok && (at.schema.Form == openapi.Time && sameTime(kept, given) || at.schema.Form == openapi.Bytes && sameBytes(kept, given))
}

// sameTime compares times of any zone, in the precision of the one that is kept.
func sameTime(kept, given string) bool {
	k, err := time.Parse(time.RFC3339, kept)
	if err != nil {
		return false
	}
	g, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return false
	}
	if !strings.Contains(kept, ".") {
		g = g.Truncate(time.Second)
	}
	return k.Equal(g)
}

// sameBytes compares base64 that may have line breaks.
func sameBytes(kept, given string) bool {
	k, err := base64.StdEncoding.DecodeString(kept)
	if err != nil {
		return false
	}
	g, err := base64.StdEncoding.DecodeString(given)
	return err == nil && bytes.Equal(k, g)
}
