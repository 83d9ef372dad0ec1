package javascript

import (
	"encoding/json"
	"strings"
)

// adaptSourceMap makes esbuild's source map fit goja, whose stacks are then in the
// author's own lines. goja counts columns from 1 where source maps count from 0,
// both when it asks and when it takes the answer, so both are moved by one.
func adaptSourceMap(sourceMap []byte) ([]byte, error) {
	var m struct {
		Version  int      `json:"version"`
		Sources  []string `json:"sources"`
		Names    []string `json:"names"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(sourceMap, &m); err != nil {
		return nil, err
	}
	for i, source := range m.Sources {
		m.Sources[i] = stripNamespaces(source)
	}
	m.Names = []string{}
	m.Mappings = shiftColumns(m.Mappings)
	return json.Marshal(m)
}

// shiftColumns moves the columns of all mappings by one. Generated columns are counted
// anew on each line, and source columns through the whole map, each relative to
// the one before: so it is the first segment of each line, and the first of all.
func shiftColumns(mappings string) string {
	lines := strings.Split(mappings, ";")
	first := true
	for i, line := range lines {
		if line == "" {
			continue
		}
		segment, rest, more := strings.Cut(line, ",")
		fields := decodeVLQ(segment)
		fields[0]++
		if first && len(fields) > 3 {
			fields[3]++
			first = false
		}
		lines[i] = encodeVLQ(fields)
		if more {
			lines[i] += "," + rest
		}
	}
	return strings.Join(lines, ";")
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ reads a segment: numbers in groups of five bits, lowest first, where
// the sixth bit means that another group follows and the lowest bit is the sign.
func decodeVLQ(segment string) []int {
	var fields []int
	value, shift := 0, 0
	for _, digit := range []byte(segment) {
		bits := strings.IndexByte(base64Digits, digit)
		value |= bits & 31 << shift
		shift += 5
		if bits&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		fields = append(fields, value)
		value, shift = 0, 0
	}
	return fields
}

func encodeVLQ(fields []int) string {
	var b strings.Builder
	for _, field := range fields {
		value := field << 1
		if field < 0 {
			value = -field<<1 | 1
		}
		for ; value >= 32; value >>= 5 {
			b.WriteByte(base64Digits[value&31|32])
		}
		b.WriteByte(base64Digits[value])
	}
	return b.String()
}
