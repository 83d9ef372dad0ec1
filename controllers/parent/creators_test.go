package parent

import "testing"

func TestDescribeMakers(t *testing.T) {
	const own, other = "CompositeController own", "CompositeController other"
	for _, c := range []struct {
		reason   string
		creators []string
		want     string
	}{
		{"nobody in this process", nil, ": let the hook choose another name, or delete the object"},
		{"another definition: both are named", []string{other},
			", for which CompositeController other makes it, while CompositeController own wants it for this one" +
				": let the hook choose another name, or delete the object"},
		{"the same one, which would make it again for the other parent if it were deleted", []string{own},
			", for which the same definition makes it: let the hook give the child of each parent a name of its own"},
	} {
		if got := describeCreators(c.creators, own); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}
