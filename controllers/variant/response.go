package variant

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Response reads an answer field by field and keeps the first problem.
type Response struct {
	hook   string
	fields map[string]any
	rules  ResponseRules
	err    error
}

// ResponseRules configure how a response is checked.
type ResponseRules struct {
	// Fields are the known fields.
	Fields []string
	// RefuseUnknown rejects unknown fields.
	RefuseUnknown bool
	// AllowAbsentList reads an absent list as empty, for hooks with an explicit
	// responseUnMarshallMode: loose.
	AllowAbsentList bool
	// AllowNegative reads a negative time as none, for webhooks that are read loosely: to
	// metacontroller a time that is over asks for nothing.
	AllowNegative bool
	// Unwrap is the remedy for a response inside {status, body}. If it is empty, such a response
	// is read like any other.
	Unwrap string
}

// RulesFor returns the rules of a hook (section 2.5 of the specification). The list of objects
// is required, unless the definition makes none or the hook is explicitly loose.
func RulesFor(hook *v1alpha1.Hook, makes bool, fields ...string) ResponseRules {
	return ResponseRules{
		Fields:          fieldsFor(hook, fields),
		RefuseUnknown:   hook.ResponseMode() == v1alpha1.ResponseStrict,
		AllowAbsentList: hook.MayOmitList() || !makes,
		AllowNegative:   hook.Serving() == v1alpha1.WebhookBackend && hook.ResponseMode() == v1alpha1.ResponseLoose,
		Unwrap:          UnwrapFor(hook),
	}
}

// fieldsFor returns fields without those that webhooks of version v1 do not have, which are metacontroller's.
func fieldsFor(hook *v1alpha1.Hook, fields []string) []string {
	if hook.Serving() == v1alpha1.ScriptBackend || hook.WireVersion() != v1alpha1.HookV1 {
		return fields
	}
	return withoutOptional(fields)
}

// withoutOptional returns fields without those that metacontroller's responses do not have.
func withoutOptional(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return field == WaitingField || field == EventsField })
}

// UnwrapFor returns how to make a hook that answers {status, body}, as functions behind an HTTP
// server do, answer with the response itself.
func UnwrapFor(hook *v1alpha1.Hook) string {
	const bodyAlone = "return what is in its body, and nothing around it"
	switch {
	case hook.Serving() != v1alpha1.ScriptBackend:
		return "let the server send what is in its body, and the status as that of HTTP"
	case hook.Script.MayBeHTTPContext() && hook.Script.CallSignature() == v1alpha1.RequestSignature:
		return "set script.signature of this hook to HTTPContext, or " + bodyAlone
	default:
		return bodyAlone
	}
}

// ReadResponse returns a Response for an answer.
func ReadResponse(answer Answer, rules ResponseRules) *Response {
	r := &Response{hook: answer.Call.Hook, rules: rules}
	if answer.Err != nil {
		r.err = answer.Err
		return r
	}
	fields, ok := answer.Body.(map[string]any)
	if !ok && (answer.Body != nil || !rules.AllowAbsentList) {
		r.Failf("the hook answered %s where an object with %s is needed", jsonvalue.KindOf(answer.Body), list(withoutOptional(rules.Fields)))
	}
	r.fields = fields
	if rules.Unwrap != "" && r.isWrapped() {
		r.Failf("the hook answered {%s}, which holds the response in its body: %s", list(SortedKeys(fields)), rules.Unwrap)
	}
	return r
}

// isWrapped reports whether an answer is that of a function behind an HTTP server. No response
// has a numeric status or a body.
func (r *Response) isWrapped() bool {
	if _, ok := r.fields["body"]; !ok || slices.Contains(r.rules.Fields, "body") {
		return false
	}
	return isNumber(r.fields["status"]) || isNumber(r.fields["statusCode"])
}

func isNumber(value any) bool { return jsonvalue.KindOf(value) == jsonvalue.KindOf(int64(0)) }

