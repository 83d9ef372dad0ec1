package contract

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestTexts runs the functions for texts.
func TestTexts(t *testing.T) {
	runModuleCases(t, map[string]moduleCase{
		"Base64":       {reason: "as UTF-8", name: "encodeBase64", args: `["é€😀"]`, want: `"w6nigqzwn5iA"`},
		"Base64Empty":  {reason: "nothing is nothing", name: "encodeBase64", args: `[""]`, want: `""`},
		"Base64Null":   {reason: "a field that is not there", name: "encodeBase64", args: `[null]`, fails: `encodeBase64: text is null, want a string`},
		"Decode":       {reason: "and back", name: "decodeBase64", args: `["w6nigqzwn5iA"]`, want: `"é€😀"`},
		"DecodeBinary": {reason: "what is no text must not be changed in silence", name: "decodeBase64", args: `["/w=="]`, fails: `decodeBase64: encoded is of bytes that are no text in UTF-8`},
		"DecodeOdd":    {reason: "the message does not show what may be secret", name: "decodeBase64", args: `["password!"]`, fails: `decodeBase64: encoded is not in base64`},

		"SHA256":     {reason: "of UTF-8", name: "sha256", args: `["é"]`, want: `"4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"`},
		"SHA256Null": {reason: "an object has canonicalJSON", name: "sha256", args: `[{"a": 1}]`, fails: `sha256: text is {"a":1}, want a string`},

		"Canonical":        {reason: "keys are sorted by their UTF-8", name: "canonicalJSON", args: `[{"é": 1, "b": {"d": 1, "c": 2}, "a": "<&>"}]`, want: `"{\"a\":\"<&>\",\"b\":{\"c\":2,\"d\":1},\"é\":1}"`},
		"CanonicalNumbers": {reason: "without exponents, and whole numbers are whole", name: "canonicalJSON", args: `[[1.0, 0.000001, 1e21, -2.5]]`, want: `"[1,0.000001,1000000000000000000000,-2.5]"`},
		"CanonicalText":    {reason: "any value", name: "canonicalJSON", args: `["a"]`, want: `"\"a\""`},

		"Random":      {reason: "it must stay what it was", name: "seededRandom", args: `[null]`, want: `0.45366374232972106`},
		"RandomOrder": {reason: "the order of keys makes no difference", name: "seededRandom", args: `[["shop/web", 1]]`, want: `0.17870675938217773`},

		"YAMLValues":    {reason: "all kinds of values", name: "parseYAML", args: `["# a\n---\na: [1, 2.5, yes, null, 'no']\nb: |\n  c\n"]`, want: `{"a": [1, 2.5, true, null, "no"], "b": "c\n"}`},
		"YAMLEmpty":     {reason: "a comment is no document", name: "parseYAML", args: `["# a"]`, want: `null`},
		"YAMLSeveral":   {reason: "none is dropped in silence", name: "parseYAML", args: `["a: 1\n---\nb: 1"]`, fails: `parseYAML: text has several documents: split it at its lines ---`},
		"YAMLTwice":     {reason: "a slip is reported", name: "parseYAML", args: `["a: 1\na: 2"]`, fails: `parseYAML: text is no YAML`},
		"YAMLWrite":     {reason: "texts stay texts", name: "formatYAML", args: `[{"b": ["1", 1, "on", null], "a": {"c": "d\ne"}}]`, want: `"a:\n  c: |-\n    d\n    e\nb:\n- \"1\"\n- 1\n- \"on\"\n- null\n"`},
		"YAMLWriteText": {reason: "any value", name: "formatYAML", args: `["a"]`, want: `"a\n"`},

		"URL":        {reason: "all parts", name: "parseURL", args: `["postgres://me:a%2Fb@db.shop:5432/web?ssl=on&a=1&a=2#f"]`, want: `{"scheme": "postgres", "username": "me", "password": "a/b", "host": "db.shop", "port": 5432, "path": "/web", "query": {"ssl": ["on"], "a": ["1", "2"]}, "fragment": "f"}`},
		"URLHost":    {reason: "an address of IPv6", name: "parseURL", args: `["http://[::1]:80"]`, want: `{"scheme": "http", "username": null, "password": null, "host": "::1", "port": 80, "path": "", "query": {}, "fragment": ""}`},
		"URLPath":    {reason: "it may be a path alone", name: "parseURL", args: `["/a?b"]`, want: `{"scheme": "", "username": null, "password": null, "host": "", "port": null, "path": "/a", "query": {"b": [""]}, "fragment": ""}`},
		"URLEmpty":   {reason: "nothing is none", name: "parseURL", args: `[""]`, fails: `parseURL: url is "", want a non-empty string`},
		"URLOdd":     {reason: "the message does not show a password", name: "parseURL", args: `["http://me:secret@a:b"]`, fails: `parseURL: url is no URL: look at its scheme, host, port and percent signs`},
		"URLPort":    {reason: "there are 65535", name: "parseURL", args: `["http://a:70000"]`, fails: `parseURL: url has a port that is none: ports are numbers up to 65535`},
		"URLPercent": {reason: "a query is decoded too", name: "parseURL", args: `["http://a?b=%zz"]`, fails: `parseURL: url has a query that is none: look at its percent signs and semicolons`},
	})
}

// TestHashIsOfCanonicalJSON shows that authors can compute what hash does.
func TestHashIsOfCanonicalJSON(t *testing.T) {
	call := moduleCaller(t, "JavaScript")
	value := map[string]any{"b": []any{1.5, "é"}, "a": nil}
	text, err := call("canonicalJSON", []any{value})
	env.NoError(t, err)
	sum, err := call("sha256", []any{text})
	env.NoError(t, err)
	short, err := call("hash", []any{value})
	env.NoError(t, err)
	if !strings.HasPrefix(sum.(string), short.(string)) {
		t.Errorf("hash is %v, and the SHA-256 of %v is %v", short, text, sum)
	}
}
