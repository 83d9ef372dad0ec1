package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// indexPath is where the API server tells which documents it has.
const indexPath = "/openapi/v3"

// Fetcher reads what the API server has at a path, which may end in a query. It is
// called by one goroutine at a time, and has to return when ctx ends.
type Fetcher interface {
	Fetch(ctx context.Context, path string) ([]byte, error)
}

// Over fetches with a client for the root of the API server, such as a discovery client has.
func Over(client rest.Interface) Fetcher { return restFetcher{client} }

type restFetcher struct{ client rest.Interface }

// Fetch asks for JSON. The path is relative to the client's own, which may be that of a proxy.
func (f restFetcher) Fetch(ctx context.Context, path string) ([]byte, error) {
	at, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(f.client.Get().AbsPath("/").URL().Path, "/")
	request := f.client.Get().AbsPath(strings.TrimPrefix(at.Path, base)).SetHeader("Accept", "application/json")
	for name, values := range at.Query() {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	return request.Do(ctx).Raw()
}

// index is where the documents are, by group and version. An address holds a hash of
// the document, and changes with it.
type index map[schema.GroupVersion]string

// fetchIndex asks which documents there are.
func fetchIndex(ctx context.Context, f Fetcher) (index, error) {
	text, err := f.Fetch(ctx, indexPath)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI index: %w", err)
	}
	var listed struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("OpenAPI index: %w", err)
	}
	found := index{}
	for path, document := range listed.Paths {
		if gv, ok := groupVersion(path); ok {
			found[gv] = document.ServerRelativeURL
		}
	}
	return found, nil
}

// groupVersion reads "apis/apps/v1" and "api/v1". Other paths have no kinds.
func groupVersion(path string) (gv schema.GroupVersion, ok bool) {
	if version, core := cutSegments(path, "api", 1); core {
		return schema.GroupVersion{Version: version[0]}, true
	}
	if parts, ok := cutSegments(path, "apis", 2); ok {
		return schema.GroupVersion{Group: parts[0], Version: parts[1]}, true
	}
	return gv, false
}
