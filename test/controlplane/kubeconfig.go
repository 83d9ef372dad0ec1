package main

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const kubeconfigName = "kubeconfig"

// kubeconfig holds the certificate and the token themselves, so that the file may be copied anywhere.
func (c *credentials) kubeconfig(server, user string) *clientcmdapi.Config {
	const name = "libretto-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.caPEM}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: c.tokens[user]}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return config
}

// writeKubeconfig writes under another name and renames, so that nobody reads half a file.
func writeKubeconfig(path string, config *clientcmdapi.Config) error {
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return nil
}
