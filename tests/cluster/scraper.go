package cluster

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ScraperAccount is who may see the pages that name Pods, in the namespace default.
const ScraperAccount = "scraper"

// scraperRights are what a Prometheus needs, and a person who asks a controller through the API server.
const scraperRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules:
- {nonResourceURLs: [/metrics, /explain], verbs: [get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}
- {apiGroups: [""], resources: [pods/proxy], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [fairlead-explain], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects:
- {kind: ServiceAccount, name: ` + ScraperAccount + `, namespace: default}
`

// Scraper makes the account that may see /metrics and /explain, once a cluster, and returns its token.
func (c *Cluster) Scraper(ctx context.Context) (token string, err error) {
	c.scraperLock.Lock()
	defer c.scraperLock.Unlock()
	if c.scraperToken != "" {
		return c.scraperToken, nil
	}
	accounts := c.Client.CoreV1().ServiceAccounts("default")
	_, err = accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: ScraperAccount}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("make the account that scrapes: %w", err)
	}
	if err := c.Apply(ctx, scraperRights); err != nil {
		return "", fmt.Errorf("give the scraper its rights: %w", err)
	}
	day := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	answer, err := accounts.CreateToken(ctx, ScraperAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get the scraper's token: %w", err)
	}
	c.scraperToken = answer.Status.Token
	return c.scraperToken, nil
}

// AsScraper lets a request show the scraper's token. Without an API server, and no token from before, it shows none.
func (c *Cluster) AsScraper(request *http.Request) *http.Request {
	if token, err := c.Scraper(request.Context()); err == nil {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request
}

// ScraperKubeconfig is of a person who has the scraper's rights and a token instead of a certificate.
func (c *Cluster) ScraperKubeconfig(ctx context.Context) ([]byte, error) {
	token, err := c.Scraper(ctx)
	if err != nil {
		return nil, err
	}
	text, err := c.KubeconfigFor("unused")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	return clientcmd.Write(*config)
}
