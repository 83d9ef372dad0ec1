package shards_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	soakParents = 1000
	// soakShards can be divided by the number of hosts: what a host takes depends on how many it has.
	soakShards = 6
	// editInterval is how often a parent is edited, scriptInterval how often the script is, and replaceInterval how often a replica is replaced.
	editInterval    = 100 * time.Millisecond
	scriptInterval  = time.Minute
	replaceInterval = 2 * time.Minute
	sampleInterval  = time.Second
	// flat is by how much what the oldest host takes in one replaceInterval may differ from the mean over the second half.
	flat = 0.05
)

// soak is a run with edits of parents and of the script, and replicas that come and go.
type soak struct {
	*scene
	// notes are what each parent asks for, and value what the script gives.
	notes []int
	value string
	// oldest is the host that is there all the time, and replaced those that are replaced in turn.
	oldest   *cluster.Libretto
	replaced []*cluster.Libretto
	hosts    int
	samples  []sample
}

// sample is what the oldest host takes.
type sample struct {
	at         time.Duration
	memory     float64 // anonymous, in bytes, with its workers
	goroutines float64
}

// TestSoak runs three hosts of which one is there all the time, for as long as LIBRETTO_SOAK says, at least for four replaceIntervals. All
// edits must be done in the end, and over the second half memory and goroutines of the oldest host must be flat.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("LIBRETTO_SOAK"))
	if err != nil || length < 4*replaceInterval {
		t.Skip("LIBRETTO_SOAK says how long, as 20m")
	}
	s := &soak{scene: &scene{Env: env.NewWithThings(t)}, notes: make([]int, soakParents)}
	s.writeValue(0)
	s.addHomes()
	s.addThings(soakParents, "{note: 0}")
	s.oldest = s.startHost()
	s.replaced = []*cluster.Libretto{s.startHost(), s.startHost()}
	s.define("{}")
	s.waitForNotes()
	s.run(length)
	s.waitForNotes()
	s.judge(length)
	for _, host := range append(s.replaced, s.oldest) {
		s.NoError(host.Stop())
	}
}

func (s *soak) startHost() *cluster.Libretto {
	s.T.Helper()
	s.hosts++
	return s.start(fmt.Sprint("host-", s.hosts), fmt.Sprintf("--shards=%d", soakShards)).Libretto
}

func (s *soak) writeValue(n int) {
	s.T.Helper()
	s.value = fmt.Sprint("v", n)
	s.write(fmt.Sprintf(`export const sync = ({parent}) => ({
  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q + "/" + parent.spec.note}}],
  status: {note: parent.spec.note},
});
export const finalize = () => ({children: [], finalized: true});
`, s.value))
}

// run edits parents and the script, and replaces replicas.
func (s *soak) run(length time.Duration) {
	s.T.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.T.Context(), length)
	defer cancel()
	edits, scripts, replacements, samples := time.Tick(editInterval), time.Tick(scriptInterval), time.Tick(replaceInterval), time.Tick(sampleInterval)
	scriptEdits := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-edits:
			n := random.IntN(soakParents)
			s.notes[n]++
			patch := fmt.Sprintf(`{"spec": {"note": %d}}`, s.notes[n])
			_, err := s.homeOf(n).In(s.Things()).Patch(s.T.Context(), fmt.Sprint("t", n), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			s.NoError(err)
		case <-scripts:
			scriptEdits++
			s.writeValue(scriptEdits)
		case <-replacements:
			s.replace()
		case <-samples:
			s.sample(time.Since(began))
		}
	}
}

// replace ends one of the replicas as an update does, and starts another one in its place.
func (s *soak) replace() {
	s.T.Helper()
	s.NoError(s.replaced[0].Stop())
	s.replaced = append(s.replaced[1:], s.startHost())
}

func (s *soak) sample(at time.Duration) {
	s.T.Helper()
	metrics, err := s.oldest.Metrics(s.T.Context())
	s.NoError(err)
	_, memory := used(s.oldest.PID())
	s.samples = append(s.samples, sample{at, float64(memory), metrics.Sum("go_goroutines", nil)})
}

// judge compares what the oldest host took in each replaceInterval of the second half.
func (s *soak) judge(length time.Duration) {
	s.T.Helper()
	half := length / 2
	for name, of := range map[string]func(sample) float64{
		"MiB":        func(x sample) float64 { return x.memory / (1 << 20) },
		"goroutines": func(x sample) float64 { return x.goroutines },
	} {
		intervals := (length + replaceInterval - 1) / replaceInterval
		sums, counts := make([]float64, intervals), make([]float64, intervals)
		for _, x := range s.samples {
			at := min(int(x.at/replaceInterval), len(sums)-1)
			sums[at] += of(x)
			counts[at]++
		}
		var means, second []float64
		for i, sum := range sums {
			means = append(means, sum/max(1, counts[i]))
			if time.Duration(i)*replaceInterval >= half {
				second = append(second, means[i])
			}
		}
		s.T.Logf("%s of the oldest host, for each %s: %.1f", name, replaceInterval, means)
		mean := 0.0
		for _, x := range second {
			mean += x / float64(len(second))
		}
		if least, most := slices.Min(second), slices.Max(second); least < mean*(1-flat) || most > mean*(1+flat) {
			s.T.Errorf("%s of the oldest host are not flat over the second half: %.1f to %.1f, %.1f in the mean", name, least, most, mean)
		}
	}
}

// waitForNotes waits until each parent has its one child with what it asks for by the newest script, and nobody has another child.
func (s *soak) waitForNotes() {
	s.T.Helper()
	cluster.Eventually(s.T, handOver, func() error {
		for h, home := range s.homes {
			children := home.List(env.ConfigMaps, "")
			delete(children, "kube-root-ca.crt")
			for n := h; n < soakParents; n += homes {
				name := fmt.Sprint("t", n)
				want := fmt.Sprintf("%s/%d", s.value, s.notes[n])
				child := children[name]
				if child == nil {
					return fmt.Errorf("%s has no child", name)
				}
				if got, _, _ := unstructured.NestedString(child.Object, "data", "value"); got != want {
					return fmt.Errorf("the child of %s has the value %s, want %s", name, got, want)
				}
				delete(children, name)
			}
			if len(children) > 0 {
				return fmt.Errorf("%d children too many in %s", len(children), home.Namespace)
			}
		}
		return nil
	})
}
