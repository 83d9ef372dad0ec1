package merge

import (
	"encoding/base64"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// AsStored returns object as the API server will show it. That differs for a Secret,
// whose stringData can be written but never read: it turns up in data.
func AsStored(object map[string]any) map[string]any {
	given := jsonvalue.ObjectIn(object, "stringData")
	if len(given) == 0 || !jsonvalue.IsSecret(object) {
		return object
	}
	data := jsonvalue.Clone(jsonvalue.ObjectIn(object, "data"))
	for name, value := range given {
		if s, ok := value.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	out, _ := jsonvalue.Without(object, "stringData")
	out["data"] = data
	return out
}
