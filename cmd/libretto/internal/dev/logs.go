package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
)

// hostNamespace is the host's own, as manifests/base has it and commands expect it.
const hostNamespace = "libretto"

// host are the objects that stand for the host, named as manifests/base has them: kubectl finds its log by them.
const host = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: libretto, namespace: libretto}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: libretto}}
  template:
    metadata: {labels: {app.kubernetes.io/name: libretto}}
    spec: {containers: [{name: libretto, image: libretto}]}
---
apiVersion: v1
kind: Pod
metadata: {name: libretto, namespace: libretto, labels: {app.kubernetes.io/name: libretto}}
spec: {containers: [{name: libretto, image: libretto}]}
`

// createHost creates the objects that stand for the host.
func createHost(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, _ := document.Read("host", []byte(host))
	for _, o := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if _, err := client.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o.Unstructured, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// logOptions are those of corev1.PodLogOptions that kubectl's users know.
type logOptions struct {
	follow, timestamps bool
	since              time.Time
	tail               int
}

// logOptionsOf returns the options of a request.
func logOptionsOf(query url.Values) (o logOptions, err error) {
	parse := func(name string, set func(text string) error) {
		if text := query.Get(name); text != "" && err == nil {
			if err = set(text); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	o.tail = math.MaxInt
	parse("follow", func(text string) (err error) { o.follow, err = strconv.ParseBool(text); return err })
	parse("timestamps", func(text string) (err error) { o.timestamps, err = strconv.ParseBool(text); return err })
	parse("tailLines", func(text string) error {
		lines, err := strconv.ParseUint(text, 10, 31)
		o.tail = int(lines)
		return err
	})
	parse("sinceTime", func(text string) (err error) { o.since, err = time.Parse(time.RFC3339, text); return err })
	parse("sinceSeconds", func(text string) error {
		seconds, err := strconv.Atoi(text)
		o.since = time.Now().Add(-time.Duration(seconds) * time.Second)
		return err
	})
	return o, err
}

// getLog writes what hooks have logged as the log of the host's Pod. No other Pod runs.
func (s *server) getLog(w http.ResponseWriter, r *http.Request) {
	options, err := logOptionsOf(r.URL.Query())
	if pod := r.PathValue("namespace") + "/" + r.PathValue("name"); err == nil && pod != "libretto/libretto" {
		err = fmt.Errorf("pod %s does not run, as none does in this cluster: kubectl -n libretto logs deploy/libretto has what hooks log", pod)
	}
	if err != nil {
		status := apierrors.NewBadRequest(err.Error()).Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer(w, http.StatusBadRequest, status)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	s.stream.follow(w, r, func(lines [][]byte, isFirst bool) bool {
		logged := logLines(lines, options.since)
		if isFirst {
			logged = logged[max(0, len(logged)-options.tail):]
		}
		for _, l := range logged {
			if options.timestamps {
				fmt.Fprint(w, l.Time.UTC().Format(time.RFC3339Nano), " ")
			}
			fmt.Fprintf(w, "%s: %s: %s: %s\n", l.Definition, l.Hook, l.Parent, l.Text)
		}
		return options.follow
	})
}

// logLines returns what hooks have logged since a time, of lines of the stream.
func logLines(lines [][]byte, since time.Time) (logged []logLine) {
	for _, line := range lines {
		var message struct{ Log logLine }
		if bytes.HasPrefix(line, []byte(`{"log":`)) && json.Unmarshal(line, &message) == nil && !message.Log.Time.Before(since) {
			logged = append(logged, message.Log)
		}
	}
	return logged
}
