package rolling

import (
	"fmt"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// killTime is how long a rollout may take in which libretto is killed again and again.
const killTime = 2 * time.Minute

// TestKilledAfterEveryWrite rolls out with a libretto that lives for so many writes, of which it never learns what
// resulted from the last, and then another one.
func TestKilledAfterEveryWrite(t *testing.T) {
	gate := newGate(t, cluster.Get(t).Config)
	e := newEnvWithoutLibretto(t)
	start(e, "--kubeconfig", gate.path)
	for _, tc := range []struct {
		cell
		lives []int
	}{
		{cell{method: inPlace}, []int{1, 2, 3}},
		{cell{clusterParent: true, method: recreate}, []int{1, 3}},
	} {
		t.Run(tc.cell.String(), func(t *testing.T) {
			// It goes before the next one comes: a new libretto that begins to watch for both would not be quiet.
			d := define(e.WithT(t), tc.code(), tc.cell, settings{})
			for _, lives := range tc.lives {
				t.Run(fmt.Sprint(lives), func(t *testing.T) { killAfterWrites(d.in(t), gate, lives) })
			}
		})
	}
}

func killAfterWrites(d *definition, gate *gate, lives int) {
	d.T.Helper()
	c := d.newReadyParent(fmt.Sprint("lives", lives), 3)
	j := c.recordWrites()
	d.T.Cleanup(gate.open)
	gate.arm(lives)
	c.updateVersion("v2")
	deaths := 0
	cluster.Eventually(d.T, killTime, func() error {
		if gate.shut() {
			c.Kill()
			gate.arm(lives)
			start(c.Env, "--kubeconfig", gate.path)
			deaths++
		}
		c.setAllReady()
		return c.checkRollout()
	})
	d.T.Logf("libretto died %d times", deaths)
	if deaths < 3 {
		d.T.Errorf("libretto died %d times only: the rollout has gone past the gate", deaths)
	}
	gate.open()
	c.Restart() // The gate may have kept back the answer to the very last write.
	c.expectQuiet()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
}
