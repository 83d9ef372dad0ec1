package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sighting is one thing that a watch told, and when.
type sighting struct {
	at       time.Time
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	gone     bool
}

// is says whether it is of the named object.
func (s sighting) is(resource schema.GroupVersionResource, name string) bool {
	return s.resource == resource && s.object.GetName() == name
}

// sightings are in the order in which they were made. For one resource that is the order in which things happened.
type sightings []sighting

// first is the first that matches.
func (l sightings) first(match func(sighting) bool) (sighting, bool) {
	i := slices.IndexFunc(l, match)
	if i < 0 {
		return sighting{}, false
	}
	return l[i], true
}

// get is the newest version of an object, or nil if there is none now.
func (l sightings) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	for _, s := range slices.Backward(l) {
		if s.is(resource, name) {
			if s.gone {
				return nil
			}
			return s.object
		}
	}
	return nil
}

// list is the objects of a resource that there are now, by name.
func (l sightings) list(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	newest := map[string]*unstructured.Unstructured{}
	for _, s := range l {
		switch {
		case s.resource != resource:
		case s.gone:
			delete(newest, s.object.GetName())
		default:
			newest[s.object.GetName()] = s.object
		}
	}
	var objects []*unstructured.Unstructured
	for _, object := range newest {
		objects = append(objects, object)
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects
}

// uid is that of an object, or empty if there is none now.
func uid(log sightings, resource schema.GroupVersionResource, name string) string {
	if object := log.get(resource, name); object != nil {
		return string(object.GetUID())
	}
	return ""
}

// fingerprints tell for each of the Pods which it is and in which version, so that any write to it shows.
func fingerprints(log sightings, names ...string) map[string]string {
	prints := map[string]string{}
	for _, name := range names {
		prints[name] = "not there"
		if pod := log.get(pods, name); pod != nil {
			prints[name] = fmt.Sprintf("uid %s, resourceVersion %s", pod.GetUID(), pod.GetResourceVersion())
		}
	}
	return prints
}
