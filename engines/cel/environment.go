package cel

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

// newEnvironment returns the language without a hook's variables: Kubernetes' libraries
// but for authorization and sets, cel-go's, and our own functions. Kubernetes' base
// environment can't be extended, because it refuses literals of mixed types, which
// most objects are. Sets are left out because they compare each with each.
func newEnvironment() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.CustomTypeAdapter(adapter{}),
		cel.ParserRecursionLimit(maxExpressionNesting),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.EnableIdentifierEscapeSyntax(),
		cel.EnableHiddenAccumulatorName(true),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		kubernetesLibraries,
		generalLibraries,
		ownFunctions,
	)
	if err != nil {
		return nil, fmt.Errorf("CEL environment: %w", err)
	}
	return env, nil
}

func kubernetesLibraries(env *cel.Env) (*cel.Env, error) {
	return with(env,
		library.URLs(),
		library.Regex(),
		library.Lists(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	)
}

// generalLibraries adds cel-go's libraries in fixed versions, so that a new cel-go does not
// change what scripts mean. Libraries without a version have had only one so far.
func generalLibraries(env *cel.Env) (*cel.Env, error) {
	return with(env,
		ext.Strings(ext.StringsVersion(4), ext.StringsValidateFormatCalls(true)),
		ext.Math(ext.MathVersion(2)),
		ext.Lists(ext.ListsVersion(3)),
		ext.Encoders(ext.EncodersVersion(0)),
		ext.Bindings(ext.BindingsVersion(0)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),
		ext.Regex(ext.RegexVersion(0)),
	)
}

// ownFunctions adds functions of this package, and replaces some of the libraries'.
func ownFunctions(env *cel.Env) (*cel.Env, error) {
	return with(env, libraryForAuthors, merging(), failing(), cappedRange(), cappedDistinct(), sortedInsertion())
}

func with(env *cel.Env, options ...cel.EnvOption) (*cel.Env, error) {
	var err error
	for _, option := range options {
		if env, err = option(env); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// programOptions bound the evaluation of one expression.
func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecorator(metering),
		cel.CustomDecorator(marking),
		// Makes comprehensions ask for #interrupted, see call.ResolveName.
		cel.InterruptCheckFrequency(stepsBetweenChecks),
	}
}
