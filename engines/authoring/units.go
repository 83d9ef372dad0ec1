package authoring

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// longestQuantity is the most characters that a quantity may have, and exponents may have two digits: with more the
// library would compute with numbers of any length.
const longestQuantity = 64

var hugeExponent = regexp.MustCompile(`[eE][+-]?0*[0-9]{3}`)

// quantity returns an argument as a quantity. A number does for one, as in YAML.
func quantity(parameter string, value any) (resource.Quantity, error) {
	text, ok := value.(string)
	switch n := value.(type) {
	case int64:
		text, ok = strconv.FormatInt(n, 10), true
	case float64:
		text, ok = decimal(n), true
	}
	if !ok || len(text) > longestQuantity || hugeExponent.MatchString(text) {
		return resource.Quantity{}, wrong(parameter, value, `a quantity such as "1.5Gi" or "100m"`)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return q, wrong(parameter, value, `a quantity such as "1.5Gi" or "100m"`)
	}
	return q, nil
}

// decimal returns a number without exponent.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// parseQuantity returns the nearest number.
func parseQuantity(value any) (any, error) {
	q, err := quantity("quantity", value)
	if err != nil {
		return nil, err
	}
	if n, ok := q.AsInt64(); ok {
		return float64(n), nil
	}
	d := q.AsDec()
	n, err := strconv.ParseFloat(fmt.Sprintf("%se%d", d.UnscaledBig(), -d.Scale()), 64)
	return n, err
}

func formatQuantity(value, format any) (any, error) {
	n, ok := number(value)
	if !ok || math.Abs(n) > math.MaxInt64 {
		return nil, wrong("number", value, "a number up to 2^63")
	}
	wanted := resource.DecimalSI
	if format != nil {
		text, _ := format.(string)
		wanted = resource.Format(text)
	}
	switch wanted {
	case resource.DecimalSI, resource.BinarySI, resource.DecimalExponent:
	default:
		return nil, wrong("format", format, `"DecimalSI", "BinarySI" or "DecimalExponent"`)
	}
	q, err := resource.ParseQuantity(decimal(n))
	if err != nil {
		return nil, wrong("number", value, "a number")
	}
	// A new quantity has not kept the text that it was read from.
	return resource.NewDecimalQuantity(*q.AsDec(), wanted).String(), nil
}

func compareQuantities(a, b any) (any, error) {
	left, right, err := quantities(a, b)
	if err != nil {
		return nil, err
	}
	return float64(left.Cmp(right)), nil
}

// addQuantities returns the sum in the format of the first.
func addQuantities(a, b any) (any, error) {
	left, right, err := quantities(a, b)
	if err != nil {
		return nil, err
	}
	left.Add(right)
	return left.String(), nil
}

func quantities(a, b any) (left, right resource.Quantity, err error) {
	if left, err = quantity("a", a); err != nil {
		return left, right, err
	}
	right, err = quantity("b", b)
	return left, right, err
}

// parseDuration returns seconds.
func parseDuration(value any) (any, error) {
	text, ok := value.(string)
	d, err := time.ParseDuration(text)
	if !ok || err != nil {
		return nil, wrong("duration", value, `a duration such as "1h30m" or "500ms"`)
	}
	return d.Seconds(), nil
}

// formatDuration returns seconds as Go writes a duration.
func formatDuration(value any) (any, error) {
	seconds, ok := number(value)
	nanoseconds := math.Round(seconds * float64(time.Second))
	if !ok || math.Abs(nanoseconds) >= math.MaxInt64 {
		return nil, wrong("seconds", value, "a number of seconds up to 292 years")
	}
	return time.Duration(nanoseconds).String(), nil
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	default:
		return 0, false
	}
}
