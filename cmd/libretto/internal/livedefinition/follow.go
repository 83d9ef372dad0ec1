package livedefinition

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Follow calls each with a definition as it is and whenever it changes, until each returns false or an error.
func (c *Client) Follow(ctx context.Context, d *Definition, each func(*Definition) (more bool, err error)) error {
	for {
		if more, err := each(d); err != nil || !more {
			return err
		}
		more, err := c.watch(ctx, d, each)
		if err != nil || !more {
			return err
		}
		if d, err = c.reread(ctx, d); err != nil { // Watches end now and then.
			return err
		}
	}
}

// watch calls each with all versions of a definition until its watch ends.
func (c *Client) watch(ctx context.Context, d *Definition, each func(*Definition) (bool, error)) (more bool, err error) {
	kind, namespace := d.Object.GroupVersionKind(), d.Object.GetNamespace()
	watcher, err := c.in(kind, namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", d.Object.GetName()).String(),
		ResourceVersion: d.Object.GetResourceVersion(),
	})
	if err != nil {
		return false, explain(err, "watch", kind, namespace)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		object, isObject := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Deleted:
			return false, fmt.Errorf("%s was deleted meanwhile", d)
		case !isObject || event.Type != watch.Added && event.Type != watch.Modified:
			continue
		}
		if d, err = c.decode(object); err != nil {
			return false, err
		}
		if more, err := each(d); err != nil || !more {
			return false, err
		}
	}
	return true, context.Cause(ctx)
}

// retryInterval is the time between two attempts to reach the API server.
const retryInterval = time.Second

// reread reads a definition again. A server that can't be reached, because it is restarted, is tried until ctx ends.
func (c *Client) reread(ctx context.Context, d *Definition) (*Definition, error) {
	for {
		now, err := c.again(ctx, d)
		var unreachable *url.Error
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			return now, err
		}
		c.Warn("it is tried again: " + err.Error())
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retryInterval):
		}
	}
}
