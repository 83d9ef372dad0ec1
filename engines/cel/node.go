package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/libretto-k8s/libretto/engines"
)

// node is a part of a response as a script describes it.
type node interface {
	// render returns the JSON, and whether there is any: see answer.
	render(r *rendering) (value any, kept bool, err error)
}

// rendering makes the response of one call.
type rendering struct {
	answer
	call *call
	// variable tells that what is made is a variable's value, whose name the path begins with.
	variable bool
}

// constant is a part without holes. All responses share it.
type constant struct{ value any }

func (n *constant) render(r *rendering) (any, bool, error) { return n.value, true, r.charge(n.value) }

// hole is a part that is the value of an expression.
type hole struct {
	code *expression
	// where names the expression in stacks, unless its path in the response does.
	where string
}

func (n *hole) render(r *rendering) (any, bool, error) {
	v, failure := r.call.evaluate(n.code, r.where(n.where))
	if failure != nil {
		return nil, false, failure
	}
	out, kept, err := r.value(v)
	return out, kept, n.code.placed(err)
}

// placed adds to an error of converting the expression's value which expression it was.
func (x *expression) placed(err error) error {
	if wrong, ok := err.(*engines.Error); ok {
		wrong.Location = x.code.at(0)
	}
	return err
}

// where names the place of an expression in the response.
func (r *rendering) where(known string) string {
	switch {
	case known != "":
		return known
	case r.variable:
		return r.path.String()
	}
	return append(engines.Path{"response"}, r.path...).String()
}

// template is text with expressions in it.
type template []segment

// segment is literal text, or an expression whose value is text.
type segment struct {
	literal string
	code    *expression
}

func (n template) render(r *rendering) (any, bool, error) {
	s, err := n.text(r)
	if err != nil {
		return nil, false, err
	}
	return s, true, r.Spend(len(s) + 2)
}

func (n template) text(r *rendering) (string, error) {
	var b strings.Builder
	for _, p := range n {
		b.WriteString(p.literal)
		if p.code == nil {
			continue
		}
		words, err := p.code.text(r)
		if err != nil {
			return "", err
		}
		b.WriteString(words)
		if b.Len() > engines.MaxResponseBytes {
			return "", p.code.placed(r.Spend(b.Len()))
		}
	}
	return b.String(), nil
}

// text returns what string() makes of the expression's value.
func (x *expression) text(r *rendering) (string, error) {
	v, failure := r.call.evaluate(x, r.where(""))
	if failure != nil {
		return "", failure
	}
	if s, ok := v.ConvertToType(types.StringType).(types.String); ok {
		return string(s), nil
	}
	if written, ok := v.Value().(fmt.Stringer); ok {
		return written.String(), nil
	}
	return "", withFrame(&engines.Error{Kind: engines.Failed, Message: notText(v.Type().TypeName())}, x.code.at(0), r.where(""))
}

func notText(typeName string) string {
	return fmt.Sprintf("gives a value of type %s, which can't be part of a text: "+
		"a hole gives any value where it is all of its field", typeName)
}
