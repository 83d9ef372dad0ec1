package javascript

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// maxQuotedBytes bounds the code that a message quotes.
const maxQuotedBytes = 60

// missingGlobals says what to do about names that other runtimes of JavaScript have.
var missingGlobals = map[string]string{
	"fetch":          "scripts have no network: ask for objects of the cluster in a customize hook, or write the hook as a webhook",
	"XMLHttpRequest": "scripts have no network: ask for objects of the cluster in a customize hook, or write the hook as a webhook",
	"setTimeout":     "there are no timers: return resyncAfterSeconds to be called again",
	"setInterval":    "there are no timers: return resyncAfterSeconds to be called again",
	"setImmediate":   "there are no timers: return resyncAfterSeconds to be called again",
	"queueMicrotask": "use Promise.resolve().then(f)",
	"process":        "that is Node.js: settings of a script come in request.parameters",
	"Buffer":         "that is Node.js: there are Uint8Array.fromBase64() and toBase64(), TextEncoder and TextDecoder",
	"require":        "in a file with import or export there is import alone",
	"crypto":         "that is of browsers and Node.js: the module libretto has sha256, and hash for names and labels",
	"btoa":           "the module libretto has encodeBase64 for text, and Uint8Array has toBase64()",
	"atob":           "the module libretto has decodeBase64 for text, and there is Uint8Array.fromBase64()",
	"URL":            "that is of browsers and Node.js: the module libretto has parseURL",
	"Intl":           "it is not supported: there is no locale",
	"window":         "that is of browsers: globalThis is the global object",
	"__dirname":      "that is Node.js: files of the tree are imported",
	"request":        "it is the argument of the hook's function: function sync(request)",
	"parent":         "it is a field of the argument: function sync({ parent })",
	"children":       "it is a field of the argument: function sync({ children })",
	"related":        "it is a field of the argument: function sync({ related })",
}

// notDefined matches the message about a name that nothing defines.
var notDefined = regexp.MustCompile(`^ReferenceError: ([\w$]+) is not defined$`)

// missingMember matches the message about a call of a member that is not there.
var missingMember = regexp.MustCompile(`^Object has no member '(.+)'$`)

// takesFunction matches calls of methods of the language that complain about an argument that is no function in the words for a call of
// what is none. noFunction matches these words.
var (
	takesFunction = regexp.MustCompile(`\.(?:map|flatMap|filter|find\w*|forEach|some|every|reduce|reduceRight|sort|toSorted|from)$`)
	noFunction    = regexp.MustCompile(
		`^(?:Value is not an object: (.*)|Value is not callable: (.*)|(.*) is not a function|The comparison function must be .*)$`)
)

// builtInCall matches calls of functions of the language, which complain about their arguments in the words for a call of what is none.
var builtInCall = regexp.MustCompile(`^(?:Object|Reflect|Array|JSON|Math|Promise|String|Number|Symbol|Date|Proxy)\b`)

// keyword matches what is no expression though it looks like a name.
var keyword = regexp.MustCompile(`^(?:function|return|for|if|while|switch|throw|const|let|var|await|async|case|class|export|else|do|try)\b`)

// explain rewrites the messages of goja that name neither a value nor a way out, with the code at the place, and adds what to do: hint, if
// there is one.
func explain(files engines.Files, e *engines.Error, hint string) {
	callee, arguments := codeAt(files, e.Location)
	code := callee + arguments
	called := strings.HasPrefix(arguments, "(") && !strings.HasPrefix(callee, "new ")
	message := strings.TrimPrefix(e.Message, "TypeError: ")
	value, isValue := strings.CutPrefix(message, "Value is not an object: ")
	member := missingMember.FindStringSubmatch(message)
	argument := noFunction.FindStringSubmatch(message)
	switch {
	case argument != nil && called && takesFunction.MatchString(callee):
		e.Message = fmt.Sprintf("TypeError: a function is needed, and there is %s%s", cmp.Or(strings.Join(argument[1:], ""), "none"), near(code))
	case isValue && called && (value == "undefined" || !builtInCall.MatchString(code)):
		e.Message = fmt.Sprintf("TypeError: %s is not a function: it is %s", callee, value)
	case isValue:
		e.Message = fmt.Sprintf("TypeError: an object is needed, and there is %s%s", value, near(code))
	case message == "Value is not object coercible" && called, message == "Cannot convert undefined or null to object" && called:
		e.Message = "TypeError: undefined or null is given where an object is needed" + near(code) + ": " +
			cmp.Or(hint, "look whether it is there, or write ?? {}")
	case message == "Value is not object coercible", message == "Cannot convert undefined or null to object":
		e.Message = "TypeError: a value is undefined or null where an object or a list is needed" + near(code) + ": " +
			cmp.Or(hint, "look whether it is there, or write ?? {} or ?? []")
	case member != nil && called:
		e.Message = "TypeError: " + noMethod(strings.TrimSuffix(callee, member[1]), member[1])
	case called && (message == "Dynamic object is not callable" || strings.HasPrefix(message, "Not a function: ")):
		e.Message = fmt.Sprintf("TypeError: %s is not a function: it is an object or a list", callee)
	case message == "object is not iterable":
		e.Message = "TypeError: a list is needed, and there is none" + near(code) +
			": Object.values(x) and Object.entries(x) list an object's fields"
	case message == "Value is not a constructor":
		e.Message = "TypeError: new is for classes, and this is none" + near(code)
	case message == "No initial value", message == "Reduce of empty array with no initial value":
		e.Message = "TypeError: reduce of an empty list needs a first value as its second argument" + near(code)
	case strings.HasPrefix(code, "JSON.parse(") && strings.HasPrefix(e.Message, "SyntaxError: "):
		e.Message += ": the text that JSON.parse is given is no JSON" + near(code)
	case hint != "":
		e.Message += ": " + hint
	}
	if name := notDefined.FindStringSubmatch(e.Message); name != nil && missingGlobals[name[1]] != "" {
		e.Message += ": " + missingGlobals[name[1]]
	}
}

