package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/libretto-k8s/libretto/engines"
)

func (a *answer) container(v ref.Val) (any, bool, error) {
	switch v := v.(type) {
	case *object:
		return v.fields, true, a.charge(v.all())
	case *array:
		return v.elements, true, a.charge(v.elements)
	case traits.Mapper:
		out, err := a.fields(v)
		return out, true, err
	default:
		out, err := a.elements(v.(traits.Lister))
		return out, true, err
	}
}

func (a *answer) fields(m traits.Mapper) (any, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, a.path.Errorf("has a key of type %s, and fields of JSON have texts: use string()", key.Type().TypeName())
		}
		if err := a.field(out, string(name), func() (any, bool, error) { return a.value(m.Get(key)) }); err != nil {
			return nil, err
		}
	}
	a.depth--
	return out, nil
}

// field adds a field to out, unless there is no value for it.
func (a *answer) field(out map[string]any, name string, value func() (any, bool, error)) error {
	a.path = append(a.path, name)
	v, kept, err := value()
	if err != nil {
		return err
	}
	a.path = a.path[:len(a.path)-1]
	if !kept {
		return nil
	}
	out[name] = v
	return a.Spend(len(name) + 4)
}

func (a *answer) elements(l traits.Lister) (any, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		if err := a.element(&out, func() (any, bool, error) { return a.value(it.Next()) }); err != nil {
			return nil, err
		}
	}
	a.depth--
	return out, nil
}

// element adds an element to out, unless there is no value for it.
func (a *answer) element(out *[]any, value func() (any, bool, error)) error {
	a.path = append(a.path, len(*out))
	v, kept, err := value()
	if err != nil {
		return err
	}
	a.path = a.path[:len(a.path)-1]
	if kept {
		*out = append(*out, v)
	}
	return nil
}

// charge charges what is shared with the request or the script, and needs no conversion.
func (a *answer) charge(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if err := a.enter(); err != nil {
			return err
		}
		for key, value := range v {
			a.Budget -= engines.Budget(len(key) + 4)
			if err := a.charge(value); err != nil {
				return err
			}
		}
		a.depth--
		return nil
	case []any:
		if err := a.enter(); err != nil {
			return err
		}
		for _, value := range v {
			if err := a.charge(value); err != nil {
				return err
			}
		}
		a.depth--
		return nil
	case string:
		return a.Spend(len(v) + 2)
	default:
		return a.Spend(8)
	}
}
