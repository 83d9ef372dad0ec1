package serve

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// registerBuildInfo registers a metric whose labels are the build.
func registerBuildInfo(registry prometheus.Registerer, b cli.Build) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "libretto_build_info", Help: "The build of this process; always 1.",
	}, []string{"version", "commit", "platform", "goversion"})
	info.WithLabelValues(b.Version, b.Commit, b.Platform, b.GoVersion).Set(1)
	registry.MustRegister(info)
}

// countLeader returns begin with a metric that is 1 while what it begins works, and 0 in a process that waits for the lease.
func countLeader(registry prometheus.Registerer, begin beginner) beginner {
	leading := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "libretto_leader", Help: "1 if this process hosts definitions, and 0 if it waits until it leads.",
	})
	registry.MustRegister(leading)
	return func(ctx context.Context, config *rest.Config, lock *lease) (job, error) {
		j, err := begin(ctx, config, lock)
		return countedJob{j, leading}, err
	}
}

// countedJob has a metric that is 1 while it works.
type countedJob struct {
	job
	leading prometheus.Gauge
}

func (j countedJob) work() error {
	j.leading.Set(1)
	defer j.leading.Set(0)
	return j.job.work()
}
