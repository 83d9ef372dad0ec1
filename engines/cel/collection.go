package cel

// mapping is an object with holes in it.
type mapping []entry

// entry is one field of it; key is a template or a constant text.
type entry struct {
	key   template
	value node
}

func (n mapping) render(r *rendering) (any, bool, error) {
	if err := r.enter(); err != nil {
		return nil, false, err
	}
	out := make(map[string]any, len(n))
	for _, f := range n {
		name, err := f.key.text(r)
		if err != nil {
			return nil, false, err
		}
		if _, taken := out[name]; taken {
			return nil, false, f.key.duplicateError(r, name)
		}
		if err := r.field(out, name, func() (any, bool, error) { return f.value.render(r) }); err != nil {
			return nil, false, err
		}
	}
	r.depth--
	return out, true, nil
}

// duplicateError returns the error for a key with holes whose value is the name of another field.
func (n template) duplicateError(r *rendering, name string) error {
	err := r.path.Errorf("has two fields of the name %q", name)
	for _, p := range n {
		if p.code != nil {
			return p.code.placed(err)
		}
	}
	return err
}

// sequence is a list with holes in it.
type sequence []node

func (n sequence) render(r *rendering) (any, bool, error) {
	if err := r.enter(); err != nil {
		return nil, false, err
	}
	out := make([]any, 0, len(n))
	for _, item := range n {
		if err := r.items(item, &out); err != nil {
			return nil, false, err
		}
	}
	r.depth--
	return out, true, nil
}
