package serve

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// lowestLevel is below all levels of zap that messages have. Which are written is decided above zap, as definitions have a level of their
// own.
const lowestLevel zapcore.Level = -128

// logFormat returns the format of the log: the one that was asked for, or else what reads well on a terminal, and what programs can read
// elsewhere.
func logFormat(asked string, isTerminal func() bool) string {
	switch {
	case asked != "":
		return asked
	case isTerminal != nil && isTerminal():
		return "console"
	}
	return "json"
}

// newLogger returns a logger that writes to w in that format, up to a verbosity.
func newLogger(w io.Writer, format string, level int) (logr.Logger, error) {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeLevel = encodeLevel(zapcore.LowercaseLevelEncoder)
	var encoder zapcore.Encoder
	switch format {
	case "json":
		encoder = zapcore.NewJSONEncoder(config)
	case "console":
		config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		config.EncodeLevel = encodeLevel(zapcore.CapitalLevelEncoder)
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return logr.Logger{}, fmt.Errorf("--logging-format %q: must be json or console", format)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), lowestLevel)
	return verbosity.Limited(zapr.NewLogger(zap.New(core)), level), nil
}

// encodeLevel names every verbosity above 0 debug: zap has no name for those above 1.
func encodeLevel(names zapcore.LevelEncoder) zapcore.LevelEncoder {
	return func(level zapcore.Level, to zapcore.PrimitiveArrayEncoder) { names(max(level, zapcore.DebugLevel), to) }
}

// logClientGo sends the log of client-go to log, up to a verbosity. Some of it asks klog's own flag.
func logClientGo(log logr.Logger, level int) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetLogger(log.WithName("client-go"))
	return flags.Set("v", strconv.Itoa(level))
}
