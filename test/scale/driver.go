package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// driverAgent is the user agent of this program's requests for the phases.
const driverAgent = "libretto-scale-driver"

// driver makes the requests of users: it creates, changes and touches parents.
type driver struct {
	client  dynamic.Interface
	options *options
}

func newDriver(config *rest.Config, o *options) (*driver, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = driverAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the driver: %w", err)
	}
	return &driver{client: client, options: o}, nil
}

// each makes a request for every parent, as many at once as the options say.
func (d *driver) each(ctx context.Context, request func(ctx context.Context, name string) error) error {
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(d.options.parallel)
	for i := range d.options.parents {
		requests.Go(func() error { return request(ctx, parentName(i)) })
	}
	return requests.Wait()
}

func (d *driver) create(ctx context.Context, name string) error {
	_, err := d.client.Resource(parents).Namespace(namespace).Create(ctx, parentObject(namespace, name, d.options, 1), metav1.CreateOptions{})
	return err
}

// update changes a field of the spec that is in all children. A change of the hook would change them too, but each host brings a changed
// hook into use in its own way and time, and a webhook's host does not hear of it at all.
func (d *driver) update(ctx context.Context, name string) error {
	return d.patch(ctx, name, map[string]any{"spec": map[string]any{"payload": payload(name, 2, d.options.payload)}})
}

// touch changes an annotation that has no effect.
func (d *driver) touch(ctx context.Context, name string) error {
	return d.patch(ctx, name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{touchAnnotation: time.Now().Format(time.RFC3339Nano)},
	}})
}

func (d *driver) patch(ctx context.Context, name string, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = d.client.Resource(parents).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// warmUpLimit is how long the first children may take.
const warmUpLimit = 2 * time.Minute

// warmUp creates one parent, and returns when it has its children: then the host works.
func (d *driver) warmUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpLimit)
	defer cancel()
	const name = "warm-up"
	object := parentObject(warmUpNamespace, name, d.options, 1)
	if _, err := d.client.Resource(parents).Namespace(warmUpNamespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	last := d.client.Resource(configMaps).Namespace(warmUpNamespace)
	var missing error
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		for i := range d.options.children {
			if _, missing = last.Get(ctx, fmt.Sprintf("%s-%d", name, i), metav1.GetOptions{}); missing != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("no children of the parent %s/%s within %s: %w", warmUpNamespace, name, warmUpLimit, missing)
	}
	return nil
}
