package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/steps"
)

const (
	// sizeLimit is how long many clusters may take.
	sizeLimit = 20 * time.Minute
	// quiet is how long libretto has to write nothing to count as settled.
	quiet = 3 * time.Second
	// userAgent is that of libretto in the audit log.
	userAgent = "libretto/"
	// hookDuration is the metric of hook calls.
	hookDuration = "libretto_definition_hook_duration_seconds"
)

// size is that of a measurement.
type size struct{ clusters, cells, shards, tablets int }

// tabletsOf returns the number of tablets of all clusters.
func (z size) tabletsOf() int { return z.clusters * z.cells * z.shards * z.tablets }

// parents returns the number of objects that have definitions: clusters, cells, keyspaces and shards.
func (z size) parents() int { return z.clusters * (1 + z.cells + 1 + z.shards) }

// leastWrites returns how many requests an operator written by hand needs at least to bring the clusters up.
func (z size) leastWrites() int {
	cluster := 3 + 2 + z.cells + 1       // etcd and its Services, vtctld and its Service, the cells and the keyspace.
	cell := 3                            // A Job, and vtgate with its Service.
	keyspace := 1 + z.shards             // A Job, and the shards.
	shard := 1 + 2*z.cells*z.tablets + 1 // A Service, the tablets with their claims, and vtorc.
	children := cluster + z.cells*cell + keyspace + z.shards*shard
	// Each parent gets a finalizer, a ControllerRevision, and a status once it is ready.
	return z.clusters*children + 3*z.parents()
}

// manifest returns the clusters and their namespace.
func (z size) manifest() string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range z.clusters {
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: VitessCluster\n", clusters.GroupVersion())
		fmt.Fprintf(&text, "metadata: {name: vt%d, namespace: %s}\nspec:\n  topology: {replicas: 3, storage: 1Gi}\n  cells:\n", i, namespace)
		for cell := range z.cells {
			fmt.Fprintf(&text, "  - {name: zone%d, vtgate: {replicas: 1}}\n", cell)
		}
		fmt.Fprintf(&text, "  keyspaces:\n  - name: main\n    shards: [%s]\n    tablets:\n", strings.Join(z.ranges(), ", "))
		for cell := range z.cells {
			fmt.Fprintf(&text, "    - {cell: zone%d, type: replica, replicas: %d, storage: 1Gi}\n", cell, z.tablets)
		}
	}
	return text.String()
}

// ranges returns the key ranges of equal shards.
func (z size) ranges() []string {
	bound := func(i int) string {
		if i == 0 || i == z.shards {
			return ""
		}
		return fmt.Sprintf("%02x", i*256/z.shards)
	}
	var ranges []string
	for i := range z.shards {
		ranges = append(ranges, fmt.Sprintf("%q", bound(i)+"-"+bound(i+1)))
	}
	return ranges
}

// measurement returns the steps that create many clusters.
func (s *show) measurement() []steps.Step {
	z := s.size
	return []steps.Step{{
		Title: fmt.Sprintf("%d clusters", z.clusters),
		Why: fmt.Sprintf("Each of %d cells and %d shards, with %d tablets of each shard in each cell: %d tablets in all.",
			z.cells, z.shards, z.tablets, z.tabletsOf()),
		Run: s.measure,
	}}
}

