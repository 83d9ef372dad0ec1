package notices

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// OutdatedChildren holds the children that differ from what the hooks want and that OnDelete leaves alone, by parent. Kept in memory:
// the first pass over each parent after a restart finds them again.
type OutdatedChildren struct {
	mu       sync.Mutex
	byParent map[controller.Key]*outdatedParent
	count    int
}

// outdatedParent holds those of one parent.
type outdatedParent struct {
	uid types.UID
	// aim is a hash of what the hooks wanted them to be for: the scripts, and the parent without metadata and status.
	aim uint64
	// children are those that differ now. reported are those that were reported for the same aim.
	children, reported map[apply.Key]bool
}

// NewOutdatedChildren returns an empty record.
func NewOutdatedChildren() *OutdatedChildren {
	return &OutdatedChildren{byParent: map[controller.Key]*outdatedParent{}}
}

// Set replaces the children of a parent. It returns whether their total has changed, and whether some of them were not reported for
// the same aim.
func (o *OutdatedChildren) Set(key controller.Key, uid types.UID, aim uint64, children []apply.Key) (changed, isNew bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.count
	p := o.byParent[key]
	if p != nil {
		o.count -= len(p.children)
	}
	if len(children) == 0 {
		delete(o.byParent, key)
		return o.count != before, false
	}
	if p == nil || p.uid != uid || p.aim != aim {
		p = &outdatedParent{uid: uid, aim: aim, reported: map[apply.Key]bool{}}
		o.byParent[key] = p
	}
	p.children = make(map[apply.Key]bool, len(children))
	for _, child := range children {
		isNew = isNew || !p.reported[child]
		p.children[child] = true
	}
	o.count += len(p.children)
	return o.count != before, isNew
}

// NoteReported notes that the children of a parent were reported.
func (o *OutdatedChildren) NoteReported(key controller.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.byParent[key]; p != nil {
		maps.Copy(p.reported, p.children)
	}
}

// Forget drops a parent, and reports whether it had any.
func (o *OutdatedChildren) Forget(key controller.Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.byParent[key]
	if p != nil {
		o.count -= len(p.children)
		delete(o.byParent, key)
	}
	return p != nil
}

// Total returns how many there are of all parents. It takes the same time for any number.
func (o *OutdatedChildren) Total() int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int32(o.count)
}

// maxNamedOutdated is how many children an event names.
const maxNamedOutdated = 3

// DescribeOutdated returns the message about children that OnDelete leaves alone.
func DescribeOutdated(held []apply.Change) string {
	var names []string
	for _, change := range held[:min(len(held), maxNamedOutdated)] {
		name := change.Key.String()
		for _, diff := range change.Diffs() {
			if diff.Path != "" {
				name += " (" + fielddiff.PublicPath(change.Key.Kind, diff.Path) + ")"
				break
			}
		}
		names = append(names, name)
	}
	list := strings.Join(names, ", ")
	if more := len(held) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s: not as the hook wants them, and left alone until they are deleted, as updateStrategy.method is OnDelete: "+
		"delete them when it suits, or set InPlace or Recreate", list)
}
