package merge

import (
	"testing"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

func TestSameForm(t *testing.T) {
	cases := map[string]struct {
		reason      string
		form        openapi.Form
		kept, given any
		want        bool
	}{
		"AsGiven":       {reason: "a text of no form is a text", form: openapi.AsGiven, kept: "1", given: "1000m"},
		"Quantity":      {reason: "quantities are numbers", form: openapi.Quantity, kept: "1", given: "1000m", want: true},
		"NoQuantity":    {reason: "what is no quantity is none", form: openapi.Quantity, kept: "1", given: "one"},
		"Zone":          {reason: "times are kept in UTC", form: openapi.Time, kept: "2026-01-01T00:00:00Z", given: "2026-01-01T02:00:00+02:00", want: true},
		"Fraction":      {reason: "fractions are cut off where none are kept", form: openapi.Time, kept: "2026-01-01T00:00:00Z", given: "2026-01-01T00:00:00.7Z", want: true},
		"OtherFraction": {reason: "fractions count where they are kept", form: openapi.Time, kept: "2026-01-01T00:00:00.500000Z", given: "2026-01-01T00:00:00.7Z"},
		"OtherTime":     {reason: "another time is another", form: openapi.Time, kept: "2026-01-01T00:00:00Z", given: "2026-01-01T00:00:01Z"},
		"NoTime":        {reason: "what is no time is none", form: openapi.Time, kept: "2026-01-01T00:00:00Z", given: "now"},
		"NoTimeKept":    {reason: "nothing is as good as what is no time", form: openapi.Time, kept: "then", given: "2026-01-01T00:00:00Z"},
		"Lines":         {reason: "line breaks are no bytes", form: openapi.Bytes, kept: "AAECAwQF", given: "AAEC\r\nAwQF\n", want: true},
		"OtherBytes":    {reason: "other bytes are others", form: openapi.Bytes, kept: "AAEC", given: "AAED"},
		"NoBytes":       {reason: "what is no base64 is none", form: openapi.Bytes, kept: "AAEC", given: "?"},
		"NoText":        {reason: "a number is no bytes", form: openapi.Bytes, kept: int64(1), given: int64(1)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := sameForm(place{schema: &openapi.Node{Form: tc.form}}, tc.kept, tc.given); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}
