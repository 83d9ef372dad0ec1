package engines

import (
	"encoding/json"
	"errors"
)

// MaxOutlineSteps bounds the outline of a program. A larger one has none.
const MaxOutlineSteps = 50_000

// Outline is what a script does with values, in a small language that is the same for all engines, so that reads and answers are checked
// against schemas by one checker. What has no step in that language is OutlineUnknown, whose value can be anything.
type Outline struct {
	// Root evaluates to the hook's function, or to an object that has it as the field Function or default.
	Root     *OutlineStep `json:"root"`
	Function string       `json:"function"`
	// Files are the roots of files that OutlineImport names.
	Files map[string]*OutlineStep `json:"files,omitempty"`
}

// OutlineOp is what a step of an outline does.
type OutlineOp string

const (
	// OutlineUnknown evaluates its parts. Functions among them are called with anything.
	OutlineUnknown OutlineOp = "?"
	// These are literals, of which Text is the value.
	OutlineNull, OutlineBool, OutlineNumber, OutlineString OutlineOp = "null", "bool", "number", "string"
	// OutlineIs evaluates its parts, and is some value of the type Text: string, number, boolean.
	OutlineIs OutlineOp = "is"
	// OutlineName is the variable Text, OutlineImport the file Text.
	OutlineName, OutlineImport OutlineOp = "name", "import"
	// OutlineMember is the field Text of its part, as an author writes it without brackets, at the place of the field. OutlineMethod is the
	// same where it is called, OutlineIndex that of a key which is its second part.
	OutlineMember, OutlineMethod, OutlineIndex OutlineOp = ".", "().", "[]"
	// OutlineElement is any element of a list, and the value of any field of an object or, with the Text key, the name.
	OutlineElement OutlineOp = "element"
	// OutlineSame evaluates its parts, and is the first. OutlineChoice is one of its parts.
	OutlineSame, OutlineChoice OutlineOp = "same", "choice"
	// OutlineFunction has its parameters as parts, which are OutlineName, and last its body: an OutlineBlock, or an expression. OutlineCall
	// calls its first part. Arguments may be OutlineField, with the name of the parameter.
	OutlineFunction, OutlineCall OutlineOp = "function", "call"
	// OutlineObject has parts that are OutlineField, with a value as part, OutlineExtend, whose value is merged with that of the object
	// that is extended, OutlineSpread, and OutlineUnknown for computed names. OutlineList has values and OutlineSpread.
	OutlineObject, OutlineField, OutlineExtend, OutlineSpread, OutlineList OutlineOp = "object", "field", "field+", "...", "list"
	// OutlineMerge is an object with the fields of both its parts, or a list with the elements of both, or a text if one of its parts is.
	OutlineMerge OutlineOp = "merge"
	// OutlineBlock is a scope of statements, and OutlineLet one whose value is that of its last part. OutlineBind declares the variable Text.
	// OutlineAssign assigns to the variable Text or, if that is empty, to its first part. OutlineReturn ends a function. OutlineExport gives
	// the root the field Text.
	OutlineBlock, OutlineLet, OutlineBind       OutlineOp = "block", "let", "bind"
	OutlineAssign, OutlineReturn, OutlineExport OutlineOp = "assign", "return", "export"
	// OutlineCompare asks whether its parts are equal, and OutlineStrict is one for which 3 and "3" are not. OutlineSum takes values of the
	// same type.
	OutlineCompare, OutlineStrict, OutlineSum OutlineOp = "==", "===", "+"
)

// OutlineStep is an expression or a statement.
type OutlineStep struct {
	Op    OutlineOp      `json:"o"`
	Text  string         `json:"t,omitempty"`
	At    Location       `json:"a,omitzero"`
	Parts []*OutlineStep `json:"p,omitempty"`
}

// NewOutlineStep returns a step without a place.
func NewOutlineStep(op OutlineOp, text string, parts ...*OutlineStep) *OutlineStep {
	return &OutlineStep{Op: op, Text: text, Parts: parts}
}

// OutlineEach returns a step that calls a function with the elements of a list. It is a list of the results if how is map, of their
// elements if it is flatMap, the list itself if it is filter, an element of it if it is find, and otherwise unknown. With fold the
// elements are the second arguments.
func OutlineEach(how string, list, function *OutlineStep, others ...*OutlineStep) *OutlineStep {
	const name = "%list"
	of := NewOutlineStep(OutlineName, name)
	element := NewOutlineStep(OutlineElement, "", of)
	call := NewOutlineStep(OutlineCall, "", function, element)
	result := NewOutlineStep(OutlineUnknown, "", append(others, call)...)
	switch how {
	case "fold":
		call.Parts = []*OutlineStep{function, NewOutlineStep(OutlineUnknown, ""), element}
	case "map":
		result = NewOutlineStep(OutlineList, "", call)
	case "flatMap":
		result = NewOutlineStep(OutlineList, "", NewOutlineStep(OutlineSpread, "", call))
	case "filter":
		result = NewOutlineStep(OutlineSame, "", of, call)
	case "find":
		result = NewOutlineStep(OutlineSame, "", element, call)
	}
	return NewOutlineStep(OutlineLet, "", NewOutlineStep(OutlineBind, name, list), result)
}

// Part returns a part, or one that can be anything if there is none.
func (s *OutlineStep) Part(i int) *OutlineStep {
	if s == nil || i >= len(s.Parts) || s.Parts[i] == nil {
		return &OutlineStep{Op: OutlineUnknown}
	}
	return s.Parts[i]
}

// Marshal returns the outline as JSON, or nothing for none and for one that is too large.
func (o *Outline) Marshal() string {
	text, err := json.Marshal(o)
	if o == nil || err != nil || o.isTooLarge(len(text)) {
		return ""
	}
	return string(text)
}

// UnmarshalOutline returns what Marshal returned, or nil.
func UnmarshalOutline(text string) (*Outline, error) {
	if text == "" {
		return nil, nil
	}
	o := &Outline{}
	if err := json.Unmarshal([]byte(text[:min(len(text), maxOutlineBytes)]), o); err != nil || o.isTooLarge(len(text)) {
		return nil, errors.Join(err, errors.New("the outline is none, or is too large"))
	}
	return o, nil
}

// maxOutlineBytes bounds the JSON of an outline.
const maxOutlineBytes = 8 << 20

func (o *Outline) isTooLarge(bytes int) bool {
	steps := o.Root.count()
	for _, root := range o.Files {
		steps += root.count()
	}
	return steps > MaxOutlineSteps || bytes > maxOutlineBytes
}

func (s *OutlineStep) count() int {
	if s == nil {
		return 0
	}
	n := 1
	for _, part := range s.Parts {
		n += part.count()
	}
	return n
}
