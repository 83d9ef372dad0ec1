package reports

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

const (
	// groupLabel has the name of the group of shards.
	groupLabel = "libretto.dev/shard-reports"
	// shardLabel has the index of the shard and definitionAnnotation the definition that a report is about.
	shardLabel, definitionAnnotation = "libretto.dev/shard", "libretto.dev/definition"
	reportKey                        = "report.json.gz"
	definitionIndex                  = "definition"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Store has the reports of a group of shards, each in a ConfigMap of the host's namespace. The Reconcilers of a process share one.
type Store struct {
	client   dynamic.ResourceInterface
	group    string
	informer cache.SharedIndexInformer
	log      logr.Logger
	// decoded are the reports that were read, by name.
	decoded sync.Map
}

// version is a report as it was stored in one version of its object.
type version struct {
	resourceVersion string
	report          *Report
}

// NewStore returns the reports of a group in a namespace. client must be able to watch, and acts as the host.
func NewStore(client dynamic.Interface, namespace, group string, log logr.Logger) *Store {
	return &Store{
		client: client.Resource(configMaps).Namespace(namespace), group: group, log: log,
		informer: dynamicinformer.NewFilteredDynamicInformer(client, configMaps, namespace, 0, cache.Indexers{
			definitionIndex: func(object any) ([]string, error) {
				return []string{object.(*unstructured.Unstructured).GetAnnotations()[definitionAnnotation]}, nil
			},
		}, func(o *metav1.ListOptions) { o.LabelSelector = groupLabel + "=" + group }).Informer(),
	}
}

// Run reads the reports until ctx ends.
func (s *Store) Run(ctx context.Context) { s.informer.RunWithContext(ctx) }

// HasSynced reports whether all reports have been read.
func (s *Store) HasSynced() bool { return s.informer.HasSynced() }

// Listen calls changed with the definition of each report that is written, until remove is called.
func (s *Store) Listen(changed func(definition string)) (remove func(), err error) {
	call := func(object any) {
		if gone, is := object.(cache.DeletedFinalStateUnknown); is {
			object = gone.Obj
		}
		changed(object.(*unstructured.Unstructured).GetAnnotations()[definitionAnnotation])
	}
	registration, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: call, UpdateFunc: func(_, now any) { call(now) }, DeleteFunc: call,
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = s.informer.RemoveEventHandler(registration) }, nil // It fails if the informer has stopped.
}

// Of returns the last reports about a definition by the index of the shard, of those that there are count of.
func (s *Store) Of(definition controller.Key, count int) map[int]*Report {
	objects, err := s.informer.GetIndexer().ByIndex(definitionIndex, definition.String())
	if err != nil {
		return nil
	}
	reports := map[int]*Report{}
	for _, object := range objects {
		of := object.(*unstructured.Unstructured)
		index, err := strconv.Atoi(of.GetLabels()[shardLabel])
		if err != nil || of.GetName() != s.name(definition, shard.Range{Index: index, Count: count}) {
			continue // It is of a division into another number of shards.
		}
		if report := s.decode(of); report != nil {
			reports[index] = report
		}
	}
	return reports
}

func (s *Store) decode(object *unstructured.Unstructured) *Report {
	if known, is := s.decoded.Load(object.GetName()); is && known.(version).resourceVersion == object.GetResourceVersion() {
		return known.(version).report
	}
	text, _, _ := unstructured.NestedString(object.Object, "binaryData", reportKey)
	packed, err := base64.StdEncoding.DecodeString(text)
	var report *Report
	if err == nil {
		report, err = decode(packed)
	}
	if err != nil {
		s.log.Error(err, "a report of another shard can't be read: delete it, and the shard writes it anew", "configMap", object.GetName())
		report = nil
	}
	s.decoded.Store(object.GetName(), version{object.GetResourceVersion(), report})
	return report
}

// Write stores the report of a shard about a definition.
func (s *Store) Write(ctx context.Context, definition controller.Key, of shard.Range, report *Report) error {
	packed, err := report.encode()
	if err != nil {
		return err
	}
	name := s.name(definition, of)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "binaryData": map[string]any{reportKey: base64.StdEncoding.EncodeToString(packed)},
	}}
	object.SetName(name)
	object.SetLabels(map[string]string{groupLabel: s.group, shardLabel: strconv.Itoa(of.Index)})
	object.SetAnnotations(map[string]string{definitionAnnotation: definition.String()})
	// What wrote it before was this shard, of which one process has the lease. So there is no version to compare.
	_, err = s.client.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = s.client.Create(ctx, object, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("the report of shard %s about %s: %w", of, definition, err)
	}
	return nil
}

// Delete deletes the report of a shard about a definition that is gone.
func (s *Store) Delete(ctx context.Context, definition controller.Key, of shard.Range) error {
	return s.delete(ctx, s.name(definition, of))
}

// DeleteAll deletes the reports of all shards about a definition that is gone, also of earlier divisions.
func (s *Store) DeleteAll(ctx context.Context, definition controller.Key) error {
	objects, err := s.informer.GetIndexer().ByIndex(definitionIndex, definition.String())
	for _, object := range objects {
		err = errors.Join(err, s.delete(ctx, object.(*unstructured.Unstructured).GetName()))
	}
	return err
}

func (s *Store) delete(ctx context.Context, name string) error {
	s.decoded.Delete(name)
	if err := s.client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ConfigMap %s: %w", name, err)
	}
	return nil
}

// name returns the name of the ConfigMap of a report.
func (s *Store) name(definition controller.Key, of shard.Range) string {
	sum := sha256.Sum256([]byte(definition.Kind.Group + " " + definition.String()))
	return fmt.Sprintf("%s-shard-%d-of-%d-%s", s.group, of.Index, of.Count, hex.EncodeToString(sum[:8]))
}
