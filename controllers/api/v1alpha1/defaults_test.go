package v1alpha1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDefaults shows the value in force where a field is absent, and where it is given.
// Constants are those of section 1 of the specification; those of scripts are in docs/guide/languages.md.
func TestDefaults(t *testing.T) {
	service := func(s ServiceReference, path string) *Webhook {
		s.Name, s.Namespace = "hooks", "ns"
		return &Webhook{Service: &s, Path: &path}
	}
	for name, c := range map[string]struct{ got, want any }{
		"hook version":                   {(&Hook{}).WireVersion(), HookV1},
		"hook version given":             {(&Hook{Version: HookV2}).WireVersion(), HookV2},
		"map hook version":               {(&MapHook{}).Hook().WireVersion(), HookV2},
		"no map hook":                    {(*MapHook)(nil).Hook(), (*Hook)(nil)},
		"v1 is loose":                    {(&Hook{Webhook: &Webhook{}}).ResponseMode(), ResponseLoose},
		"v2 is strict":                   {(&Hook{Version: HookV2, Webhook: &Webhook{}}).ResponseMode(), ResponseStrict},
		"script v2 is strict":            {(&Hook{Version: HookV2, Script: &Script{}}).ResponseMode(), ResponseStrict},
		"mode given":                     {(&Hook{Version: HookV2, Webhook: &Webhook{ResponseUnMarshallMode: new(ResponseLoose)}}).ResponseMode(), ResponseLoose},
		"list needed by v1":              {(&Hook{Webhook: &Webhook{}}).MayOmitList(), false},
		"list needed by script":          {(&Hook{Script: &Script{}}).MayOmitList(), false},
		"list not needed":                {(&Hook{Webhook: &Webhook{ResponseUnMarshallMode: new(ResponseLoose)}}).MayOmitList(), true},
		"fallback is read like a script": {(&Hook{Version: HookV2, Script: &Script{}, Fallback: WebhookBackend, Webhook: &Webhook{ResponseUnMarshallMode: new(ResponseLoose)}}).MayOmitList(), false},
		"shadowed webhook serves":        {(&Hook{Script: &Script{}, Shadow: ScriptBackend, Webhook: &Webhook{}}).Serving(), WebhookBackend},
		"shadowed script serves":         {(&Hook{Script: &Script{}, Shadow: WebhookBackend, Webhook: &Webhook{}}).Serving(), ScriptBackend},
		"script serves":                  {(&Hook{Script: &Script{}, Fallback: WebhookBackend, Webhook: &Webhook{}}).Serving(), ScriptBackend},
		"webhook serves":                 {(&Hook{Webhook: &Webhook{}}).Serving(), WebhookBackend},
		"nothing serves":                 {(&Hook{}).Serving(), HookBackend("")},
		"token lifetime":                 {(&ServiceAccountToken{}).Lifetime(), time.Hour},
		"token lifetime given":           {(&ServiceAccountToken{ExpirationSeconds: new(int64(600))}).Lifetime(), 10 * time.Minute},
		"address by url":                 {(&Webhook{URL: new("http://a"), Service: &ServiceReference{}, Path: new("/")}).Address(), "http://a"},
		"address by service":             {service(ServiceReference{}, "/sync").Address(), "http://hooks.ns:80/sync"},
		"https keeps port 80":            {service(ServiceReference{Protocol: new("https")}, "/sync").Address(), "https://hooks.ns:80/sync"},
		"service given whole":            {service(ServiceReference{Protocol: new("https"), Port: new(int32(8443))}, "").Address(), "https://hooks.ns:8443"},
		"no address":                     {(&Webhook{}).Address(), ""},
		"webhook timeout":                {(&Webhook{}).CallTimeout(), 10 * time.Second},
		"webhook timeout zero":           {(&Webhook{Timeout: &metav1.Duration{}}).CallTimeout(), 10 * time.Second},
		"webhook timeout below":          {(&Webhook{Timeout: &metav1.Duration{Duration: -1}}).CallTimeout(), 10 * time.Second},
		"webhook timeout given":          {(&Webhook{Timeout: &metav1.Duration{Duration: time.Second}}).CallTimeout(), time.Second},
		"script timeout":                 {(&Script{}).CallTimeout(), 2 * time.Second},
		"script timeout given":           {(&Script{Timeout: &metav1.Duration{Duration: time.Second}}).CallTimeout(), time.Second},
		"script memory":                  {(&Script{}).MemoryLimit(), int64(256 << 20)},
		"script memory given":            {(&Script{Limits: ScriptLimits{Memory: new(resource.MustParse("64Mi"))}}).MemoryLimit(), int64(64 << 20)},
		"script signature":               {(&Script{}).CallSignature(), RequestSignature},
		"script signature given":         {(&Script{Signature: HTTPContextSignature}).CallSignature(), HTTPContextSignature},
		"CA key":                         {(&CAReference{}).DataKey(), "ca.crt"},
		"CA key given":                   {(&CAReference{Key: "x"}).DataKey(), "x"},
		"authorization":                  {(&Authorization{}).Scheme(), "Bearer"},
		"no credentials":                 {(&Credentials{}).Empty(), true},
		"credentials":                    {(&Credentials{BasicAuth: &BasicAuth{}}).Empty(), false},
		"child method":                   {(&CompositeChildRule{}).UpdateMethod(), ChildUpdateOnDelete},
		"child method left out":          {(&CompositeChildRule{UpdateStrategy: &ChildUpdateStrategy{}}).UpdateMethod(), ChildUpdateOnDelete},
		"child method given":             {(&CompositeChildRule{UpdateStrategy: &ChildUpdateStrategy{Method: ChildUpdateRollingInPlace}}).UpdateMethod(), ChildUpdateRollingInPlace},
		"attachment method":              {(&DecoratorAttachmentRule{}).UpdateMethod(), ChildUpdateOnDelete},
		"attachment method left out":     {(&DecoratorAttachmentRule{UpdateStrategy: &AttachmentUpdateStrategy{}}).UpdateMethod(), ChildUpdateOnDelete},
		"attachment rolling":             {(&DecoratorAttachmentRule{UpdateStrategy: &AttachmentUpdateStrategy{Method: ChildUpdateRollingRecreate}}).UpdateMethod(), ChildUpdateRecreate},
		"attachment rolling inplace":     {(&DecoratorAttachmentRule{UpdateStrategy: &AttachmentUpdateStrategy{Method: ChildUpdateRollingInPlace}}).UpdateMethod(), ChildUpdateInPlace},
		"output method":                  {(&MapOutputRule{}).UpdateMethod(), ChildUpdateOnDelete},
		"output method given":            {(&MapOutputRule{UpdateStrategy: &OutputUpdateStrategy{Method: ChildUpdateInPlace}}).UpdateMethod(), ChildUpdateInPlace},
		"apply by host":                  {ApplySettings{}.Strategy("", DynamicApply), DynamicApply},
		"apply by definition":            {ApplySettings{}.Strategy(ServerSideApply, DynamicApply), ServerSideApply},
		"apply by rule":                  {ApplySettings{ApplyStrategy: DynamicApply}.Strategy(ServerSideApply, ServerSideApply), DynamicApply},
		"force":                          {ApplySettings{}.Force(), true},
		"no force":                       {ApplySettings{ForceConflicts: new(false)}.Force(), false},
		"revision fields":                {(&CompositeControllerSpec{}).RevisionFields(), []string{"spec"}},
		"revision limit":                 {(&CompositeControllerSpec{}).RevisionLimit(), 10},
		"revision limit given":           {(&CompositeControllerSpec{RevisionHistoryLimit: new(int32(0))}).RevisionLimit(), 0},
		"resync":                         {(&DefinitionSettings{}).ResyncPeriod(), time.Duration(0)},
		"resync given":                   {(&DefinitionSettings{ResyncPeriodSeconds: new(int32(5))}).ResyncPeriod(), 5 * time.Second},
		"composite finalizer":            {(&CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Finalizer(), "metacontroller.io/compositecontroller-a"},
		"decorator finalizer":            {(&DecoratorController{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Finalizer(), "metacontroller.io/decoratorcontroller-a"},
		"map finalizer":                  {(&MapController{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Finalizer(), "metacontroller.io/mapcontroller-a"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDataKeys shows the keys of Secrets that hold two values.
func TestDataKeys(t *testing.T) {
	if cert, key := (&ClientTLS{}).DataKeys(); cert != "tls.crt" || key != "tls.key" {
		t.Errorf("client TLS: %s, %s", cert, key)
	}
	if cert, key := (&ClientTLS{CertKey: "c", PrivateKeyKey: "k"}).DataKeys(); cert != "c" || key != "k" {
		t.Errorf("client TLS given: %s, %s", cert, key)
	}
	if user, password := (&BasicAuth{}).DataKeys(); user != "username" || password != "password" {
		t.Errorf("basic auth: %s, %s", user, password)
	}
	if user, password := (&BasicAuth{UsernameKey: "u", PasswordKey: "p"}).DataKeys(); user != "u" || password != "p" {
		t.Errorf("basic auth given: %s, %s", user, password)
	}
}

// TestDefinedHooks shows that hooks come in one order, without absent ones and those that are never called.
func TestDefinedHooks(t *testing.T) {
	h := &Hook{}
	names := func(hooks []NamedHook) []HookName {
		var all []HookName
		for _, named := range hooks {
			all = append(all, named.Name)
		}
		return all
	}
	for name, c := range map[string]struct {
		got  []NamedHook
		want []HookName
	}{
		"composite":    {(&CompositeHooks{Sync: h, Customize: h, Finalize: h, PreUpdateChild: h}).Defined(), []HookName{SyncHook, FinalizeHook, CustomizeHook}},
		"decorator":    {(&DecoratorHooks{Finalize: h}).Defined(), []HookName{FinalizeHook}},
		"map":          {(&MapHooks{Map: &MapHook{}, Tombstone: &MapHook{}, Customize: &MapHook{}}).Defined(), []HookName{MapHookName, TombstoneHook, CustomizeHook}},
		"no composite": {(*CompositeHooks)(nil).Defined(), nil},
		"no decorator": {(*DecoratorHooks)(nil).Defined(), nil},
		"no map":       {(*MapHooks)(nil).Defined(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, names(c.got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
