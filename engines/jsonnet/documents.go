package jsonnet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

// maxIndent bounds the spaces that manifestJsonFromJson puts before a line.
const maxIndent = 64

func parseJSON(args []string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(args[0]), &v); err != nil {
		return nil, err
	}
	return v, nil
}

// parseYAML returns the documents of a text, as kubectl reads them. Empty ones are left out.
func parseYAML(args []string) (any, error) {
	documents := []any{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(args[0])))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			return nil, err
		}
		if v != nil || !authoring.IsBlank(text) {
			documents = append(documents, v)
		}
	}
}

func manifestJSON(args []any) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("manifestJsonFromJson: json must be a string, and is of type %s", typeOf(args[0]))
	}
	indent, ok := args[1].(float64)
	if !ok || indent < 0 || indent > maxIndent {
		return nil, fmt.Errorf("manifestJsonFromJson: indent must be a number from 0 to %d", maxIndent)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace([]byte(text)), "", strings.Repeat(" ", int(indent))); err != nil {
		return nil, fmt.Errorf("manifestJsonFromJson: %w", err)
	}
	out.WriteByte('\n')
	return out.String(), nil
}

func manifestYAML(args []string) (any, error) {
	var v any
	if err := json.Unmarshal([]byte(args[0]), &v); err != nil {
		return nil, err
	}
	out, err := yaml.Marshal(v)
	return string(out), err
}
