package merge

// sliceBuilder is a list made from another one, item by item from the front. It is the
// other one, and costs nothing, for as long as it does not differ.
type sliceBuilder struct {
	source  []any
	kept    int // how many items of from are in the list, while it does not differ
	out     []any
	differs bool
}

// keep takes over the next item of from.
func (x *sliceBuilder) keep(item any) {
	if x.differs {
		x.out = append(x.out, item)
		return
	}
	x.kept++
}

// drop leaves out the next item of from.
func (x *sliceBuilder) drop() { x.fork() }

// add puts in an item that is not in from.
func (x *sliceBuilder) add(item any) {
	x.fork()
	x.out = append(x.out, item)
}

// merge takes over the next item of from, or value in its place if that differs.
func (x *sliceBuilder) merge(item any, value map[string]any, differs bool) {
	if differs {
		x.add(value)
	} else {
		x.keep(item)
	}
}

func (x *sliceBuilder) fork() {
	if !x.differs {
		x.out = append(make([]any, 0, len(x.source)+1), x.source[:x.kept]...)
		x.differs = true
	}
}

// items returns the list so far.
func (x *sliceBuilder) items() []any {
	if x.differs {
		return x.out
	}
	return x.source[:x.kept]
}

// list returns the finished list.
func (x *sliceBuilder) list() ([]any, bool) { return x.items(), x.differs }
