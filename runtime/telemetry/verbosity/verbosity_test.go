package verbosity_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// everything returns a logger like that of the program, which writes each message with its level.
func everything(out *bytes.Buffer) logr.Logger {
	config := zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", NameKey: "name", EncodeLevel: zapcore.LowercaseLevelEncoder, ConsoleSeparator: " "}
	return zapr.NewLogger(zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(config), zapcore.AddSync(out), zapcore.Level(-127))))
}

func logAll(log logr.Logger) {
	log.Info("0")
	log.V(verbosity.Decisions).Info("1")
	log.V(verbosity.Values).Info("4")
	log.V(6).Info("6")
}

// TestLevels checks which messages are written with a verbosity of the process and one of a definition.
func TestLevels(t *testing.T) {
	for name, c := range map[string]struct {
		reason            string
		process, own      int
		derived           bool
		want, wantProcess string
	}{
		"default":   {reason: "A definition that asks for nothing.", want: "0", wantProcess: "0"},
		"listened":  {reason: "The definition is listened to, and nothing else.", own: 4, want: "0 1 4", wantProcess: "0"},
		"derived":   {reason: "Values and names keep the level.", own: 4, derived: true, want: "0 1 4", wantProcess: "0"},
		"quiet":     {reason: "A process that logs no events does not log those of its definitions.", process: -1},
		"less":      {reason: "A definition can't be silenced.", process: 4, own: 1, want: "0 1 4", wantProcess: "0 1 4"},
		"client-go": {reason: "The process logs more than a definition can ask for.", process: 6, want: "0 1 4 6", wantProcess: "0 1 4 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var out bytes.Buffer
			written := func(log logr.Logger) string {
				out.Reset()
				logAll(log)
				var messages []string
				for line := range strings.Lines(out.String()) {
					messages = append(messages, strings.Fields(line)[1])
				}
				return strings.Join(messages, " ")
			}
			process, level := verbosity.Limited(everything(&out), c.process), &verbosity.Level{}
			log := verbosity.Raised(process, level)
			if c.derived {
				log = log.WithValues("definition", "a")
			}
			level.Set(c.own) // After the logger is made: it changes at any time.
			if diff := cmp.Diff(c.want, written(log)); diff != "" {
				t.Errorf("of the definition (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantProcess, written(process)); diff != "" {
				t.Errorf("of the process (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWarn checks that warnings are distinguished from messages, and that a logger without a sink takes them.
func TestWarn(t *testing.T) {
	var out bytes.Buffer
	log := verbosity.Raised(verbosity.Limited(everything(&out), 0), &verbosity.Level{})
	verbosity.Warn(log, "hot loop")
	if got, want := strings.TrimSpace(out.String()), "warn hot loop"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	verbosity.Warn(verbosity.Raised(verbosity.Limited(logr.Logger{}, 4), &verbosity.Level{}), "nowhere")
}
