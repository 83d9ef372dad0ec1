package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// measurement is what a phase cost. Times are in seconds, memory in bytes.
type measurement struct {
	Phase string `json:"phase"`
	// Wall is the time from the first request of the driver to the last write of the host, or, where it has nothing to write, until it is
	// quiet. For restart it is the time until the first pass begins, for which all caches are filled, or for other hosts until it is quiet.
	Wall    float64 `json:"wall"`
	Driven  float64 `json:"driven"`           // Until the last request of the driver was answered.
	Settled float64 `json:"settled"`          // Until the host was quiet.
	Filled  float64 `json:"filled,omitempty"` // Until its caches were filled.

	HostCPU    float64 `json:"hostCPU"`
	WorkersCPU float64 `json:"workersCPU"`
	ServerCPU  float64 `json:"apiServerCPU"`
	DriverCPU  float64 `json:"driverCPU"` // Of this program, which serves the webhook too.

	HostPeak    int64 `json:"hostPeak"`
	WorkersPeak int64 `json:"workersPeak"` // The sum of all workers at once, each with the binary's pages.

	// What is not of files, such as the binary, at the end of a phase.
	HostAnonymous    int64 `json:"hostAnonymous,omitempty"`
	WorkersAnonymous int64 `json:"workersAnonymous,omitempty"`

	HookCalls int            `json:"hookCalls"`
	Requests  map[string]int `json:"requests"`
	Failed    int            `json:"failed"` // Requests that were answered with an error: conflicts, for example.
}

// cpu is that of the host and its workers.
func (m measurement) cpu() float64 { return m.HostCPU + m.WorkersCPU }

// peak is the memory of the host and its workers.
func (m measurement) peak() float64 { return float64(m.HostPeak + m.WorkersPeak) }

// made is the number of requests.
func (m measurement) made() float64 {
	sum := 0
	for _, n := range m.Requests {
		sum += n
	}
	return float64(sum)
}

func (m measurement) String() string {
	return fmt.Sprintf("%.2f s, CPU %s, peak %s, API server %.1f s, %d hook calls; %s",
		m.Wall, m.cpuText(), m.peakText(), m.ServerCPU, m.HookCalls, m.requestText())
}

func (m measurement) cpuText() string { return fmt.Sprintf("%.2f/%.2f s", m.HostCPU, m.WorkersCPU) }

func (m measurement) peakText() string {
	return fmt.Sprintf("%d/%d MiB", m.HostPeak>>20, m.WorkersPeak>>20)
}

// requestText returns the requests by verb.
func (m measurement) requestText() string {
	verbs := map[string]int{}
	for name, n := range m.Requests {
		verb, _, _ := strings.Cut(name, " ")
		verbs[verb] += n
	}
	var texts []string
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, fmt.Sprintf("%d %s", verbs[verb], verb))
	}
	if m.Failed > 0 {
		texts = append(texts, fmt.Sprintf("%d failed", m.Failed))
	}
	if texts == nil {
		return "no requests"
	}
	return strings.Join(texts, ", ")
}

// results are all measurements.
type results struct {
	Settings map[string]any   `json:"settings"`
	Machine  map[string]any   `json:"machine"`
	Subjects []*subjectResult `json:"subjects"`

	parents, objects int // How many there are of each.

	output string
	log    string // Of the host that was measured last.
}

// subjectResult is what one subject cost.
type subjectResult struct {
	Name    string          `json:"name"`
	Command []string        `json:"command"`
	Runs    [][]measurement `json:"runs"`
	Median  []measurement   `json:"median"`
}

func newResults(o *options, subjects []subject) *results {
	r := &results{
		Settings: map[string]any{
			"parents": o.parents, "children": o.children, "payload": o.payload, "engine": o.engine, "apply": o.apply,
			"parallel": o.parallel, "workers": o.workers, "writes": o.writes, "idleSeconds": o.idle.Seconds(),
		},
		Machine: map[string]any{"processors": runtime.NumCPU(), "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH},
		parents: o.parents, objects: o.parents * (1 + o.children),
		output: o.output,
	}
	for _, s := range subjects {
		r.Subjects = append(r.Subjects, &subjectResult{Name: s.name, Command: s.args, Runs: make([][]measurement, o.runs)})
	}
	return r
}

// add adds a measurement, and writes what there is so far.
func (r *results) add(s subject, run int, m measurement) error {
	for _, of := range r.Subjects {
		if of.Name == s.name {
			of.Runs[run] = append(of.Runs[run], m)
			of.Median = medians(of.Runs)
		}
	}
	if r.output == "" {
		return nil
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.output, append(content, '\n'), 0o644)
}

// medians returns the medians of each phase.
func medians(runs [][]measurement) []measurement {
	byPhase := map[string][]measurement{}
	var order []string
	for _, run := range runs {
		for _, m := range run {
			if byPhase[m.Phase] == nil {
				order = append(order, m.Phase)
			}
			byPhase[m.Phase] = append(byPhase[m.Phase], m)
		}
	}
	var all []measurement
	for _, phase := range order {
		all = append(all, medianOf(phase, byPhase[phase]))
	}
	return all
}

// medianOf returns the median of each number by itself.
func medianOf(phase string, of []measurement) measurement {
	seconds := func(get func(measurement) float64) float64 { return median(of, get) }
	whole := func(get func(measurement) int64) int64 {
		return int64(median(of, func(m measurement) float64 { return float64(get(m)) }))
	}
	m := measurement{
		Phase:            phase,
		Wall:             seconds(func(m measurement) float64 { return m.Wall }),
		Driven:           seconds(func(m measurement) float64 { return m.Driven }),
		Settled:          seconds(func(m measurement) float64 { return m.Settled }),
		Filled:           seconds(func(m measurement) float64 { return m.Filled }),
		HostCPU:          seconds(func(m measurement) float64 { return m.HostCPU }),
		WorkersCPU:       seconds(func(m measurement) float64 { return m.WorkersCPU }),
		ServerCPU:        seconds(func(m measurement) float64 { return m.ServerCPU }),
		DriverCPU:        seconds(func(m measurement) float64 { return m.DriverCPU }),
		HostPeak:         whole(func(m measurement) int64 { return m.HostPeak }),
		WorkersPeak:      whole(func(m measurement) int64 { return m.WorkersPeak }),
		HostAnonymous:    whole(func(m measurement) int64 { return m.HostAnonymous }),
		WorkersAnonymous: whole(func(m measurement) int64 { return m.WorkersAnonymous }),
		HookCalls:        int(whole(func(m measurement) int64 { return int64(m.HookCalls) })),
		Failed:           int(whole(func(m measurement) int64 { return int64(m.Failed) })),
		Requests:         map[string]int{},
	}
	for _, one := range of {
		for name := range one.Requests {
			m.Requests[name] = int(whole(func(m measurement) int64 { return int64(m.Requests[name]) }))
		}
	}
	return m
}

// median returns the middle value, or the mean of the two in the middle.
func median[T any](of []T, get func(T) float64) float64 {
	var values []float64
	for _, m := range of {
		values = append(values, get(m))
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
