// Package apply tests package apply against a real API server, directly: without a host, its queues and its caches.
package apply

import (
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
