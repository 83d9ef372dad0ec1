// Package monitoring holds the tests of the alerts, their runbooks and the dashboard of the chart. It is a module of its own, so that the
// product links nothing of Prometheus.
package monitoring
