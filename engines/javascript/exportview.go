package javascript

// Views that the script has not changed are returned as their Go values, so that a large
// request is not copied. Their size counts all the same.

func (x *exporter) objectView(o *object) (any, error) {
	if !o.changed {
		o.reads.All()
		return o.source, x.unchanged(&o.node, o.source)
	}
	keys := o.Keys()
	out := make(map[string]any, len(keys))
	for _, key := range keys {
		if err := x.viewProperty(out, key, o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *exporter) viewProperty(out map[string]any, key string, o *object) error {
	if v, ok := o.overrides[key]; ok {
		return x.property(out, key, v)
	}
	out[key] = o.source[key]
	if err := x.Spend(len(key) + 4); err != nil {
		return err
	}
	return x.measure(o.source[key], 0)
}

func (x *exporter) arrayView(a *array) (any, error) {
	if !a.changed {
		return a.source, x.unchanged(&a.node, a.source)
	}
	out := make([]any, a.Len())
	for n := range out {
		if err := x.viewElement(out, n, a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *exporter) viewElement(out []any, n int, a *array) (err error) {
	if a.values[n] != nil {
		out[n], err = x.element(n, a.values[n])
		return err
	}
	out[n] = a.source[n]
	return x.measure(a.source[n], 0)
}

// measurement is the size of an unchanged view, and the depth at which it was measured.
type measurement struct{ bytes, depth int }

// unchanged counts the Go value of a view as part of the answer. Pods of one
// template share views: each is measured once.
func (x *exporter) unchanged(n *node, v any) error {
	if known, ok := x.measurements[n]; ok && len(x.ancestors) <= known.depth {
		return x.Spend(known.bytes)
	}
	before := x.Budget
	if err := x.measure(v, 0); err != nil {
		return err
	}
	if x.measurements == nil {
		x.measurements = map[*node]measurement{}
	}
	x.measurements[n] = measurement{int(before - x.Budget), len(x.ancestors)}
	return nil
}

// measure counts a Go value as part of the answer.
func (x *exporter) measure(v any, depth int) error {
	if len(x.ancestors)+depth > maxAnswerNesting {
		return x.path.Errorf("is nested more than %d deep", maxAnswerNesting)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if err := x.Spend(len(key) + 4); err != nil {
				return err
			}
			if err := x.measure(part, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, part := range v {
			if err := x.measure(part, depth+1); err != nil {
				return err
			}
		}
	}
	return x.Spend(size(v))
}

// size returns about how many bytes of JSON a value takes, without its parts.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case int64, float64:
		return 8
	case bool:
		return 4
	case nil:
		return 4
	default:
		return 2
	}
}
