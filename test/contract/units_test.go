package contract

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestUnits runs the functions for quantities and durations.
func TestUnits(t *testing.T) {
	const quantity = `want a quantity such as "1.5Gi" or "100m"`
	runModuleCases(t, map[string]moduleCase{
		"QuantityBinary":   {reason: "powers of two", name: "parseQuantity", args: `["1.5Gi"]`, want: `1610612736`},
		"QuantityMilli":    {reason: "thousandths", name: "parseQuantity", args: `["100m"]`, want: `0.1`},
		"QuantityDecimal":  {reason: "powers of ten", name: "parseQuantity", args: `["2k"]`, want: `2000`},
		"QuantityExponent": {reason: "and their exponents", name: "parseQuantity", args: `["12e6"]`, want: `12000000`},
		"QuantityNegative": {reason: "less than nothing", name: "parseQuantity", args: `["-1Ki"]`, want: `-1024`},
		"QuantityNumber":   {reason: "YAML has numbers", name: "parseQuantity", args: `[2]`, want: `2`},
		"QuantityFraction": {reason: "also such", name: "parseQuantity", args: `[0.25]`, want: `0.25`},
		"QuantityTiny":     {reason: "nano is the least, rounded up, as in Kubernetes", name: "parseQuantity", args: `["0.1n"]`, want: `1e-9`},
		"QuantitySpace":    {reason: "a slip is reported", name: "parseQuantity", args: `["1 Gi"]`, fails: `parseQuantity: quantity is "1 Gi", ` + quantity},
		"QuantityNull":     {reason: "nothing is none", name: "parseQuantity", args: `[null]`, fails: `parseQuantity: quantity is null, ` + quantity},
		"QuantityHuge":     {reason: "no numbers that take a minute to compute", name: "parseQuantity", args: `["1.00000000000000000001e1000000000"]`, fails: `parseQuantity: quantity is "1.00000000000000000001e1000000000", ` + quantity},

		"Format":           {reason: "powers of ten by default", name: "formatQuantity", args: `[1500]`, want: `"1500"`},
		"FormatKilo":       {reason: "as short as Kubernetes writes it", name: "formatQuantity", args: `[2000]`, want: `"2k"`},
		"FormatMilli":      {reason: "thousandths", name: "formatQuantity", args: `[0.25]`, want: `"250m"`},
		"FormatBinary":     {reason: "powers of two", name: "formatQuantity", args: `[1610612736, "BinarySI"]`, want: `"1536Mi"`},
		"FormatExponent":   {reason: "exponents", name: "formatQuantity", args: `[12000000, "DecimalExponent"]`, want: `"12e6"`},
		"FormatZero":       {reason: "nothing", name: "formatQuantity", args: `[0, "BinarySI"]`, want: `"0"`},
		"FormatOdd":        {reason: "a slip is reported", name: "formatQuantity", args: `[1, "Binary"]`, fails: `formatQuantity: format is "Binary", want "DecimalSI", "BinarySI" or "DecimalExponent"`},
		"FormatText":       {reason: "a text is no number", name: "formatQuantity", args: `["1Gi"]`, fails: `formatQuantity: number is "1Gi", want a number up to 2^63`},
		"CompareLess":      {reason: "by their numbers", name: "compareQuantities", args: `["1000Mi", "1Gi"]`, want: `-1`},
		"CompareEqual":     {reason: "not by their texts", name: "compareQuantities", args: `["1024Mi", "1Gi"]`, want: `0`},
		"CompareMore":      {reason: "exactly", name: "compareQuantities", args: `["9007199254740993", "9007199254740992"]`, want: `1`},
		"CompareOdd":       {reason: "it says which", name: "compareQuantities", args: `["1", "b"]`, fails: `compareQuantities: b is "b", ` + quantity},
		"Add":              {reason: "in the format of the first", name: "addQuantities", args: `["1Gi", "512Mi"]`, want: `"1536Mi"`},
		"AddMixed":         {reason: "exactly", name: "addQuantities", args: `["100m", "0.2"]`, want: `"300m"`},
		"AddNegative":      {reason: "which takes away", name: "addQuantities", args: `["2", "-500m"]`, want: `"1500m"`},
		"AddOdd":           {reason: "it says which", name: "addQuantities", args: `[{}, "1"]`, fails: `addQuantities: a is {}, ` + quantity},
		"Duration":         {reason: "as Kubernetes writes them", name: "parseDuration", args: `["1h30m"]`, want: `5400`},
		"DurationMilli":    {reason: "less than a second", name: "parseDuration", args: `["1500ms"]`, want: `1.5`},
		"DurationNegative": {reason: "back", name: "parseDuration", args: `["-1m"]`, want: `-60`},
		"DurationNoUnit":   {reason: "3 what?", name: "parseDuration", args: `["3"]`, fails: `parseDuration: duration is "3", want a duration such as "1h30m" or "500ms"`},
		"DurationNumber":   {reason: "also not known", name: "parseDuration", args: `[3]`, fails: `parseDuration: duration is 3, want a duration such as "1h30m" or "500ms"`},
		"FormatDuration":   {reason: "as Go writes it", name: "formatDuration", args: `[5400]`, want: `"1h30m0s"`},
		"FormatShort":      {reason: "less than a second", name: "formatDuration", args: `[0.5]`, want: `"500ms"`},
		"FormatNothing":    {reason: "none", name: "formatDuration", args: `[0]`, want: `"0s"`},
		"FormatHuge":       {reason: "more than a duration holds", name: "formatDuration", args: `[1e11]`, fails: `formatDuration: seconds is 100000000000, want a number of seconds up to 292 years`},
	})
}

