package shards_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
	"github.com/libretto-k8s/libretto/test/procfs"
)

// TestShardsScale measures hosts that share the work: LIBRETTO_SHARD_PARENTS says of how many parents, in 40 namespaces with a child each,
// LIBRETTO_SHARD_HOSTS how many hosts there are in each run, and LIBRETTO_SHARD_LATENCY how long each request to the API server takes longer.
func TestShardsScale(t *testing.T) {
	parents, err := strconv.Atoi(cmp.Or(os.Getenv("LIBRETTO_SHARD_PARENTS"), "0"))
	if parents == 0 || err != nil {
		t.Skip("LIBRETTO_SHARD_PARENTS says how many parents to measure with")
	}
	latency, err := time.ParseDuration(cmp.Or(os.Getenv("LIBRETTO_SHARD_LATENCY"), "0s"))
	env.NoError(t, err)
	for text := range strings.FieldsSeq(cmp.Or(os.Getenv("LIBRETTO_SHARD_HOSTS"), "1 4")) {
		hosts, err := strconv.Atoi(text)
		env.NoError(t, err)
		t.Run(text, func(t *testing.T) { measure(t, hosts, parents, latency) })
	}
}

// measure logs how long so many hosts take for the children of new parents, and what each of them takes for it.
func measure(t *testing.T, hosts, parents int, latency time.Duration) {
	s := &scene{Env: env.NewWithThings(t)}
	kubeconfig := s.Cluster.Kubeconfig
	if latency > 0 {
		proxy, err := delayproxy.Start(s.Cluster.Config, t.TempDir())
		s.NoError(err)
		defer func() { s.NoError(proxy.Stop()) }()
		proxy.Set(delayproxy.Rule{Verbs: []string{"create", "update", "patch", "get"}, Reply: latency})
		kubeconfig = proxy.Kubeconfig
	}
	s.edit("one", "")
	s.addHomes()
	var running []*cluster.Libretto
	for range hosts {
		flags := []string{"--kubeconfig", kubeconfig, "--namespace=" + s.Namespace, "--target-label-selector=test=" + s.Namespace, "--kube-api-qps=-1"}
		if hosts > 1 {
			flags = append(flags, "--leader-elect", fmt.Sprintf("--shards=%d", 4*hosts), "--leader-elect-resource-namespace="+s.Namespace)
		}
		ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
		host, err := s.Cluster.StartLibretto(ctx, flags...)
		cancel()
		s.NoError(err)
		defer func() { s.NoError(host.Stop()) }()
		running = append(running, host)
	}
	if hosts > 1 {
		s.waitForHolders(4*hosts, hosts)
	}
	s.addThings(parents, "{}")
	before := make([]time.Duration, hosts)
	for i, host := range running {
		before[i], _ = used(host.PID())
	}
	began := time.Now()
	s.define("{}")
	s.waitForChildren(parents)
	took := time.Since(began)
	t.Logf("%d hosts, %d parents: %s, %.0f parents a second", hosts, parents, took.Round(10*time.Millisecond), float64(parents)/took.Seconds())
	for i, host := range running {
		took, memory := used(host.PID())
		t.Logf("  host %d: %s of a processor, %d MiB", i, took-before[i], memory>>20)
	}
}

// homes is how many namespaces the parents are in.
const homes = 40

// addHomes creates the namespaces.
func (s *scene) addHomes() {
	s.T.Helper()
	for n := range homes {
		name := fmt.Sprintf("%s-%02d", s.Namespace, n)
		s.ClusterScope().Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
		s.homes = append(s.homes, s.InNamespace(name))
	}
}

// homeOf returns the namespace of the Thing with a number.
func (s *scene) homeOf(thing int) *env.Env { return s.homes[thing%homes] }

// addThings creates so many Things, t0 and so on, with a spec.
func (s *scene) addThings(count int, spec string) {
	s.T.Helper()
	for n := range count {
		thing := s.Parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: t%d}, spec: %s}", s.Group, n, spec))
		_, err := s.homeOf(n).In(s.Things()).Create(s.T.Context(), thing, metav1.CreateOptions{})
		s.NoError(err)
	}
}

func (s *scene) waitForHolders(shards, hosts int) {
	s.T.Helper()
	cluster.Eventually(s.T, handOver, func() error {
		held := map[string]int{}
		for name, lease := range s.List(leases, "") {
			if holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity"); strings.Contains(name, "-shard-") {
				held[holder]++
			}
		}
		for _, count := range held {
			if len(held) != hosts || count != shards/hosts {
				return fmt.Errorf("shards are held by %v", held)
			}
		}
		return nil
	})
}

// waitForChildren waits until all parents have their child.
func (s *scene) waitForChildren(parents int) {
	s.T.Helper()
	client, err := metadata.NewForConfig(s.Cluster.Config)
	s.NoError(err)
	cluster.Eventually(s.T, 10*time.Minute, func() error {
		found := 0
		for _, home := range s.homes {
			list, err := client.Resource(env.ConfigMaps).Namespace(home.Namespace).List(s.T.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return err
			}
			found += len(list.Items)
		}
		if found < parents {
			return fmt.Errorf("%d of %d parents have a child", found, parents)
		}
		return nil
	})
}

// used returns the processor time and the anonymous memory, in bytes, of a process and of its workers. One that has ended counts by its parent.
func used(pid int) (sum time.Duration, anonymous int64) {
	for _, of := range append(procfs.Descendants(pid), pid) {
		times, err := procfs.ReadTimes(of)
		memory, memoryErr := procfs.ReadMemory(of)
		if err == nil && memoryErr == nil {
			sum, anonymous = sum+times.Own+times.Ended, anonymous+memory.Anonymous
		}
	}
	return sum, anonymous
}
