package main

import (
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// ofHost keeps the requests of the host that is measured: what neither the control plane nor this program made.
func ofHost(requests cluster.Requests) cluster.Requests {
	return requests.Filter(func(r cluster.Request) bool {
		return r.User == hostUser && !strings.HasPrefix(r.UserAgent, driverAgent) && r.UserAgent != cluster.UserAgent
	})
}

// hostUser is the user of the control plane's kubeconfig.
const hostUser = "admin"

// discovery is what count calls requests that are not for objects: the host asks which resources there are.
const discovery = "discovery"

// count counts requests by verb and resource.
func count(requests cluster.Requests) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		if r.Resource == "" {
			counts[discovery]++
			continue
		}
		name := r.Resource
		if r.Subresource != "" {
			name += "/" + r.Subresource
		}
		counts[r.Verb+" "+name]++
	}
	return counts
}

// failed keeps the requests that were answered with an error.
func failed(requests cluster.Requests) cluster.Requests {
	return requests.Filter(func(r cluster.Request) bool { return r.Code >= 400 })
}

// writtenChildren returns how many different children were written with success.
func writtenChildren(requests cluster.Requests) int {
	names := map[string]bool{}
	for _, r := range requests.Of(configMaps.Group, configMaps.Resource).In(namespace).Verbs("create", "update", "patch") {
		if r.Code < 300 {
			names[r.Name] = true
		}
	}
	return len(names)
}

// lastWrite returns the time of the last write, or the given one if there is none. Events, leases and the status of definitions do not
// count: nobody waits for them.
func lastWrite(requests cluster.Requests, otherwise time.Time) time.Time {
	last := otherwise
	for _, r := range requests.Writes() {
		if r.Resource == "events" || r.Resource == "leases" || r.Group == composites.Group {
			continue
		}
		if r.Time.After(last) {
			last = r.Time
		}
	}
	return last
}
