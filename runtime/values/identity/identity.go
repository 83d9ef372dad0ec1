// Package identity says as which account a request is made, from where a definition is reconciled to the client that sends it.
package identity

import "context"

// Account is a ServiceAccount as which requests are made. The zero value is the host's own account.
type Account struct {
	Namespace, Name string
}

// IsHost reports whether it is the host's own account.
func (a Account) IsHost() bool { return a == Account{} }

// UserName returns the name by which the API server knows the account.
func (a Account) UserName() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// String returns "ServiceAccount namespace/name", or "the host's account".
func (a Account) String() string {
	if a.IsHost() {
		return "the host's account"
	}
	return "ServiceAccount " + a.Namespace + "/" + a.Name
}

type accountKey struct{}

// WithAccount returns a context whose requests are made as an account, if the client was made by access.Impersonator.
func WithAccount(ctx context.Context, account Account) context.Context {
	return context.WithValue(ctx, accountKey{}, account)
}

// AccountOf returns the account of a context. ok is false if it has none.
func AccountOf(ctx context.Context) (account Account, ok bool) {
	account, ok = ctx.Value(accountKey{}).(Account)
	return account, ok
}
