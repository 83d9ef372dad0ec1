package parent

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// toldStates remembers which states of parents were reported, so that an event reports each once. Kept in memory: a restart reports
// them again.
type toldStates struct {
	mu       sync.Mutex
	byParent map[controller.Key]*toldParent
}

// toldParent holds what was reported of one parent.
type toldParent struct {
	uid    types.UID
	states map[string]bool
}

func newToldStates() *toldStates { return &toldStates{byParent: map[controller.Key]*toldParent{}} }

// isNew reports whether a state of a parent was not reported yet, and notes it.
func (t *toldStates) isNew(key controller.Key, parent *unstructured.Unstructured, state string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.byParent[key]
	if told == nil || told.uid != parent.GetUID() {
		told = &toldParent{uid: parent.GetUID(), states: map[string]bool{}}
		t.byParent[key] = told
	}
	isNew := !told.states[state]
	told.states[state] = true
	return isNew
}

// forget drops a deleted parent.
func (t *toldStates) forget(key controller.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byParent, key)
}
