package env

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// User is a client of the API server that has no other rights than those it was given. It is a ServiceAccount that
// signs in with a token of its own, so that nothing it does goes through the test's rights:
//
//	editor := e.NewUser("editor")
//	editor.Bind(e.Namespace, "edit")                        // what Kubernetes' ClusterRole edit allows in the namespace
//	editor.Grant(e.Namespace, e.Group, "things", "create")  // and a rule of its own
//	_, err := editor.In(e.Things()).Create(...)             // apierrors.IsForbidden(err) if that is not allowed
//	e.Start("--kubeconfig", editor.Kubeconfig())            // runs libretto with these rights
type User struct {
	// Name is the name in bindings and in the API server's messages.
	Name string
	// Config is for clients that act as the user.
	Config *rest.Config

	e       *Env
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	subject rbacv1.Subject
}

// NewUser creates a ServiceAccount in the test's namespace unless there is one of the name, and returns it as a user without rights.
func (e *Env) NewUser(name string) *User {
	e.T.Helper()
	accounts := e.typed().CoreV1().ServiceAccounts(e.Namespace)
	_, err := accounts.Create(e.T.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) { // Each namespace has the account default.
		e.NoError(err)
	}
	token, err := accounts.CreateToken(e.T.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.NoError(err)
	config := rest.AnonymousClientConfig(e.Cluster.Config)
	config.BearerToken, config.UserAgent, config.QPS = token.Status.Token, "user.test", -1
	u := &User{
		Name: "system:serviceaccount:" + e.Namespace + ":" + name, Config: config, e: e,
		subject: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: e.Namespace, Name: name},
	}
	u.dynamic, err = dynamic.NewForConfig(config)
	e.NoError(err)
	u.typed, err = kubernetes.NewForConfig(config)
	e.NoError(err)
	return u
}

// Bind gives the user the rights of a ClusterRole in a namespace, or in the whole cluster if namespace is empty. It
// returns when the API server grants them.
func (u *User) Bind(namespace, clusterRole string) {
	u.e.T.Helper()
	ctx, rbac := u.e.T.Context(), u.e.typed().RbacV1()
	meta := metav1.ObjectMeta{GenerateName: u.e.Namespace + "-" + u.subject.Name + "-", Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole}
	if namespace == "" {
		binding, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{u.subject}}, metav1.CreateOptions{})
		u.e.NoError(err)
		u.e.T.Cleanup(func() { u.e.cleanup(rbac.ClusterRoleBindings().Delete, binding.Name) })
	} else {
		_, err := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{u.subject}}, metav1.CreateOptions{})
		u.e.NoError(err)
	}
	u.waitForRules(namespace, clusterRole)
}

// Grant gives the user one rule in a namespace, or in the whole cluster if namespace is empty. Resources are separated
// by commas.
func (u *User) Grant(namespace, group, resources string, verbs ...string) {
	u.e.T.Helper()
	u.grant(namespace, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resources, ","), Verbs: verbs})
}

// GrantNamed is Grant for the objects of one name.
func (u *User) GrantNamed(namespace, group, resource, name string, verbs ...string) {
	u.e.T.Helper()
	u.grant(namespace, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: verbs})
}

func (u *User) grant(namespace string, rule rbacv1.PolicyRule) {
	u.e.T.Helper()
	roles := u.e.typed().RbacV1().ClusterRoles()
	role, err := roles.Create(u.e.T.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: u.e.Namespace + "-" + u.subject.Name + "-"},
		Rules:      []rbacv1.PolicyRule{rule},
	}, metav1.CreateOptions{})
	u.e.NoError(err)
	u.e.T.Cleanup(func() { u.e.cleanup(roles.Delete, role.Name) })
	u.Bind(namespace, role.Name)
}

// waitForRules waits until the API server counts all rules of a role among the user's: it reads bindings from a cache.
func (u *User) waitForRules(namespace, clusterRole string) {
	u.e.T.Helper()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	u.e.Eventually(func() error {
		role, err := u.e.typed().RbacV1().ClusterRoles().Get(u.e.T.Context(), clusterRole, metav1.GetOptions{})
		if err != nil {
			return err
		}
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
		review, err = u.typed.AuthorizationV1().SelfSubjectRulesReviews().Create(u.e.T.Context(), review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		for _, rule := range role.Rules {
			want := authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			}
			same := func(got authorizationv1.ResourceRule) bool { return reflect.DeepEqual(got, want) }
			if len(rule.Resources) > 0 && !slices.ContainsFunc(review.Status.ResourceRules, same) {
				return fmt.Errorf("%s does not have the rule %v of ClusterRole %s in %s yet", u.Name, want, clusterRole, namespace)
			}
		}
		return nil
	})
}

// Env returns the environment of the user's test.
func (u *User) Env() *Env { return u.e }

// In returns a client with the user's rights for a resource in the test's namespace.
func (u *User) In(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return u.Dynamic().Resource(resource).Namespace(u.e.Namespace)
}

// Dynamic returns a client with the user's rights.
func (u *User) Dynamic() dynamic.Interface { return u.dynamic }

// Kubeconfig writes a kubeconfig with the user's token, and returns its path.
func (u *User) Kubeconfig() string {
	u.e.T.Helper()
	config, err := clientcmd.LoadFromFile(u.e.Cluster.Kubeconfig)
	u.e.NoError(err)
	for _, auth := range config.AuthInfos {
		auth.Token = u.Config.BearerToken
	}
	path := filepath.Join(u.e.T.TempDir(), "kubeconfig")
	u.e.NoError(clientcmd.WriteToFile(*config, path))
	return path
}

// Can reports whether the API server allows the user a verb on a resource in the test's namespace.
func (u *User) Can(verb string, resource schema.GroupVersionResource) bool {
	u.e.T.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: u.e.Namespace, Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		},
	}}
	review, err := u.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(u.e.T.Context(), review, metav1.CreateOptions{})
	u.e.NoError(err)
	return review.Status.Allowed
}

func (e *Env) typed() kubernetes.Interface {
	client, err := kubernetes.NewForConfig(e.Cluster.Config)
	e.NoError(err)
	return client
}

// cleanup deletes an object without a namespace at the end of the test, whose context has ended by then.
func (e *Env) cleanup(remove func(context.Context, string, metav1.DeleteOptions) error, name string) {
	if err := remove(context.Background(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		e.T.Error(err)
	}
}
