package recording

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSections checks that lines have the times at which they were complete, and that only the wanted sections are returned.
func TestSections(t *testing.T) {
	now := time.Time{}
	r := NewRecorder(func() time.Time { return now })
	for _, text := range []string{
		"\033[1m[1/3] Before\033[0m\nnot wanted\n",
		"\033[1m[2/3] Ed", "it\033[0m\n", // A line in two writes.
		"  ... kubectl apply (5.0 s)\n",
		"  \033[36m$ kubectl apply\033[0m\n\n",
		"\033[1m[3/3] After\033[0m\nnot wanted\n",
	} {
		now = now.Add(time.Second)
		_, _ = io.WriteString(r, text)
	}
	want := []Line{{3 * time.Second, "\033[1m[2/3] Edit\033[0m"}, {5 * time.Second, "  \033[36m$ kubectl apply\033[0m"}}
	if d := cmp.Diff(want, r.Sections("Edit")); d != "" {
		t.Error(d)
	}
}

func TestPace(t *testing.T) {
	lines := []Line{
		{40 * time.Second, "\033[1m[2/3] Edit\033[0m"},
		{40*time.Second + 100*time.Millisecond, "the real pause"},
		{41 * time.Second, "  \033[36m$ kubectl apply\033[0m"},                      // A reader needs a second, and got 900 ms.
		{71 * time.Second, "the longest pause"},                                     // The machine was busy.
		{71 * time.Second, "\033[1m[3/3] A heading needs a reader's second\033[0m"}, // It came at once.
	}
	var got []time.Duration
	for _, line := range Pace(lines) {
		got = append(got, line.At)
	}
	want := []time.Duration{0, 100 * time.Millisecond, 1100 * time.Millisecond, 3100 * time.Millisecond, 4100 * time.Millisecond}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if lines[0].At != 40*time.Second {
		t.Error("the lines of the caller were changed")
	}
}

// TestRows checks how a line becomes rows of spans.
func TestRows(t *testing.T) {
	long := strings.Repeat("x", columns-1)
	indent := span{"", strings.Repeat(" ", continuation)}
	for reason, c := range map[string]struct {
		line string
		want [][]span
	}{
		"an empty line is a row":                {"", [][]span{nil}},
		"colours begin and end":                 {"  \033[32mok\033[0m  so", [][]span{{{"", "  "}, {"good", "ok"}, {"", "  so"}}}},
		"what is no colour is dropped":          {"\033[4mso\033[0m", [][]span{{{"", "so"}}}},
		"a line as long as the picture is wide": {long + "y", [][]span{{{"", long + "y"}}}},
		"a longer line keeps its colour":        {"\033[31m" + long + "yz\033[0m", [][]span{{{"bad", long + "y"}}, {indent, {"bad", "z"}}}},
		"a row ends at a space if it can":       {"a b" + long, [][]span{{{"", "a "}}, {indent, {"", "b" + long[:columns-continuation-1]}}, {indent, {"", long[columns-continuation-1:]}}}},
		"indentation is no place for a cut":     {"    " + long, [][]span{{{"", "    " + long[:columns-4]}}, {indent, {"", long[columns-4:]}}}},
		"letters of several bytes count as one": {long + "éé", [][]span{{{"", long + "é"}}, {indent, {"", "é"}}}},
	} {
		t.Run(reason, func(t *testing.T) {
			if d := cmp.Diff(c.want, wrap(parse(c.line)), cmp.AllowUnexported(span{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWriteSVG checks that a picture is XML, that it has the text, and that each line appears at its time.
func TestWriteSVG(t *testing.T) {
	var out strings.Builder
	lines := []Line{{0, `  ` + cyan + `$ a <b> & "c"` + reset}, {1500 * time.Millisecond, "    x  y"}}
	if err := WriteSVG(&out, "A <title>", lines); err != nil {
		t.Fatal(err)
	}
	got, err := elements(out.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	want := []string{
		"title: A <title>",
		"g animation-delay: 0.00s", fmt.Sprintf(`text command %d 104: $ a <b> & "c"`, padding+2*charWidth),
		"g animation-delay: 1.50s", fmt.Sprintf("text  %d 32: x  y", padding+4*charWidth),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, class := range []string{"good", "bad", "command"} {
		if n := strings.Count(style, "."+class+" "); n != 2 {
			t.Errorf("class %s has %d colours, want one for light and one for dark pages", class, n)
		}
	}
}

// elements returns what a picture is made of, in order.
func elements(svg string) ([]string, error) {
	var got []string
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range start.Attr {
			attributes[a.Name.Local] = a.Value
		}
		var content string
		switch start.Name.Local {
		case "title":
			err = decoder.DecodeElement(&content, &start)
			got = append(got, "title: "+content)
		case "g":
			got = append(got, "g "+attributes["style"])
		case "text":
			err = decoder.DecodeElement(&content, &start)
			got = append(got, fmt.Sprintf("text %s %s %s: %s", attributes["class"], attributes["x"], attributes["textLength"], content))
		}
		if err != nil {
			return nil, err
		}
	}
}