// randomQuantity returns a text that is mostly a quantity.
func randomQuantity(r *rand.Rand) string {
	suffixes := []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e12", "K", "x"}
	text := fmt.Sprint(r.IntN(1000))
	switch r.IntN(4) {
	case 0:
		text = fmt.Sprintf("%d.%d", r.IntN(100), r.IntN(1000))
	case 1:
		text = fmt.Sprintf("-%d", r.Uint64N(1<<40))
	case 2:
		text = fmt.Sprintf("%d%018d", r.Uint64N(1<<20), r.Uint64N(1_000_000_000_000_000_000))
	}
	return text + suffixes[r.IntN(len(suffixes))]
}

// TestUnitsAsInGo compares the functions with the libraries that they must agree with, on values from a fixed seed.
func TestUnitsAsInGo(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 4))
	for language := range moduleScripts {
		call := moduleCaller(t, language)
		valid := 0
		for range 150 {
			a, b := randomQuantity(r), randomQuantity(r)
			left, err := resource.ParseQuantity(a)
			right, otherErr := resource.ParseQuantity(b)
			got, callErr := call("addQuantities", []any{a, b})
			if failed := errors.Join(err, otherErr) != nil; failed || callErr != nil {
				if !failed || callErr == nil {
					t.Errorf("%s: addQuantities(%q, %q) is %v, %v; the library says %v, %v", language, a, b, got, callErr, err, otherErr)
				}
				continue
			}
			valid++
			order, err := call("compareQuantities", []any{a, b})
			env.NoError(t, err)
			sum := left.DeepCopy()
			sum.Add(right)
			if want := int64(left.Cmp(right)); got != sum.String() || order != want {
				t.Errorf("%s: %q and %q: sum %v, order %v, want %s, %d", language, a, b, got, order, sum.String(), want)
			}
		}
		if valid < 75 {
			t.Errorf("only %d of the pairs are quantities", valid)
		}
		for range 50 {
			d := time.Duration(r.Int64N(1<<50) - 1<<49)
			seconds, err := call("parseDuration", []any{d.String()})
			env.NoError(t, err)
			text, err := call("formatDuration", []any{seconds})
			env.NoError(t, err)
			if diff := cmp.Diff(d.String(), text); diff != "" {
				t.Errorf("%s: %v seconds (-want +got):\n%s", language, seconds, diff)
			}
			n := r.Int64N(1 << 50)
			for _, format := range []resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent} {
				text, err := call("formatQuantity", []any{n, string(format)})
				env.NoError(t, err)
				back, err := call("parseQuantity", []any{text})
				env.NoError(t, err)
				if want := resource.NewQuantity(n, format).String(); text != want || back != n {
					t.Errorf("%s: %d is %v in %s, and %v again, want %s", language, n, text, format, back, want)
				}
			}
		}
	}
}
