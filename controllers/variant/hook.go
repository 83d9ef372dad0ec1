package variant

import "github.com/libretto-k8s/libretto/controllers/api/v1alpha1"

// Hook is how one hook of a definition is called and how its response is read. Each hook
// has a version of its own (section 2.5 of the specification).
type Hook struct {
	Name string
	// Relative is true for version v1, whose keys leave out the parent's namespace.
	Relative bool
	Response ResponseRules
}

// NewHook returns nil for a hook that the definition does not have. makes is true if the
// definition declares resources whose objects the hook can ask for; fields are the names
// that the response may have.
func NewHook(name v1alpha1.HookName, given *v1alpha1.Hook, makes bool, fields ...string) *Hook {
	if given == nil {
		return nil
	}
	return &Hook{Name: string(name), Relative: given.WireVersion() == v1alpha1.HookV1, Response: RulesFor(given, makes, fields...)}
}

// Earlier returns the smaller of two times, of which 0 or less means never.
func Earlier[T ~int64 | ~float64](a, b T) T {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
