package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// auditLog is the name of the API server's audit log in the control plane's folder.
const auditLog = "audit.log"

// auditTimeout is how long the API server may take to write what it has answered.
const auditTimeout = 30 * time.Second

// Request is one that the API server has answered, or a watch that it has begun to answer.
type Request struct {
	ID          string
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	Group       string
	Version     string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	URI         string
	UserAgent   string
	User        string
	// ImpersonatedUser is as whom User makes the request, or empty.
	ImpersonatedUser string
	Code             int
	// Time is when it was received, and Done when it was answered.
	Time, Done  time.Time
	Annotations map[string]string
	// Sent and Answered are the bodies of a write, if the control plane has Options.AuditBodies.
	Sent, Answered json.RawMessage
}

func (r Request) String() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Resource == "" {
		return fmt.Sprintf("%s %s %d (%s)", r.Verb, r.URI, r.Code, r.UserAgent)
	}
	return fmt.Sprintf("%s %s %s/%s %d (%s)", r.Verb, resource, r.Namespace, r.Name, r.Code, r.UserAgent)
}

// Requests are in the order in which the API server finished them.
type Requests []Request

// Filter keeps those for which keep holds.
func (r Requests) Filter(keep func(Request) bool) Requests {
	var kept Requests
	for _, request := range r {
		if keep(request) {
			kept = append(kept, request)
		}
	}
	return kept
}

// Verbs keeps those with one of the verbs.
func (r Requests) Verbs(verbs ...string) Requests {
	return r.Filter(func(request Request) bool { return slices.Contains(verbs, request.Verb) })
}

// Reads keeps those that look at something.
func (r Requests) Reads() Requests { return r.Verbs("get", "list", "watch") }

// Writes keeps those that change something, or mean to. What creates a review of access asks only.
func (r Requests) Writes() Requests {
	return r.Verbs("create", "update", "patch", "delete", "deletecollection").Filter(func(request Request) bool {
		return request.Group != "authorization.k8s.io"
	})
}

// Of keeps those for a resource, subresources included.
func (r Requests) Of(group, resource string) Requests {
	return r.Filter(func(request Request) bool { return request.Group == group && request.Resource == resource })
}

// In keeps those for a namespace.
func (r Requests) In(namespace string) Requests {
	return r.Filter(func(request Request) bool { return request.Namespace == namespace })
}

// String lists them one a line, for a test's message.
func (r Requests) String() string {
	lines := make([]string, len(r))
	for i, request := range r {
		lines[i] = request.String()
	}
	return strings.Join(lines, "\n")
}

// Mark is a moment in the audit log.
type Mark int64

// Mark is the present moment: what was answered before is before it.
func (c *Cluster) Mark(ctx context.Context) (Mark, error) {
	// The log is long. What it holds already was answered before, and the request that ends the reading comes after it.
	info, err := os.Stat(filepath.Join(c.Dir, auditLog))
	if err != nil {
		return 0, fmt.Errorf("audit log: %w", err)
	}
	_, end, err := c.auditUntilNow(ctx, Mark(info.Size()))
	return end, err
}

// Requests are those since the mark whose user agent contains the given text. The log leaves out the API server's talk
// with itself and what the control plane's own parts read; what they write is in it.
func (c *Cluster) Requests(ctx context.Context, since Mark, userAgent string) (Requests, error) {
	lines, _, err := c.auditUntilNow(ctx, since)
	if err != nil {
		return nil, err
	}
	events, err := parseAudit(lines)
	if err != nil {
		return nil, err
	}
	return requestsOf(events, userAgent), nil
}

// OpenWatches are the watches on a resource that programs whose user agent contains the given text hold open.
func (c *Cluster) OpenWatches(ctx context.Context, userAgent, group, resource string) (Requests, error) {
	lines, _, err := c.auditUntilNow(ctx, 0)
	if err != nil {
		return nil, err
	}
	events, err := parseAudit(lines)
	if err != nil {
		return nil, err
	}
	return openWatches(events, userAgent).Of(group, resource), nil
}

// auditUntilNow returns the log from a mark on, and where it ends. It makes a request of its own and waits for that to
// be in the log: what was answered before is then there too.
func (c *Cluster) auditUntilNow(ctx context.Context, since Mark) ([]byte, Mark, error) {
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	barrier := rand.Text()
	request := c.rest.RESTClient().Get().AbsPath("/version").Param("barrier", barrier)
	if err := request.Do(ctx).Error(); err != nil {
		return nil, 0, fmt.Errorf("audit log: %w", err)
	}
	var lines []byte
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		content, err := readFrom(filepath.Join(c.Dir, auditLog), int64(since))
		if err != nil {
			return false, err
		}
		at := bytes.Index(content, []byte(barrier))
		if at < 0 {
			return false, nil
		}
		end := bytes.IndexByte(content[at:], '\n')
		lines = content[:max(0, at+end+1)]
		return end >= 0, nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("audit log: %w", err)
	}
	return lines, since + Mark(len(lines)), nil
}

func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}

// The stages of a request that the log knows. A watch has both, everything else only the second.
const (
	stageStarted  = "ResponseStarted"
	stageComplete = "ResponseComplete"
)

// auditEvent is what is of interest in a line of the log.
type auditEvent struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ImpersonatedUser struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time         `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time         `json:"stageTimestamp"`
	Annotations              map[string]string `json:"annotations"`
	RequestObject            json.RawMessage   `json:"requestObject"`
	ResponseObject           json.RawMessage   `json:"responseObject"`
}

func (e auditEvent) request() Request {
	return Request{
		ID:          e.AuditID,
		Verb:        e.Verb,
		Group:       e.ObjectRef.APIGroup,
		Version:     e.ObjectRef.APIVersion,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		URI:         e.RequestURI,
		UserAgent:   e.UserAgent,
		User:        e.User.Username,

		ImpersonatedUser: e.ImpersonatedUser.Username,
		Code:             e.ResponseStatus.Code,
		Time:             e.RequestReceivedTimestamp,
		Done:             e.StageTimestamp,
		Annotations:      e.Annotations,
		Sent:             e.RequestObject,
		Answered:         e.ResponseObject,
	}
}

// ended holds for the end of a watch that had begun, which counted when it did.
func (e auditEvent) ended() bool {
	return e.Verb == "watch" && e.Stage == stageComplete && e.ResponseStatus.Code < 300
}

func parseAudit(lines []byte) ([]auditEvent, error) {
	var events []auditEvent
	decoder := json.NewDecoder(bytes.NewReader(lines))
	for {
		var event auditEvent
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		events = append(events, event)
	}
}

func requestsOf(events []auditEvent, userAgent string) Requests {
	var requests Requests
	for _, event := range events {
		if !event.ended() && strings.Contains(event.UserAgent, userAgent) {
			requests = append(requests, event.request())
		}
	}
	return requests
}

// openWatches are the watches that began and did not end.
func openWatches(events []auditEvent, userAgent string) Requests {
	ended := map[string]bool{}
	for _, event := range events {
		if event.Stage == stageComplete {
			ended[event.AuditID] = true
		}
	}
	return requestsOf(events, userAgent).Filter(func(request Request) bool {
		return request.Verb == "watch" && !ended[request.ID]
	})
}