func (s *show) measure(ctx context.Context) error {
	file := filepath.Join(s.WorkDir, "clusters.yaml")
	if err := os.WriteFile(file, []byte(s.size.manifest()), 0o644); err != nil {
		return err
	}
	before, err := s.Libretto.Metrics(ctx)
	if err != nil {
		return err
	}
	mark, err := s.Cluster.Mark(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := s.Kubectl().Run(ctx, "apply", "-f", file); err != nil {
		return err
	}
	var checks []steps.Check
	for i := range s.size.clusters {
		checks = append(checks, clusterReady(fmt.Sprintf("vt%d", i)))
	}
	if err := s.Await(ctx, "all clusters are Ready", steps.All(checks...)); err != nil {
		return err
	}
	s.Out.OKf("all clusters are Ready after %s", steps.Duration(time.Since(begin)))
	requests, err := s.settled(ctx, mark)
	if err != nil {
		return err
	}
	writes := requests.Writes()
	s.Out.OKf("the last write was %s after the first", steps.Duration(writes[len(writes)-1].Time.Sub(writes[0].Time)))
	return s.tell(ctx, before, requests)
}

// settled waits until libretto writes nothing any more, and returns its requests since a mark, without those for events and leases.
func (s *show) settled(ctx context.Context, since cluster.Mark) (cluster.Requests, error) {
	for {
		all, err := s.Cluster.Requests(ctx, since, userAgent)
		if err != nil {
			return nil, err
		}
		requests := all.Filter(func(r cluster.Request) bool { return r.Resource != "events" && r.Resource != "leases" })
		if writes := requests.Writes(); len(writes) > 0 && time.Since(writes[len(writes)-1].Time) > quiet {
			return requests, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(quiet / 10):
		}
	}
}

// tell prints what it cost.
func (s *show) tell(ctx context.Context, before cluster.Metrics, requests cluster.Requests) error {
	after, err := s.Libretto.Metrics(ctx)
	if err != nil {
		return err
	}
	peak, err := s.Libretto.PeakMemory()
	if err != nil {
		return err
	}
	difference := func(name string) float64 { return after.Sum(name, nil) - before.Sum(name, nil) }
	tablets, writes := float64(s.size.tabletsOf()), len(requests.Writes())
	calls, cpu := difference(hookDuration), difference("process_cpu_seconds_total")
	verbs := map[string]int{}
	for _, r := range requests {
		verbs[r.Verb]++
	}
	var texts []string
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, fmt.Sprintf("%d %s", verbs[verb], verb))
	}
	s.Out.OKf("requests of libretto: %s", strings.Join(texts, ", "))
	s.tellWrites(requests)
	least := s.size.leastWrites()
	s.Out.OKf("writes: %d, where %d are the least: %.2f for each of them", writes, least, float64(writes)/float64(least))
	s.Out.OKf("hook calls: %.0f, for %d parents", calls, s.size.parents())
	for _, level := range []string{"cluster", "cell", "keyspace", "shard"} {
		of := map[string]string{"kind": "CompositeController", "definition": "vitess-" + level}
		s.Out.Info(fmt.Sprintf("  %5.0f of %ss, %s each", after.Sum(hookDuration, of), level, steps.Duration(meanCall(after, "vitess-"+level))))
	}
	s.Out.OKf("the host used %.1f s of CPU, and %d MiB of memory at most, without its workers", cpu, peak>>20)
	s.Out.OKf("for each tablet: %.1f writes, %.1f hook calls, %.0f ms of CPU", float64(writes)/tablets, calls/tablets, 1000*cpu/tablets)
	return nil
}

// tellWrites prints the number of writes of each resource.
func (s *show) tellWrites(requests cluster.Requests) {
	byResource := map[string]int{}
	for _, r := range requests.Writes() {
		name := r.Resource
		if r.Subresource != "" {
			name += "/" + r.Subresource
		}
		byResource[r.Verb+" "+name]++
	}
	for _, name := range slices.Sorted(maps.Keys(byResource)) {
		s.Out.Info(fmt.Sprintf("  %5d %s", byResource[name], name))
	}
}

// meanCall returns how long a hook call of a definition took on average.
func meanCall(metrics cluster.Metrics, definition string) time.Duration {
	count, sum := 0.0, 0.0
	for _, metric := range metrics[hookDuration].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "definition" && label.GetValue() == definition {
				count += float64(metric.GetSummary().GetSampleCount())
				sum += metric.GetSummary().GetSampleSum()
			}
		}
	}
	if count == 0 {
		return 0
	}
	return time.Duration(sum / count * float64(time.Second))
}
