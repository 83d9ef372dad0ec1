package confine

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// addressSlack is how much more address space than memory is allowed, because the Go runtime reserves
// more than it uses.
const addressSlack = 512 << 20

// memory is the memory of the process at its start, in bytes.
type memory struct{ data, address uint64 }

// readMemory reads /proc, so it must be called before Landlock is applied.
func readMemory() (memory, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memory{}, err
	}
	var m memory
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "VmData":
			m.data = kilobytes(value)
		case "VmSize":
			m.address = kilobytes(value)
		}
	}
	if m.data == 0 || m.address == 0 {
		return memory{}, errors.New("/proc/self/status does not say VmData and VmSize")
	}
	return m, nil
}

func kilobytes(value string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return n << 10
}

// limit sets the hard limits, which can't be raised again.
func (m memory) limit(budget uint64) error {
	data := m.data + budget
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data}); err != nil {
		return err
	}
	address := m.address + budget + addressSlack
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: address, Max: address})
}

// Budget bounds the memory that the process may map beyond what it had at its start, in bytes. The
// process exits if it is exceeded.
func (c *Confined) Budget(budget int64) error {
	if c.Report[MemoryLimit] != "" {
		return nil // In the report already.
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{
		Cur: c.memory.data + min(uint64(max(budget, 0)), c.maxBudget), Max: c.memory.data + c.maxBudget,
	})
}
