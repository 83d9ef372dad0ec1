package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// image is an image in memory, with one layer.
type image struct {
	manifest, config, layer blob
}

// blob is a part of an image.
type blob struct {
	ocispec.Descriptor
	content []byte
}

func newBlob(mediaType string, data []byte) blob {
	return blob{content.NewDescriptorFromBytes(mediaType, data), data}
}

// newImage returns the image of files. The same files and annotations are the same bytes, whenever and wherever it is made.
//
// It is an image as container runtimes know it, so that it can be a volume: these unpack no media types of others. Flux takes the first
// layer of whatever it is given.
func newImage(files map[string]string, annotations map[string]string) (*image, error) {
	packed, err := bundle.Pack(files)
	if err != nil {
		return nil, err
	}
	expanded, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	tar, err := io.ReadAll(expanded)
	if err != nil {
		return nil, err
	}
	made := time.Unix(0, 0).UTC()
	i := &image{layer: newBlob(ocispec.MediaTypeImageLayerGzip, packed)}
	config, err := json.Marshal(ocispec.Image{
		Created: &made, Platform: ocispec.Platform{Architecture: "amd64", OS: "linux"}, // One has to be named. Nothing in it runs.
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(tar)}},
	})
	if err != nil {
		return nil, err
	}
	i.config = newBlob(ocispec.MediaTypeImageConfig, config)
	annotations[ocispec.AnnotationCreated] = made.Format(time.RFC3339)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: i.config.Descriptor, Layers: []ocispec.Descriptor{i.layer.Descriptor}, Annotations: annotations,
	})
	if err != nil {
		return nil, err
	}
	i.manifest = newBlob(ocispec.MediaTypeImageManifest, manifest)
	return i, nil
}

// parseReference returns the repository and the tag that a text names.
func parseReference(text string) (registry.Reference, error) {
	const form = "must be oci://HOST/REPOSITORY:TAG"
	rest, isOCI := strings.CutPrefix(text, "oci://")
	if !isOCI {
		return registry.Reference{}, fmt.Errorf("%s: %s", text, form)
	}
	ref, err := registry.ParseReference(rest)
	if err == nil {
		err = ref.ValidateReferenceAsTag()
	}
	if err != nil {
		return ref, fmt.Errorf("%s: %s: %w", text, form, err)
	}
	return ref, nil
}

// send pushes an image, with the credentials that docker login and its like have stored.
func (i *image) send(ctx context.Context, ref registry.Reference, userAgent string, plainHTTP bool) error {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	client := &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	client.SetUserAgent(userAgent)
	repository := &remote.Repository{Client: client, Reference: ref, PlainHTTP: plainHTTP}
	for _, b := range []blob{i.layer, i.config} {
		there, err := repository.Exists(ctx, b.Descriptor)
		if err == nil && !there {
			err = repository.Push(ctx, b.Descriptor, bytes.NewReader(b.content))
		}
		if err != nil {
			return explained(err, ref)
		}
	}
	return explained(repository.PushReference(ctx, i.manifest.Descriptor, bytes.NewReader(i.manifest.content), ref.Reference), ref)
}

// explained adds what to do about an error of a registry.
func explained(err error, ref registry.Reference) error {
	if err == nil {
		return nil
	}
	way := "see whether the address is right, and try again"
	var answer *errcode.ErrorResponse
	denied := errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
	if denied || errors.Is(err, auth.ErrBasicCredentialNotFound) {
		way = "log in, as with docker login " + ref.Registry + ", to an account that may push to " + ref.Repository
	}
	return fmt.Errorf("%w: %s", err, way)
}