// explained adds advice to an error of a call or a load, and a place to one that has none. hint is what to do, or "".
func (p *program) explained(err error, hint string) {
	var e *engines.Error
	if !errors.As(err, &e) {
		return
	}
	if e.Location.File == "" && e.Kind == engines.Failed && e.Err == nil && !p.ofTests {
		e.Location.File = p.script.Path
	}
	if e.Message == unset {
		code, _ := codeAt(p.script.Files, e.Location)
		e.Message = "ReferenceError: " + cmp.Or(code, "a variable") + " is read before it is set: " + p.tree.unsetAdvice(e.Location.File)
		return
	}
	explain(p.script.Files, e, hint)
}

// noMethod returns the message for a call of a method that is not there, of what stands before its name, dot included.
func noMethod(before, name string) string {
	receiver := strings.TrimRight(before, "?.")
	message := before + name + " is not a function"
	if meant := spelling.Meant(name, methodsOf(receiver)); meant != "" {
		return message + ": " + meant
	}
	if receiver == "" {
		return message
	}
	return fmt.Sprintf("%s: %s has no %s", message, receiver, name)
}

func near(code string) string {
	if code == "" {
		return ""
	}
	return ", in " + code
}

// codeAt returns the expression of names and members at a place, and the arguments if it is called: parent.spec.ports of
// any column in it. It returns "" if there is none on that line.
func codeAt(files engines.Files, at engines.Location) (callee, arguments string) {
	text, ok := files[at.File]
	if !ok || at.Line < 1 || at.Column < 1 {
		return "", ""
	}
	lines := strings.SplitN(text, "\n", at.Line+1)
	if len(lines) < at.Line {
		return "", ""
	}
	line := strings.TrimSuffix(lines[at.Line-1], "\r")
	start, end := at.Column-1, at.Column-1
	if end >= len(line) || !isNamePart(line[end]) && !strings.HasPrefix(line[end:], "[") {
		return "", ""
	}
	isNew := strings.HasPrefix(line[start:], "new ")
	if isNew {
		end += len("new ")
	}
	for end < len(line) && (isNamePart(line[end]) || isNew && line[end] == '.') {
		end++
	}
	if end < len(line) && (line[end] == '(' || line[end] == '[') {
		if closed := closing(line, end); closed > 0 && closed-end <= maxQuotedBytes {
			arguments = line[end:closed]
		} else {
			arguments = line[end:end+1] + "..." + map[byte]string{'(': ")", '[': "]"}[line[end]]
		}
	}
	if start = chainStart(line, start); keyword.MatchString(line[start:end]) {
		return "", ""
	}
	return tail(line[start:end]), arguments
}

// tail returns a text, or of a long one its end.
func tail(text string) string {
	if len(text) <= maxQuotedBytes {
		return text
	}
	return "..." + strings.ToValidUTF8(text[len(text)-maxQuotedBytes:], "")
}

func isNamePart(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// chainStart returns where the names before an offset begin, which are joined by dots. It stops at three dots, which spread.
func chainStart(line string, offset int) int {
	for offset > 0 {
		before := line[offset-1]
		switch {
		case isNamePart(before):
			offset--
		case before == '.' && offset > 1 && (isNamePart(line[offset-2]) || strings.ContainsRune("?)]", rune(line[offset-2]))):
			offset--
		case before == '?' && offset < len(line) && line[offset] == '.':
			offset--
		case (before == ']' || before == ')') && offset < len(line) && strings.ContainsRune(".?[", rune(line[offset])):
			opened := opening(line, offset-1)
			if opened < 0 {
				return offset
			}
			offset = opened
		default:
			return offset
		}
	}
	return offset
}

// closing returns the offset after the bracket that closes the one at an offset, or -1 if that is not on the line.
func closing(line string, offset int) int {
	depth := 0
	for i := offset; i < len(line); i++ {
		switch line[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// opening returns the offset of the bracket that the one at an offset closes, or -1.
func opening(line string, offset int) int {
	depth := 0
	for i := offset; i >= 0; i-- {
		switch line[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
