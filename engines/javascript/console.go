package javascript

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"
)

// console keeps the lines that a script writes, up to a limit on their bytes.
type console struct {
	lines []string
	left  int
	// object is what the script knows as console, once it asked for it.
	object *goja.Object
}

// write adds a text, and says in a last line when it had to be cut.
func (c *console) write(text string) {
	if c.left < 0 {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line)+1 > c.left {
			c.lines = append(c.lines, strings.ToValidUTF8(line[:c.left], ""), fmt.Sprintf("(cut at %d KiB)", maxLogBytes>>10))
			c.left = -1
			return
		}
		c.left -= len(line) + 1
		c.lines = append(c.lines, line)
	}
}

// lazyConsole makes the console when a script first uses it, which most never do.
func (i *isolate) lazyConsole(goja.FunctionCall) goja.Value {
	if i.console.object == nil {
		i.console.object = i.rt.NewObject()
		for _, level := range []string{"log", "info", "warn", "error", "debug", "trace"} {
			must(i.console.object.Set(level, i.print))
		}
	}
	return i.console.object
}

// print writes its arguments as one text. The level is not kept: what the line
// says is the author's.
func (i *isolate) print(call goja.FunctionCall) goja.Value {
	if i.console.left < 0 {
		return goja.Undefined()
	}
	shown := make([]string, len(call.Arguments))
	for n, argument := range call.Arguments {
		shown[n] = i.show(argument, maxLogBytes)
	}
	i.console.write(strings.Join(shown, " "))
	return goja.Undefined()
}
