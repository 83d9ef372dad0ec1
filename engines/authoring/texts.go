package authoring

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func encodeBase64(value any) (any, error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong("text", value, "a string")
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// decodeBase64 returns a text. Its errors don't show what is mostly a part of a Secret.
func decodeBase64(value any) (any, error) {
	encoded, ok := value.(string)
	if !ok {
		return nil, wrong("encoded", value, "a string")
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return nil, errors.New("encoded is not in base64")
	case !utf8.Valid(decoded):
		return nil, errors.New("encoded is of bytes that are no text in UTF-8")
	}
	return string(decoded), nil
}

func sha256Of(value any) (any, error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong("text", value, "a string")
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

// canonicalJSON returns the text that a hash is of.
func canonicalJSON(value any) (any, error) { return minified(value) }

// seededRandom returns a number from 0 to 1, without 1, that has all the digits of a float64.
func seededRandom(seed any) (any, error) {
	const digits = 53
	text, err := minified(seed)
	sum := sha256.Sum256([]byte(text))
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-digits)) / (1 << digits), err
}

// parseYAML returns the one document of a text, or nil if that has none.
func parseYAML(value any) (any, error) {
	text, ok := value.(string)
	if !ok {
		return nil, wrong("text", value, "a string")
	}
	var found []byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return parseDocument(found)
		case err != nil:
			return nil, err
		case IsBlank(document):
		case found != nil:
			return nil, errors.New("text has several documents: split it at its lines ---")
		default:
			found = document
		}
	}
}

func parseDocument(document []byte) (any, error) {
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("text is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var value any
	err = utiljson.Unmarshal(asJSON, &value)
	return value, err
}

// IsBlank reports whether a document of YAML holds nothing but comments and separators.
func IsBlank(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return false
		}
	}
	return true
}

func formatYAML(value any) (any, error) {
	text, err := yaml.Marshal(value)
	return string(text), err
}

// parseURL returns the parts of a URL. Its errors don't show it, because it may have a password.
func parseURL(value any) (any, error) {
	text, ok := value.(string)
	if !ok || text == "" {
		return nil, wrong("url", value, "a non-empty string")
	}
	parsed, err := url.Parse(text)
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		return nil, errors.New("url is no URL: look at its scheme, host, port and percent signs")
	}
	values, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return nil, errors.New("url has a query that is none: look at its percent signs and semicolons")
	}
	query := make(map[string]any, len(values))
	for name, all := range values {
		list := make([]any, len(all))
		for i, one := range all {
			list[i] = one
		}
		query[name] = list
	}
	parts := map[string]any{
		"scheme": parsed.Scheme, "host": parsed.Hostname(), "path": parsed.Path, "query": query, "fragment": parsed.Fragment,
		"username": nil, "password": nil, "port": nil,
	}
	if parsed.User != nil {
		parts["username"] = parsed.User.Username()
		if password, isSet := parsed.User.Password(); isSet {
			parts["password"] = password
		}
	}
	if port := parsed.Port(); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, errors.New("url has a port that is none: ports are numbers up to 65535")
		}
		parts["port"] = int64(number)
	}
	return parts, nil
}
