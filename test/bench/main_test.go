package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// serverArgument is the first argument of a process that shall be the webhook.
const serverArgument = "__webhook"

func TestMain(m *testing.M) {
	worker.Main(standard.Scripts)
	if len(os.Args) > 1 && os.Args[1] == serverArgument {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "webhook:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve answers the hook over HTTP until standard input ends, and says on standard output where.
func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	err = http.Serve(listener, http.HandlerFunc(answerHook))
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// answerHook is what a webhook in Go does, as its author would write it.
func answerHook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request := map[string]any{}
	if err := utiljson.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := enginetest.Reference(enginetest.StatefulSet, request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
