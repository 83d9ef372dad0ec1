package v1alpha1

import (
	"path"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default limits on one call of a script.
const (
	DefaultScriptTimeout = 2 * time.Second
	DefaultScriptMemory  = 256 << 20
)

// Script is a hook that runs in a worker process of the host.
// +kubebuilder:validation:XValidation:rule="has(self.path) != has(self.inline)",message="give exactly one of path, a file of scriptSources, and inline, the script's text"
// +kubebuilder:validation:XValidation:rule="!has(self.inline) || has(self.engine)",message="an inline script has no file name to tell its language by: set engine to JavaScript, Jsonnet or CEL"
// +kubebuilder:validation:XValidation:rule="!has(self.path) || has(self.engine) || self.path.matches('[.](js|mjs|cjs|ts|jsonnet|libsonnet|cel|cel[.]yaml)$')",message="the path does not tell the language: end it in .js, .mjs, .cjs, .ts, .jsonnet, .libsonnet, .cel or .cel.yaml, or set engine to JavaScript, Jsonnet or CEL",fieldPath=".path"
// +kubebuilder:validation:XValidation:rule="!has(self.signature) || self.signature != 'HTTPContext' || (has(self.engine) ? self.engine == 'JavaScript' : !has(self.path) || self.path.matches('[.](js|mjs|cjs|ts)$'))",message="HTTPContext is the convention of the Node.js function server, for JavaScript only: leave signature out",fieldPath=".signature"
type Script struct {
	// Path is the main file in the tree of scriptSources.
	// +optional
	Path RelativePath `json:"path,omitempty"`
	// Inline is the script's text, in place of path. It may import files of
	// scriptSources.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262144
	Inline string `json:"inline,omitempty"`
	// Engine is the language. Defaults to that of the path's extension: .js, .mjs,
	// .cjs and .ts are JavaScript, .jsonnet and .libsonnet are Jsonnet, .cel and
	// .cel.yaml are CEL.
	// +optional
	// +kubebuilder:validation:Enum=JavaScript;Jsonnet;CEL
	Engine ScriptEngine `json:"engine,omitempty"`
	// Function is the name of the export to call. Defaults to the export with the
	// name of the hook, or else the default export.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_$][A-Za-z0-9_$]*$')",message="must be the name of an export, such as sync or finalizePods"
	Function string `json:"function,omitempty"`
	// Signature is the calling convention of the function: Request takes the hook's
	// request and returns its response; HTTPContext, for hooks written for the Node.js
	// function server, takes context.request.body and returns {status, body}. Defaults
	// to Request.
	// +optional
	// +kubebuilder:validation:Enum=Request;HTTPContext
	Signature ScriptSignature `json:"signature,omitempty"`
	// Parameters is any JSON value. The script reads it as request.parameters, so
	// that several definitions can share a script.
	// +optional
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
	// Timeout of one call: more than 0s and at most 30s. Defaults to 2s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$') && duration(self) > duration('0s') && duration(self) <= duration('30s')",message="must be a duration of more than 0s and at most 30s, such as 500ms or 5s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Limits bound what one call may use.
	// +optional
	Limits ScriptLimits `json:"limits,omitzero"`
}

// ScriptLimits bound what one call of a script may use.
type ScriptLimits struct {
	// Memory is the memory that a call may use in addition to an idle worker, from
	// 64Mi to 1Gi. Defaults to 256Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self)) && quantity(string(self)).compareTo(quantity('64Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0",message="must be a quantity from 64Mi to 1Gi"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// ScriptEngine is a language that scripts are written in.
type ScriptEngine string

// JavaScriptEngine is the one for which there is HTTPContextSignature.
const JavaScriptEngine ScriptEngine = "JavaScript"

// ScriptSignature is a calling convention for scripts.
type ScriptSignature string

// The calling conventions.
const (
	RequestSignature     ScriptSignature = "Request"
	HTTPContextSignature ScriptSignature = "HTTPContext"
)

// CallSignature returns the calling convention, Request by default.
func (s *Script) CallSignature() ScriptSignature {
	if s.Signature == "" {
		return RequestSignature
	}
	return s.Signature
}

// httpEndings are the extensions of files that HTTPContext is for.
var httpEndings = []string{".js", ".mjs", ".cjs", ".ts"}

// MayBeHTTPContext reports whether HTTPContext is for the language of the script.
func (s *Script) MayBeHTTPContext() bool {
	if s.Engine != "" {
		return s.Engine == JavaScriptEngine
	}
	return slices.Contains(httpEndings, path.Ext(string(s.Path)))
}

// CallTimeout returns the timeout of one call.
func (s *Script) CallTimeout() time.Duration {
	if s.Timeout == nil {
		return DefaultScriptTimeout
	}
	return s.Timeout.Duration
}

// MemoryLimit returns the memory that a call may use in addition to an idle worker, in bytes.
func (s *Script) MemoryLimit() int64 {
	if s.Limits.Memory == nil {
		return DefaultScriptMemory
	}
	return s.Limits.Memory.Value()
}
