package mapping

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// total is the counter of objects. A condition with this name is not counted.
const total = "total"

// countConditions adds an object to the counters of its conditions.
func countConditions(count map[string]int64, object *unstructured.Unstructured) {
	for name, is := range conditionsOf(object) {
		if is {
			count[name]++
		} else {
			count[name] += 0 // The counter exists even at 0.
		}
	}
}

// conditionsOf returns whether each condition of an object is True, by the names of their
// counters.
func conditionsOf(object *unstructured.Unstructured) map[string]bool {
	conditions := map[string]bool{}
	for _, condition := range jsonvalue.Conditions(object.Object) {
		kind, _ := condition["type"].(string)
		if name := lowerCamel(kind); name != "" && name != total {
			conditions[name] = conditions[name] || condition["status"] == "True"
		}
	}
	return conditions
}

// lowerCamel returns podScheduled for PodScheduled, urlReady for URLReady and
// exampleComReady for example.com/Ready.
func lowerCamel(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		if i == 0 {
			words[i] = lowerFirst(word)
		} else {
			words[i] = upperFirst(word)
		}
	}
	return strings.Join(words, "")
}

// lowerFirst lowers the first letter, or a whole initialism.
func lowerFirst(word string) string {
	letters := []rune(word)
	for i := range letters {
		startsWord := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if !unicode.IsUpper(letters[i]) || startsWord {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}

func upperFirst(word string) string {
	letters := []rune(word)
	letters[0] = unicode.ToUpper(letters[0])
	return string(letters)
}
