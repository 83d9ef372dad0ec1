//go:build unix

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// probe is an engine that does what a script could do that has escaped its engine.
func probe() engines.Definition {
	return engines.Definition{
		Name: "Probe", Doc: "Tries what a worker must not do.", Extensions: []string{".probe"},
		New: func(engines.Config) (engines.Engine, error) { return probeEngine{}, nil },
	}
}

type probeEngine struct{}

func (probeEngine) Compile(_ context.Context, src engines.Source) (engines.Program, error) {
	text := src.Script.Files[src.Script.Path]
	switch text {
	case "crash at load":
		os.Exit(7)
	case "hang at load":
		select {}
	}
	return probeProgram{probe: text}, nil
}

type probeProgram struct {
	engines.ProgramBase
	probe string
}

// CoveragePoints returns a point, which may be one of a file that the script does not have.
func (p probeProgram) CoveragePoints() []engines.CoveragePoint {
	switch p.probe {
	case "coverage":
		return []engines.CoveragePoint{{Location: engines.Location{File: "probe.probe", Line: 1, Column: 2}}}
	case "coverage of another file":
		return []engines.CoveragePoint{{Location: engines.Location{File: "/etc/passwd", Line: 1}}}
	}
	return nil
}

// Outline returns one, whether or not it is asked for.
func (p probeProgram) Outline() *engines.Outline { return &engines.Outline{Function: p.probe} }

func (p probeProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if p.probe == "wait" {
		<-ctx.Done()
		return engines.Response{}, engines.Ended(ctx)
	}
	if p.probe == "coverage" {
		return engines.Response{Coverage: engines.Coverage{1}}, &engines.Error{Message: "boom"}
	}
	do, ok := probes[p.probe]
	if !ok {
		return engines.Response{}, &engines.Error{Message: "no such probe"}
	}
	body, err := do(call)
	if err != nil {
		return engines.Response{}, &engines.Error{Message: err.Error()}
	}
	return engines.Response{Body: body}, nil
}

var probes = map[string]func(engines.Call) (any, error){
	"read file":   func(engines.Call) (any, error) { return read("/etc/passwd") },
	"read memory": func(call engines.Call) (any, error) { return read(fmt.Sprintf("/proc/%d/environ", host(call))) },
	"write file":  func(engines.Call) (any, error) { return nil, os.WriteFile(os.TempDir()+"/probe", []byte("x"), 0o600) },
	"run program": func(engines.Call) (any, error) { return nil, exec.Command("/bin/true").Run() },
	"connect":     func(call engines.Call) (any, error) { return dial("tcp", call) },
	"send":        func(call engines.Call) (any, error) { return dial("udp", call) },
	"signal host": func(call engines.Call) (any, error) { return nil, syscall.Kill(host(call), 0) },
	"environment": func(engines.Call) (any, error) { return strings.Join(os.Environ(), " "), nil },
	"time zone": func(engines.Call) (any, error) {
		zone, err := time.LoadLocation("Europe/Paris")
		return fmt.Sprint(zone, " ", time.Local), err
	},
	"stderr": func(engines.Call) (any, error) {
		for range 1000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		os.Exit(9)
		return nil, nil
	},
	"panic elsewhere": func(engines.Call) (any, error) {
		go panic("elsewhere")
		select {}
	},
	"panic":    func(engines.Call) (any, error) { panic("here") },
	"recurse":  func(engines.Call) (any, error) { return recurse(0), nil },
	"babble":   func(engines.Call) (any, error) { return nil, write("\x01\x00\x00\x00\x05\x01\x00\x00\x00\x05") },
	"flood":    func(engines.Call) (any, error) { return nil, write("\xff\xff\xff\xff") },
	"allocate": func(engines.Call) (any, error) { return int64(len(make([]byte, 1<<40))), nil },
	"leak": func(engines.Call) (any, error) {
		leaked = append(leaked, bytes.Repeat([]byte("x"), 20<<20))
		return int64(len(leaked)), nil
	},
	"visit": func(call engines.Call) (any, error) {
		visits = append(visits, call.Request["value"])
		return visits, nil
	},
	"hang": func(engines.Call) (any, error) { select {} },
	"hang if true": func(call engines.Call) (any, error) {
		if call.Request["value"] == true {
			select {}
		}
		return "alive", nil
	},
	"die later": func(engines.Call) (any, error) {
		time.AfterFunc(100*time.Millisecond, func() { os.Exit(3) }) // After the answer was sent, even on a busy machine.
		return "alive", nil
	},
}

// visits has the values of earlier calls in this worker.
var visits []any

// leaked is never freed.
var leaked [][]byte

// host returns the process of the host, which a worker can't ask the system for.
func host(call engines.Call) int {
	pid, _ := call.Request["value"].(int64)
	return int(pid)
}

func read(path string) (any, error) {
	text, err := os.ReadFile(path)
	return string(text), err
}

func write(bytes string) error {
	if _, err := io.WriteString(os.NewFile(1, "host"), bytes); err != nil {
		return err
	}
	select {} // Sends nothing more: the host must kill the worker.
}

func dial(network string, call engines.Call) (any, error) {
	address, _ := call.Request["value"].(string)
	connection, err := net.Dial(network, address)
	if err == nil {
		_, err = connection.Write([]byte("x"))
	}
	return nil, err
}

func recurse(n int) int {
	if n < 0 {
		return 0 // Unreachable.
	}
	var pad [1000]byte
	pad[n%len(pad)] = 1
	return recurse(n+1) + int(pad[0])
}
