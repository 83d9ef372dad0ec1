package jsonnet

import (
	"math"
	"strings"
)

// numberFormat writes a number as std.format does, by the same steps in the same
// order: where that is not what C does, the difference is kept.
type numberFormat struct {
	code
	// width is what zeros fill up to.
	width int
	// precision is the code's, or the value that it took.
	precision int
}

// write returns the text, or false if a step along the way has no finite result.
func (f numberFormat) write(n float64) (string, bool) {
	digits, decimals := max(f.precision, 0), f.precision
	if decimals == absent {
		decimals = 6
	}
	switch f.kind {
	case 'd':
		return f.sign(n <= -1) + f.integer(math.Floor(math.Abs(n)), 10, "", f.widthLeft(n <= -1, f.width), digits), true
	case 'o':
		return f.sign(n <= -1) + f.integer(math.Floor(math.Abs(n)), 8, f.prefix("0"), f.widthLeft(n <= -1, f.width), digits), true
	case 'x':
		return f.hexadecimal(math.Floor(n), digits), true
	case 'f':
		return f.decimal(n, f.width, decimals, true)
	case 'e':
		return f.scientific(n, decimals, true)
	default:
		return f.general(n, decimals)
	}
}

// sign returns what comes before the digits.
func (f numberFormat) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.plus:
		return "+"
	case f.blank:
		return " "
	default:
		return ""
	}
}

// widthLeft returns what a sign leaves of a width.
func (f numberFormat) widthLeft(negative bool, width int) int { return width - len(f.sign(negative)) }

// prefix returns what the flag # puts before the digits.
func (f numberFormat) prefix(text string) string {
	if f.alternate {
		return text
	}
	return ""
}

// integer writes a whole number that is not negative, with zeros to fill up.
func (f numberFormat) integer(n, radix float64, prefix string, room, digits int) string {
	text := "0"
	if n != 0 {
		text = prefix + digitsOf(n, radix, "0123456789abcdef")
	}
	return zeros(text, max(room, digits))
}

func (f numberFormat) hexadecimal(n float64, digits int) string {
	letters, prefix := "0123456789abcdef", f.prefix("0x")
	if f.capitals {
		letters, prefix = "0123456789ABCDEF", f.prefix("0X")
	}
	text := "0"
	if n != 0 {
		text = digitsOf(math.Abs(n), 16, letters)
	}
	return f.sign(n < 0) + prefix + zeros(text, max(f.widthLeft(n < 0, f.width)-len(prefix), digits))
}

// digitsOf divides as std.format does, whose last digits of numbers beyond 2^53 are not exact.
func digitsOf(n, radix float64, letters string) string {
	var reversed []byte
	for ; n != 0; n = math.Floor(n / radix) {
		reversed = append(reversed, letters[int(math.Mod(n, radix))])
	}
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return string(reversed)
}

func zeros(text string, width int) string {
	return strings.Repeat("0", max(width-len(text), 0)) + text
}

// decimal writes n with so many decimals, of which trailing zeros may be left out.
func (f numberFormat) decimal(n float64, width, decimals int, trailing bool) (string, bool) {
	denominator := math.Pow(10, float64(decimals))
	// Both steps are rounded, which a fused multiplication and addition is not.
	numerator := float64(math.Abs(n)*denominator) + 0.5
	if decimals < 0 || math.IsInf(numerator, 0) || math.IsInf(denominator, 0) {
		return "", false
	}
	point := ""
	if decimals > 0 || f.alternate {
		point = "."
	}
	whole := 0.0
	if n != 0 {
		whole = math.Floor(numerator / denominator)
	}
	text := f.sign(n < 0) + f.integer(whole, 10, "", f.widthLeft(n < 0, width-decimals-len(point)), 0)
	if decimals == 0 {
		return text + point, true
	}
	fraction := math.Mod(math.Floor(numerator), denominator)
	if !trailing && fraction <= 0 {
		return text, true
	}
	after := f.integer(fraction, 10, "", decimals, 0)
	if !trailing {
		after = strings.TrimRight(after, "0")
	}
	return text + "." + after, true
}

func (f numberFormat) scientific(n float64, decimals int, trailing bool) (string, bool) {
	exponent := exponentOf(n)
	mantissa := n / math.Pow(10, exponent)
	if exponent == -324 {
		mantissa = n * 10 / math.Pow(10, exponent+1)
	}
	if math.IsInf(mantissa, 0) || math.IsNaN(mantissa) {
		return "", false
	}
	suffix := "e"
	if f.capitals {
		suffix = "E"
	}
	sign := "+"
	if exponent < 0 {
		sign = "-"
	}
	suffix += sign + f.integer(math.Abs(exponent), 10, "", 2, 0)
	text, ok := f.decimal(mantissa, f.width-len(suffix), decimals, trailing)
	return text + suffix, ok
}

func (f numberFormat) general(n float64, significant int) (string, bool) {
	exponent := exponentOf(n)
	if exponent < -4 || exponent >= float64(significant) {
		return f.scientific(n, significant-1, f.alternate)
	}
	return f.decimal(n, f.width, significant-int(max(1, exponent+1)), f.alternate)
}

// exponentOf returns that of ten, which logarithms don't always give exactly.
func exponentOf(n float64) float64 {
	if n == 0 {
		return 0
	}
	return math.Floor(math.Log(math.Abs(n)) / math.Log(10))
}
