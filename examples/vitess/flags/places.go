package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// places says where on this machine is what manifests mean: the ports of Pods, the names of Services, the paths of volumes.
type places struct {
	tree      *tree
	directory string
	ports     map[string]int // By Pod and port of a container.
}

// port returns the port here for a port of a Pod.
func (p *places) port(pod string, containerPort int) (int, error) {
	key := fmt.Sprintf("%s:%d", pod, containerPort)
	if p.ports[key] == 0 {
		free, err := freePort()
		if err != nil {
			return 0, err
		}
		p.ports[key] = free
	}
	return p.ports[key], nil
}

func (p *places) address(pod string, containerPort int) (string, error) {
	port, err := p.port(pod, containerPort)
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// service returns the address here of a port of a Service: that of its first Pod.
func (p *places) service(namespace, name string, port int) (string, error) {
	for _, s := range p.tree.of("Service") {
		if s.name() != name || s.namespace() != namespace {
			continue
		}
		owner := p.selected(s)
		if owner == nil {
			return "", fmt.Errorf("%s selects no Pods that the operator writes", s.id())
		}
		for _, entry := range list(s.at("spec", "ports")) {
			if number(at(entry, "port")) == port {
				return p.address(podName(owner, 0), containerPort(owner, at(entry, "targetPort"), port))
			}
		}
		return "", fmt.Errorf("%s has no port %d", s.id(), port)
	}
	return "", fmt.Errorf("the operator writes no Service %s in namespace %s", name, namespace)
}

// selected returns the first Deployment or StatefulSet whose Pods a Service selects.
func (p *places) selected(service object) object {
	selector, _ := service.at("spec", "selector").(map[string]any)
	for _, o := range p.tree.objects {
		labels, _ := o.at("spec", "template", "metadata", "labels").(map[string]any)
		if podSpec(o) == nil || labels == nil || o.kind() == "Job" || o.namespace() != service.namespace() {
			continue
		}
		matches := true
		for key, value := range selector {
			matches = matches && labels[key] == value
		}
		if matches {
			return o
		}
	}
	return nil
}

func podName(o object, ordinal int) string { return fmt.Sprintf("%s-%d", o.name(), ordinal) }

func number(value any) int {
	number, _ := value.(float64)
	return int(number)
}

// containerPort resolves the port of a Service or of a probe, which may be the name of a container's port.
func containerPort(o object, target any, otherwise int) int {
	switch target := target.(type) {
	case float64:
		return int(target)
	case string:
		for _, entry := range list(podSpec(o)["containers"]) {
			for _, port := range list(at(entry, "ports")) {
				if text(at(port, "name")) == target {
					return number(at(port, "containerPort"))
				}
			}
		}
	}
	return otherwise
}

var (
	clusterHost = regexp.MustCompile(`([a-z0-9][a-z0-9.-]*)\.svc:(\d+)`)
	anyHost     = regexp.MustCompile(`\b0\.0\.0\.0:(\d+)`)
	portFlag    = regexp.MustCompile(`^(--(?:[\w-]+-)?port=)(\d+)$`)
	variable    = regexp.MustCompile(`\$\((\w+)\)`)
)

// args returns the arguments of a Pod's container for this machine: only addresses, ports and paths differ.
func (p *places) args(pod string, i invocation) ([]string, error) {
	r := replacer{places: p, pod: pod, invocation: i}
	var args []string
	for _, arg := range i.args {
		args = append(args, r.replace(arg))
	}
	return args, r.err
}

// replacer replaces what is different here. It keeps the first error.
type replacer struct {
	*places
	pod string
	invocation
	err error
}

func (r *replacer) replace(arg string) string {
	arg = variable.ReplaceAllStringFunc(arg, r.variable)
	arg = clusterHost.ReplaceAllStringFunc(arg, r.host)
	arg = anyHost.ReplaceAllStringFunc(arg, func(match string) string {
		return r.own(anyHost.FindStringSubmatch(match)[1], "127.0.0.1:")
	})
	if m := portFlag.FindStringSubmatch(arg); m != nil {
		arg = r.own(m[2], m[1])
	}
	for _, entry := range list(r.container["volumeMounts"]) {
		path, name := text(at(entry, "mountPath")), text(at(entry, "name"))
		if before, after, found := strings.Cut(arg, "="+path); found && (after == "" || after[0] == '/') {
			directory := filepath.Join(r.directory, r.pod, name)
			r.keep(makeDirectory(directory))
			arg = before + "=" + directory + after
		}
	}
	return arg
}

func (r *replacer) keep(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", r.pod, err)
	}
}

// own returns a prefix and the port here for a port of this Pod.
func (r *replacer) own(port, prefix string) string {
	wanted, err := strconv.Atoi(port)
	r.keep(err)
	own, err := r.port(r.pod, wanted)
	r.keep(err)
	return prefix + strconv.Itoa(own)
}

// variable replaces a variable of the container.
func (r *replacer) variable(match string) string {
	name := variable.FindStringSubmatch(match)[1]
	for _, entry := range list(r.container["env"]) {
		switch {
		case text(at(entry, "name")) != name:
		case text(at(entry, "valueFrom", "fieldRef", "fieldPath")) == "metadata.name":
			return r.pod
		default:
			return text(at(entry, "value"))
		}
	}
	r.keep(fmt.Errorf("%s is no variable of the container", match))
	return match
}

// host replaces SERVICE.NAMESPACE.svc:PORT and POD.SERVICE.NAMESPACE.svc:PORT.
func (r *replacer) host(match string) string {
	m := clusterHost.FindStringSubmatch(match)
	port, err := strconv.Atoi(m[2])
	r.keep(err)
	labels := strings.Split(m[1], ".")
	address := match
	switch len(labels) {
	case 2:
		address, err = r.service(labels[1], labels[0], port)
	case 3:
		address, err = r.places.address(labels[0], port)
	default:
		err = fmt.Errorf("%s is no address of a Service or a Pod", match)
	}
	r.keep(err)
	return address
}

// newPlaces returns places in a new temporary directory.
func newPlaces(t *tree) (*places, error) {
	directory, err := os.MkdirTemp("", "vitess-flags")
	if err == nil {
		err = os.Chmod(directory, 0o755)
	}
	return &places{tree: t, directory: directory, ports: map[string]int{}}, err
}

// workloadsOf returns the workloads of a kind whose first container runs a program.
func workloadsOf(t *tree, kind, program string) []object {
	return slices.DeleteFunc(t.of(kind), func(o object) bool { return mainOf(o).program != program })
}

// mainOf returns the command line of the first container.
func mainOf(o object) invocation {
	spec := podSpec(o)
	for _, i := range invocationsOf(o) {
		if i.where == text(at(list(spec["containers"])[0], "name")) {
			return i
		}
	}
	return invocation{owner: o}
}
