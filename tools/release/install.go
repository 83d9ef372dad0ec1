package main

import (
	"bytes"
	"fmt"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// imageName is where the workflow of releases sends the image.
const imageName = "ghcr.io/libretto-k8s/libretto"

// manifests returns what kubectl applies to install a release: manifests/base, with the image of the release by its digest.
func manifests(root, version string, digest v1.Hash) ([]byte, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, baseFolder))
	if err != nil {
		return nil, err
	}
	text, err := objects.AsYaml()
	if err != nil {
		return nil, err
	}
	latest := []byte("image: " + imageName + ":latest\n")
	if bytes.Count(text, latest) != 1 {
		return nil, fmt.Errorf("%s: %d objects have %q, want 1", baseFolder, bytes.Count(text, latest), latest)
	}
	return bytes.Replace(text, latest, fmt.Appendf(nil, "image: %s:%s@%s\n", imageName, version, digest), 1), nil
}