// Err returns the first problem, or nil. It is called after all fields are read.
func (r *Response) Err() error {
	if r.rules.RefuseUnknown {
		r.rejectUnknown(r.rules.Fields)
	}
	return r.err
}

// Objects reads a list of objects that each have apiVersion, kind and name. The list is
// required, but may be empty or null, unless the rules allow otherwise. An answer that waits has none.
func (r *Response) Objects(field string) []*unstructured.Unstructured {
	value, present := r.fields[field]
	if r.waits() {
		if value != nil {
			r.Failf("%s: stands beside %s, which leaves all of them as they are: leave one of the two out", field, WaitingField)
		}
		return nil
	}
	if value == nil && r.fields[WaitingField] != nil { // A null list deletes all objects, and comes from an empty field in Go.
		r.Failf("%s: is required, as a webhook of version v1 has no %s: set version: v2: nothing was deleted for want of it", field, WaitingField)
	}
	if !present && !r.rules.AllowAbsentList {
		r.Failf("%s: is required, if only as an empty list%s: nothing was deleted for want of it", field, r.unknownFieldHint())
	}
	items, ok := value.([]any)
	if !ok && value != nil {
		r.Failf("%s: must be a list of objects, but is %s", field, jsonvalue.KindOf(value))
	}
	objects := make([]*unstructured.Unstructured, 0, len(items))
	for i, item := range items {
		object, problem := parseObject(item)
		if problem != "" {
			r.Failf("%s[%d]%s", field, i, problem)
			continue
		}
		objects = append(objects, object)
	}
	return objects
}

// Map reads an object. It returns nil for null and absent.
func (r *Response) Map(field string) map[string]any {
	value, ok := r.fields[field].(map[string]any)
	if !ok && r.fields[field] != nil {
		r.Failf("%s: must be an object, but is %s", field, jsonvalue.KindOf(r.fields[field]))
	}
	return value
}

// Maps reads a list of objects of any shape. It returns none for null and absent.
func (r *Response) Maps(field string) []map[string]any {
	items, ok := r.fields[field].([]any)
	if !ok && r.fields[field] != nil {
		r.Failf("%s: must be a list of objects, but is %s", field, jsonvalue.KindOf(r.fields[field]))
	}
	objects := make([]map[string]any, 0, len(items))
	for i, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			r.Failf("%s[%d]: must be an object, but is %s", field, i, jsonvalue.KindOf(item))
		}
		objects = append(objects, object)
	}
	return objects
}

// Seconds reads a time: see ResyncAfter.
func (r *Response) Seconds(field string) float64 {
	value := r.fields[field]
	if r.rules.AllowNegative && isNegative(value) {
		return 0
	}
	seconds, problem := ResyncAfter(value)
	if problem != "" {
		r.Failf("%s: %s", field, problem)
	}
	return seconds
}

func isNegative(value any) bool {
	whole, _ := value.(int64)
	fraction, _ := value.(float64)
	return whole < 0 || fraction < 0
}

// Bool reads a boolean. It returns false for null and absent.
func (r *Response) Bool(field string) bool {
	value, ok := r.fields[field].(bool)
	if !ok && r.fields[field] != nil {
		r.Failf("%s: must be true or false, but is %s", field, jsonvalue.KindOf(r.fields[field]))
	}
	return value
}

// Failf records a problem, unless there is one.
func (r *Response) Failf(format string, args ...any) {
	if r.err == nil {
		r.err = HookError(r.hook, &engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *Response) rejectUnknown(known []string) {
	for _, field := range SortedKeys(r.fields) {
		if !slices.Contains(known, field) {
			r.Failf("%s: is no field of this hook's response, which has %s", field, list(known))
		}
	}
}

// unknownFieldHint names the first unknown field, as the missing one may be misspelled.
func (r *Response) unknownFieldHint() string {
	for _, field := range SortedKeys(r.fields) {
		if !slices.Contains(r.rules.Fields, field) {
			return fmt.Sprintf(" (there is %q)", field)
		}
	}
	return ""
}

func list(names []string) string { return strings.Join(names, ", ") }
