package main

import (
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger that writes to w in that format, up to a verbosity.
func newLogger(w io.Writer, format string, verbosity int) (logr.Logger, error) {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	var encoder zapcore.Encoder
	switch format {
	case "json":
		encoder = zapcore.NewJSONEncoder(config)
	case "console":
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return logr.Logger{}, fmt.Errorf("--logging-format %q: must be json or console", format)
	}
	level := zap.NewAtomicLevelAt(zapcore.Level(-verbosity)) // logr's V(n) is zap's level -n.
	return zapr.NewLogger(zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))), nil
}
