package apply

import "encoding/base64"

// plain returns object as the API server will show it. That differs for a Secret,
// whose stringData can be written but never read: it turns up in data.
func plain(object map[string]any) map[string]any {
	given := objectIn(object, "stringData")
	if len(given) == 0 || !secret(object) {
		return object
	}
	data := fork(objectIn(object, "data"))
	for name, value := range given {
		if s, ok := value.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	out, _ := without(object, "stringData")
	out["data"] = data
	return out
}
