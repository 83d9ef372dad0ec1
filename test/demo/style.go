package main

// style adds colours, or leaves text as it is.
type style bool

func (s style) bold(text string) string    { return s.wrap("1", text) }
func (s style) good(text string) string    { return s.wrap("32", text) }
func (s style) bad(text string) string     { return s.wrap("31", text) }
func (s style) command(text string) string { return s.wrap("36", text) }

func (s style) wrap(code, text string) string {
	if !s {
		return text
	}
	return "\033[" + code + "m" + text + "\033[0m"
}
