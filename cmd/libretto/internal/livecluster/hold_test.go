package livecluster

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestHoldFreesTexts lets go of parents that others still refer to: the texts must not stay in memory.
func TestHoldFreesTexts(t *testing.T) {
	l := &load{high: math.MaxUint64, max: 100, members: map[types.UID]*member{}}
	var all []*member
	for _, uid := range []types.UID{"a", "b", "c", "d", "e", "f", "g", "h"} {
		m := &member{uid: uid, text: make([]byte, 60)}
		l.order, l.members[uid], all = append(l.order, m), m, append(all, m)
	}
	for _, m := range all {
		l.hold(m, m.text)
	}
	held := 0
	for _, m := range all {
		if held += len(m.text); l.members[m.uid] != m && m.text != nil {
			t.Errorf("%s is let go and its text is held", m.uid)
		}
	}
	if len(l.order) == len(all) || held > 100 {
		t.Errorf("%d of %d parents and %d bytes are held, want at most 100 bytes", len(l.order), len(all), held)
	}
}
