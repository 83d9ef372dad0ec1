package jsonvalue

import (
	"encoding/json"
	"strconv"
	"strings"
)

const (
	// minMaskedBytes is the length from which on a secret is masked: a shorter one is part of many words.
	minMaskedBytes = 4
	// minPartBytes is the length from which on parts of a secret are masked: single lines, and the beginning
	// where a text was cut.
	minPartBytes = 8
	// ellipsis stands where a text was cut.
	ellipsis = "..."
)

// Masker hides secrets in texts.
type Masker struct {
	// forms are the texts to hide, each once.
	forms []string
}

// NewMasker returns a masker of secrets: of all of them and of their lines, as they are and quoted.
func NewMasker(secrets []string) *Masker {
	m, known := &Masker{}, map[string]bool{}
	add := func(form string, atLeast int) {
		if len(form) >= atLeast && !known[form] {
			known[form], m.forms = true, append(m.forms, form)
		}
	}
	addQuoted := func(text string, atLeast int) {
		quoted := strconv.Quote(text)
		add(text, atLeast)
		add(quoted[1:len(quoted)-1], atLeast)
		if inJSON, err := json.Marshal(text); err == nil {
			add(string(inJSON[1:len(inJSON)-1]), atLeast)
		}
	}
	for _, secret := range secrets {
		addQuoted(secret, minMaskedBytes)
		addQuoted(strings.TrimSpace(secret), minMaskedBytes)
		if strings.Contains(secret, "\n") {
			for line := range strings.Lines(secret) {
				addQuoted(strings.TrimSpace(line), minPartBytes)
			}
		}
	}
	if len(m.forms) > 0 {
		add(Hidden, 0) // A secret that is part of it would make it grow.
	}
	return m
}

// Mask returns text with Hidden in place of each of the secrets, also where it is quoted.
func Mask(text string, secrets []string) string { return NewMasker(secrets).Mask(text) }

// Mask returns text with Hidden in place of each of the secrets. Secrets that overlap or adjoin have one in common. Of
// a secret that was cut, the beginning is hidden.
func (m *Masker) Mask(text string) string {
	var hidden []bool // By byte of the text.
	for _, form := range m.forms {
		if !strings.Contains(text, form[:min(len(form), minPartBytes)]) {
			continue
		}
		if hidden == nil {
			hidden = make([]bool, len(text))
		}
		hide(hidden, text, form)
	}
	if hidden == nil {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(Hidden)
		}
	}
	return b.String()
}

// hide notes where form is in text, and where its beginning is in front of a place at which text may have been
// cut. It takes time in proportion to the text, whatever the form (the algorithm of Knuth, Morris and Pratt).
func hide(hidden []bool, text, form string) {
	form = form[:min(len(form), len(text)+1)]
	borders := borders(form)
	done := 0
	matched := 0 // How many bytes before at are the beginning of form.
	for at := 0; ; at++ {
		isCut := matched >= minPartBytes && (at == len(text) || strings.HasPrefix(text[at:], ellipsis))
		if isCut || matched == len(form) {
			for done = max(done, at-matched); done < at; done++ {
				hidden[done] = true
			}
		}
		if at == len(text) {
			return
		}
		if matched == len(form) {
			matched = borders[matched-1]
		}
		for matched > 0 && text[at] != form[matched] {
			matched = borders[matched-1]
		}
		if text[at] == form[matched] {
			matched++
		}
	}
}

// borders returns for each beginning of form the length of the longest shorter one that it also ends with.
func borders(form string) []int {
	lengths := make([]int, len(form))
	for i, n := 1, 0; i < len(form); i++ {
		for n > 0 && form[i] != form[n] {
			n = lengths[n-1]
		}
		if form[i] == form[n] {
			n++
		}
		lengths[i] = n
	}
	return lengths
}
