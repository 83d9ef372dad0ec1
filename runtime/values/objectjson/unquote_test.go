package objectjson

import (
	"encoding/json"
	"testing"
)

// sameAsUnmarshal checks that Unquote reads a string as json.Unmarshal does.
func sameAsUnmarshal(t *testing.T, text string) {
	t.Helper()
	want := ""
	wantOK := len(text) > 0 && text[0] == '"' && text[len(text)-1] == '"' && json.Unmarshal([]byte(text), &want) == nil
	if got, ok := Unquote(text); ok != wantOK || ok && got != want {
		t.Errorf("%s is %q, %v, want %q, %v", text, got, ok, want, wantOK)
	}
}

func TestUnquote(t *testing.T) {
	for _, text := range []string{
		``, `"`, `""`, `"a"`, `"a`, `a"`, `1`, `"a"b`, `"\\"`, `"\"`, `"\n\t\/\b\f\r\""`, `"\u00e4\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`,
		`"\ude00\ud83d"`, `"\u12"`, `"\x"`, "\"\n\"", "\"\xff\"", "\"\x1f\"", `"ä€😀"`,
	} {
		sameAsUnmarshal(t, text)
	}
}

func FuzzUnquote(f *testing.F) {
	f.Add(`a\n\ud83d\ude00`)
	f.Fuzz(func(t *testing.T, text string) { sameAsUnmarshal(t, `"`+text+`"`) })
}
