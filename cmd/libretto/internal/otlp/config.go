package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is how long an export may take, its retries included.
const defaultTimeout = 10 * time.Second

// prefix is that of the variables of the exporter. Each exists for traces alone, too: OTEL_EXPORTER_OTLP_TRACES_HEADERS.
const prefix = "OTEL_EXPORTER_OTLP_"

// config is what the environment says about the collector.
type config struct {
	endpoint *url.URL
	header   http.Header
	tls      *tls.Config
	timeout  time.Duration
	gzip     bool
}

// environment reads the variables of the process.
type environment func(string) string

// exporter returns a variable of the exporter: the one for traces, or the one for all signals.
func (env environment) exporter(name string) string {
	return cmp.Or(env(prefix+"TRACES_"+name), env(prefix+name))
}

// isOn reports whether the environment asks for traces.
func (env environment) isOn() bool {
	return env.exporter("ENDPOINT") != "" && !strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") && env("OTEL_TRACES_EXPORTER") != "none"
}

// checkNumbers returns an error for a number that the SDK would replace by its default without a word.
func (env environment) checkNumbers() error {
	var errs []error
	for _, name := range []string{
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT",
	} {
		if _, err := strconv.Atoi(strings.TrimSpace(cmp.Or(env(name), "1"))); err != nil {
			errs = append(errs, fmt.Errorf("%s must be a whole number", name))
		}
	}
	return errors.Join(errs...)
}

// config returns what the variables say, as the specification of the OTLP exporter has them. Errors name variables and no values, as
// headers are secret and endpoints may hold a password.
func (env environment) config() (config, error) {
	c := config{timeout: defaultTimeout, header: http.Header{}}
	endpoint, endpointErr := env.endpoint()
	c.endpoint = endpoint
	errs := []error{endpointErr, env.checkNumbers()}
	if protocol := env.exporter("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		errs = append(errs, fmt.Errorf("%sPROTOCOL: only http/protobuf is spoken here, which collectors serve at port 4318", prefix))
	}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		errs = append(errs, errors.New("OTEL_TRACES_EXPORTER must be otlp or none"))
	}
	switch env.exporter("COMPRESSION") {
	case "gzip":
		c.gzip = true
	case "", "none":
	default:
		errs = append(errs, fmt.Errorf("%sCOMPRESSION must be gzip or none", prefix))
	}
	if text := env.exporter("TIMEOUT"); text != "" {
		milliseconds, err := strconv.ParseUint(text, 10, 31)
		if c.timeout = time.Duration(milliseconds) * time.Millisecond; err != nil || c.timeout == 0 {
			errs = append(errs, fmt.Errorf("%sTIMEOUT must be a number of milliseconds, such as 10000", prefix))
		}
	}
	for pair := range strings.SplitSeq(env.exporter("HEADERS"), ",") {
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		switch {
		case strings.TrimSpace(pair) == "":
		case !found || err != nil || strings.TrimSpace(name) == "":
			errs = append(errs, fmt.Errorf("%sHEADERS must be name=value,name=value, with values as in URLs", prefix))
		default:
			c.header.Set(strings.TrimSpace(name), value)
		}
	}
	var tlsErr error
	c.tls, tlsErr = env.tlsConfig()
	return c, errors.Join(append(errs, tlsErr)...)
}

// endpoint returns where traces are sent to: the endpoint of all signals has a path for each.
func (env environment) endpoint() (*url.URL, error) {
	text, path := env(prefix+"TRACES_ENDPOINT"), ""
	if text == "" {
		text, path = env(prefix+"ENDPOINT"), "v1/traces"
	}
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return nil, fmt.Errorf("%sENDPOINT must be a URL, such as http://collector:4318", prefix)
	}
	return endpoint.JoinPath(path), nil
}

// tlsConfig returns how the collector is trusted, and what it is shown.
func (env environment) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{}
	if file := env.exporter("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if c.RootCAs = x509.NewCertPool(); err != nil || !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%sCERTIFICATE must be a file with certificates in PEM: %w", prefix, cmp.Or(err, errors.New("it has none")))
		}
	}
	certificate, key := env.exporter("CLIENT_CERTIFICATE"), env.exporter("CLIENT_KEY")
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%sCLIENT_CERTIFICATE and %sCLIENT_KEY: %w", prefix, prefix, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
