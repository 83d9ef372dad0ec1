package objectjson

import _ "embed"

// Objects as an API server returns them, in one line.
var (
	//go:embed testdata/pod.json
	podText string
	// configMapText is a child of a controller.
	//
	//go:embed testdata/configmap.json
	configMapText string
)
