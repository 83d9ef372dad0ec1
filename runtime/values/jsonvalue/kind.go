package jsonvalue

import "fmt"

// KindOf returns the name of a JSON type for messages.
func KindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	default:
		return fmt.Sprintf("a %T", value)
	}
}
