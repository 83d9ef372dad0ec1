package engines

import "maps"

// Rounded are the integers beyond 2^53 that a script was given, whose language has float64 as its only numbers. A number that the script
// returns leads back to the integer that was rounded to it, so that what is passed on has all its digits.
type Rounded struct {
	exact     map[float64]int64
	ambiguous map[float64]bool
}

// Clone returns a copy, which notes for itself.
func (r Rounded) Clone() Rounded { return Rounded{maps.Clone(r.exact), maps.Clone(r.ambiguous)} }

// firstRounded is the smallest integer that another one is rounded to.
const firstRounded = 1 << 53

// Note records an integer that a script is given.
func (r *Rounded) Note(n int64) {
	if -firstRounded < n && n < firstRounded {
		return
	}
	if r.exact == nil {
		r.exact, r.ambiguous = map[float64]int64{}, map[float64]bool{}
	}
	if other, known := r.exact[float64(n)]; known && other != n {
		r.ambiguous[float64(n)] = true
	}
	r.exact[float64(n)] = n
}

// NoteAll records all integers of a JSON value.
func (r *Rounded) NoteAll(v any) {
	switch v := v.(type) {
	case int64:
		r.Note(v)
	case []any:
		for _, part := range v {
			r.NoteAll(part)
		}
	case map[string]any:
		for _, part := range v {
			r.NoteAll(part)
		}
	}
}

// Number returns a number of an answer: the integer that it stands for, or as Number does. It reports false if it stands for several.
func (r *Rounded) Number(f float64) (n any, ok bool) {
	if exact, given := r.exact[f]; given {
		return exact, !r.ambiguous[f]
	}
	return Number(f), true
}

// SeveralIntegers says of a number that it stands for several integers, for Path.Errorf.
const SeveralIntegers = "is %.0f, to which several integers of the request are rounded: %s has no integers above 2^53: %s"
