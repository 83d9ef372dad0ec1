// Command rota answers the sync hook of examples/fallback, as its sync.js does. It is no part of Libretto.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	address := flag.String("address", ":8080", "address to serve on")
	flag.Parse()
	if err := serve(*address); err != nil {
		log.Fatal(err)
	}
}

// serve serves the hooks until the process is interrupted.
func serve(address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server := &http.Server{Addr: address, Handler: newHandler(), ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			log.Print(err)
		}
	})
	defer stopped()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// rota is the parent. Hooks receive more than they need: the rest is ignored.
type rota struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		People []string  `json:"people"`
		Weeks  int       `json:"weeks"`
		Away   []absence `json:"away"`
	} `json:"spec"`
}

type absence struct {
	Person string `json:"person"`
	Week   int    `json:"week"`
}

// response is the answer. Version v2 of the hook refuses other fields.
type response struct {
	Status   status  `json:"status"`
	Children []child `json:"children"`
}

type status struct {
	Weeks      int         `json:"weeks"`
	Conditions []condition `json:"conditions"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type child struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Data       map[string]string `json:"data"`
}

// maxRequest is how large a request may be: objects have 1.5 MiB at most, and a Rota has one child.
const maxRequest = 8 << 20

func newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /sync", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Parent rota `json:"parent"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // The host shows it in the event of the Rota.
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(sync(request.Parent)); err != nil {
			log.Print(err)
		}
	})
	return mux
}

// sync returns who is on duty in which week.
func sync(parent rota) response {
	people, data, turn := parent.Spec.People, map[string]string{}, 0
	var empty []string
	for week := 1; week <= parent.Spec.Weeks; week++ {
		i := parent.next(turn, week)
		if i < 0 {
			empty = append(empty, fmt.Sprint(week))
			continue
		}
		data[fmt.Sprintf("week-%03d", week)] = people[i]
		turn = i + 1
	}
	ready := condition{"Ready", "True", "Filled", "somebody is on duty in every week"}
	if len(empty) > 0 {
		ready = condition{"Ready", "False", "NobodyThere", "nobody is there in weeks " + strings.Join(empty, ", ")}
	}
	name := map[string]string{"name": parent.Metadata.Name + "-rota"}
	return response{
		Status:   status{Weeks: len(data), Conditions: []condition{ready}},
		Children: []child{{APIVersion: "v1", Kind: "ConfigMap", Metadata: name, Data: data}},
	}
}

// next returns the index of the first one from turn on who is there, or -1.
func (r rota) next(turn, week int) int {
	for n := range r.Spec.People {
		i := (turn + n) % len(r.Spec.People)
		if !slices.Contains(r.Spec.Away, absence{r.Spec.People[i], week}) {
			return i
		}
	}
	return -1
}
