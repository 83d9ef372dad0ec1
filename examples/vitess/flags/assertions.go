package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cell is the record of a cell, as vtctldclient prints it.
type cell struct {
	Address string `json:"server_address"`
	Root    string `json:"root"`
}

// keyspaceRecord is that of a keyspace.
type keyspaceRecord struct {
	Name     string `json:"name"`
	Keyspace struct {
		Durability string `json:"durability_policy"`
	} `json:"keyspace"`
}

// ask asks the vtctld that runs.
func (m *machine) ask(ctx context.Context, args ...string) (string, error) {
	owner := workloadsOf(m.tree, "Deployment", "vtctld")[0]
	address, err := m.address(podName(owner, 0), containerPort(owner, "grpc", 0))
	if err != nil {
		return "", err
	}
	return m.output(ctx, "vtctldclient", append([]string{"--server=" + address, "--action-timeout=30s"}, args...)...)
}

// checkTopology compares what the programs have read with what the operator wrote.
func (m *machine) checkTopology(ctx context.Context) error {
	fmt.Fprintln(m.out, "\nWhat the programs have read")
	if err := m.checkCells(ctx); err != nil {
		return err
	}
	keyspaces, err := m.checkKeyspaces(ctx)
	if err != nil {
		return err
	}
	return m.checkPages(ctx, keyspaces)
}

func (m *machine) checkCells(ctx context.Context) error {
	want, err := m.wantedCells()
	if err != nil {
		return err
	}
	got := map[string]cell{}
	text, err := m.ask(ctx, "GetCellInfoNames")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(text) {
		if got[name], err = parsed[cell](m.ask(ctx, "GetCellInfo", name)); err != nil {
			return err
		}
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("vtctld has read other cells than the operator wrote: wrote %v, read %v", want, got)
	}
	fmt.Fprintf(m.out, "  ok  vtctld: cells %s, each with its address and root\n", strings.Join(slices.Sorted(maps.Keys(want)), ", "))
	return nil
}

// wantedCells returns the records that the Jobs of all VitessCells write.
func (m *machine) wantedCells() (map[string]cell, error) {
	want := map[string]cell{}
	for _, o := range m.tree.of("VitessCell") {
		want[o.text("spec", "cell")] = cell{}
	}
	for _, job := range m.tree.of("Job") {
		for _, i := range invocationsOf(job) {
			args, err := m.args(podName(job, 0), i)
			if err != nil {
				return nil, err
			}
			if slices.Contains(args, "UpdateCellInfo") {
				want[args[len(args)-1]] = cell{Address: flagValue(args, "server-address"), Root: flagValue(args, "root")}
			}
		}
	}
	return want, nil
}

func flagValue(args []string, name string) string {
	for _, arg := range args {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	return ""
}

func (m *machine) checkKeyspaces(ctx context.Context) ([]string, error) {
	want, got := map[string]string{}, map[string]string{}
	for _, o := range m.tree.of("VitessKeyspace") {
		want[o.text("spec", "keyspace")] = o.text("spec", "durabilityPolicy")
	}
	records, err := parsed[[]keyspaceRecord](m.ask(ctx, "GetKeyspaces"))
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		got[record.Name] = record.Keyspace.Durability
	}
	if !maps.Equal(want, got) {
		return nil, fmt.Errorf("vtctld has read other keyspaces than the operator wrote: wrote %v, read %v", want, got)
	}
	names := slices.Sorted(maps.Keys(want))
	fmt.Fprintf(m.out, "  ok  vtctld: keyspaces %s, each with its durability policy\n", strings.Join(names, ", "))
	return names, nil
}

// checkPages looks for the keyspaces in what each vtgate and each vtorc shows over HTTP.
func (m *machine) checkPages(ctx context.Context, keyspaces []string) error {
	for _, page := range []struct{ program, path string }{{"vtgate", "/debug/vschema"}, {"vtorc", "/api/database-state"}} {
		for _, owner := range workloadsOf(m.tree, "Deployment", page.program) {
			address, err := m.address(podName(owner, 0), containerPort(owner, "web", 0))
			if err != nil {
				return err
			}
			body, err := get(ctx, "http://"+address+page.path)
			if err != nil {
				return err
			}
			want := keyspaces
			if page.program == "vtorc" { // It reads only the one that it watches.
				watched, _, _ := strings.Cut(flagValue(mainOf(owner).args, "clusters-to-watch"), "/")
				want = []string{watched}
			}
			for _, name := range want {
				if !strings.Contains(body, `"`+name+`"`) {
					return fmt.Errorf("%s has not read keyspace %s: %s shows\n%s", owner.id(), name, page.path, body)
				}
			}
			fmt.Fprintf(m.out, "  ok  %s: %s shows %s\n", owner.id(), page.path, strings.Join(want, ", "))
		}
	}
	return nil
}

// checkEmpty checks that nothing is left in the topology.
func (m *machine) checkEmpty(ctx context.Context) error {
	cells, err := m.ask(ctx, "GetCellInfoNames")
	if err != nil {
		return err
	}
	keyspaces, err := parsed[[]keyspaceRecord](m.ask(ctx, "GetKeyspaces"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(cells) != "" || len(keyspaces) > 0 {
		return fmt.Errorf("the topology still has cells %q and keyspaces %v", cells, keyspaces)
	}
	fmt.Fprintln(m.out, "  ok  vtctld: no cell and no keyspace is left")
	return nil
}
