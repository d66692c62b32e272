const NO_SERVER = ['authorizationServer.enabled=false']
const OTHER_ISSUER = 'gateway.issuers[0].issuer=https://x'
const GATEWAY_ONLY = [
  ...NO_SERVER,
  OTHER_ISSUER,
  ...['gateway.issuers[0].jwt.type=JWT', 'policies.configMaps={a}'],
]
const PROVIDER = [
  ...['name=company', 'title=Company', 'issuer=https://login.example.com', 'clientId=scopegate'],
  'clientSecret.existingSecret=own',
]
  .map((field) => `authorizationServer.signIn.providers[0].${field}`)
  .join(',')
const CERTIFICATE = [
  'certificate.enabled=true',
  'certificate.issuerRef.name=own',
  'gateway.baseUrl=https://api.example.org',
]
const CANARY = ['canary.enabled=true', 'canary.path=/probe', 'canary.scopes={a:read}']
const AT = 'policies.sources[0]'
const SOURCE = [`${AT}.name=a`, `${AT}.permissions.pathPrefixes={/a}`]

/** Invalid values of the chart, and the error message of helm. */
type ValueError = {
  readonly set: readonly string[]
  /** Kubernetes version of the cluster. Undefined: the default of helm. */
  readonly kubeVersion?: string
  readonly says: string
}

/** Keys that the chart does not have, at every level, and keys without a value. */
export const KEY_ERRORS: readonly ValueError[] = [
  ...['api.example.org', 'http://127.0.0.1/', 'https://api.example.org:99999'].map((url) => ({
    set: [`gateway.baseUrl=${url}`],
    says: 'gateway.baseUrl must be http:// or https:// and a host, without a path or a slash at the end and with a port of at most 65535, for example https://api.example.org.',
  })),
  ...['10.0.0.0/33', '10.0.0.0/0', '10.0.0.256', 'fd00::/129', 'ingress'].map((block) => ({
    set: [`gateway.trustedProxies={10.0.0.1,${block}}`],
    says: 'gateway.trustedProxies[1] must be an IP address or a CIDR block, for example 10.0.0.0/8, 192.0.2.7 or fd00::/8.',
  })),
  {
    set: ['upstreams.books.url=http://books:8080', 'upstreams.books.healthCheck.path=//evil'],
    says: 'upstreams.books.healthCheck.path must be a path with one slash at the start, for example /healthz.',
  },
  ...['postgres://user:password@db/grants', 'postgres://user@db', 'postgres://user@db/grants?password=x'].map(
    (url) => ({
      set: [`postgres.url=${url}`],
      says: 'postgres.url must be postgres://user@host/database, without a password. Put the password into a Secret, and set postgres.existingSecret to its name.',
    }),
  ),
  {
    set: ['redis.passwordSecret=Redis_Password'],
    says: 'redis.passwordSecret must be a name of lower-case letters, digits, hyphens and dots.',
  },
  {
    set: ['redis.url=http://redis'],
    says: 'redis.url must be a redis:// or rediss:// URL, for example redis://redis:6379.',
  },
  {
    set: ['upstreams.books.urls={http://books:8080,books:8080}'],
    says: 'upstreams.books.urls[1] must be an http:// or https:// URL without a user name and a password, for example http://books:8080.',
  },
  {
    set: ['upstreams.books.url=http://user:password@books:8080'],
    says: 'upstreams.books.url must be an http:// or https:// URL without a user name and a password, for example http://books:8080.',
  },
  {
    set: ['tracing.endpoint=http://user:password@otel-collector:4318'],
    says: 'tracing.endpoint must be an http:// or https:// URL without a user name and a password, for example http://otel-collector:4318.',
  },
  {
    set: ['replicas=2'],
    says: 'replicas is not a value of this chart. Did you mean replicaCount?',
  },
  {
    set: ['gateway.baseURL=http://x'],
    says: 'gateway.baseURL is not a value of this chart. Did you mean gateway.baseUrl?',
  },
  {
    set: ['redis.urll=redis://x'],
    says: 'redis.urll is not a value of this chart. Did you mean redis.url?',
  },
  {
    set: ['service.ports.https=1'],
    says: 'service.ports.https is not a value of this chart. Did you mean service.ports.http?',
  },
  {
    set: ['ingress.enable=true'],
    says: 'ingress.enable is not a value of this chart. Did you mean ingress.enabled?',
  },
  {
    set: [...SOURCE, `${AT}.permision=x`],
    says: 'policies.sources[0].permision is not a value of this chart. Did you mean policies.sources[0].permissions?',
  },
  {
    set: ['policies.inline.a\\.yaml=x'],
    says: 'policies.inline must not contain the key "a.yaml". The name of a policy file contains only letters, digits, "-", "." and "_", and ends with .policy.yaml.',
  },
  {
    set: ['upstreams.Api.url=https://x'],
    says: 'upstreams must not contain the key "Api". The name of an upstream has at most 64 lower-case letters, digits and "-", with a letter or digit at both ends.',
  },
  ...['commonLabels', 'podLabels', 'gateway.podLabels', 'authorizationServer.podLabels'].map((labels) => ({
    set: [`${labels}.app\\.kubernetes\\.io/name=own`],
    says: `${labels} must not contain the key "app.kubernetes.io/name". The chart selects pods by this label.`,
  })),
  {
    set: ['certificate.spec.dnsNames={x}'],
    says: 'certificate.spec must not contain the key "dnsNames". The chart sets this field. Set the value of the same name in certificate.',
  },
  {
    set: ['autoscaling.behavior.scaleup.a=b'],
    says: 'autoscaling.behavior.scaleup is not a value of this chart. Did you mean autoscaling.behavior.scaleUp?',
  },
  {
    set: ['redis.cluster.address=a'],
    says: 'redis.cluster.address is not a value of this chart. Did you mean redis.cluster.addresses?',
  },
  {
    set: ['autoscaling.minReplicas=null'],
    says: 'autoscaling.minReplicas is null. Remove this line to use the default value, or set a value. With helm upgrade, use --reset-then-reuse-values instead of --reuse-values.',
  },
  {
    set: ['authorizationServer.autoscaling.maxReplicas=null'],
    says: 'authorizationServer.autoscaling.maxReplicas is null. Remove this line to use the default value, or set a value. With helm upgrade, use --reset-then-reuse-values instead of --reuse-values.',
  },
  {
    set: ['upstreams.api.ur=https://x'],
    says: 'upstreams.api.ur is not a value of this chart. Did you mean upstreams.api.url?',
  },
  {
    // gateway.issuer is more similar, but the chart rejects it also.
    set: ['gateway.isuer=https://x'],
    says: 'gateway.isuer is not a value of this chart. Did you mean gateway.issuers?',
  },
  {
    // service.loadBalancerSourceRanges is similar also.
    set: ['service.loadBalancerIp=10.0.0.1'],
    says: 'service.loadBalancerIp is not a value of this chart. Did you mean service.loadBalancerIP?',
  },
  {
    set: ['gateway.extraEnv=null'],
    says: 'gateway.extraEnv is null. Remove this line to use the default value, or set a value. With helm upgrade, use --reset-then-reuse-values instead of --reuse-values.',
  },
  {
    set: ['scopes=null'],
    says: 'scopes is null. Remove this line to use the default value, or set a value. With helm upgrade, use --reset-then-reuse-values instead of --reuse-values.',
  },
  {
    set: [`${AT}.name=a`],
    says: 'policies.sources[0].permissions is missing. Set a value.',
  },
  {
    set: ['upstreams.api.url=https://x', `${AT}.name=a`, `${AT}.permissions.x=y`],
    says: 'policies.sources[0].permissions.pathPrefixes is missing. Set a value.',
  },
  {
    set: ['image.x=y'],
    says: 'image.x is not a value of this chart. The keys here are digest, pullPolicy, registry, repository, tag.',
  },
]

/** Values that cannot work. */
export const VALUE_ERRORS: readonly ValueError[] = [
  {
    set: ['fullnameOverride=1.a'],
    says: 'The objects would have the name 1.a, but the name of a Service begins with a letter, and contains no dot. Set fullnameOverride to another name.',
  },
  ...(
    [
      [['extraVolumes[0].name=tmp'], 'extraVolumes[0] (tmp)', 'a volume of the chart'],
      [
        ['gateway.extraVolumes[0].name=secrets'],
        'gateway.extraVolumes[0] (secrets)',
        'a volume of the chart',
      ],
      [
        ['authorizationServer.extraVolumes[0].name=data'],
        'authorizationServer.extraVolumes[0] (data)',
        'a volume of the chart',
      ],
      [
        [...SOURCE, `${AT}.selector.label=policies`, 'gateway.extraVolumes[0].name=source-0'],
        'gateway.extraVolumes[0] (source-0)',
        'a volume of the chart',
      ],
      [['extraVolumes[0].name=ca', 'extraVolumes[1].name=ca'], 'extraVolumes[1] (ca)', 'extraVolumes[0]'],
      [
        ['extraVolumes[0].name=ca', 'gateway.extraVolumes[0].name=ca'],
        'gateway.extraVolumes[0] (ca)',
        'extraVolumes[0]',
      ],
    ] as const
  ).map(([set, place, other]) => ({
    set,
    says: `${place} has the same name as ${other}. Set another name.`,
  })),
  {
    set: [
      ...[...SOURCE, `${AT}.configMap=x`],
      ...['policies.sources[1].name=a', 'policies.sources[1].permissions.pathPrefixes={/b}'],
      'policies.sources[1].configMap=y',
    ],
    says: 'policies.sources[1] (a) has the same name as policies.sources[0]. Set different names.',
  },
  {
    set: ['enabled=false'],
    says: 'enabled is false, but the chart is not disabled: only the condition of a parent chart disables it. Add `condition: scopegate.enabled` to the dependency of the parent chart, or remove enabled.',
  },
  {
    set: [],
    kubeVersion: 'v1.29.3',
    says: 'The chart requires Kubernetes 1.30 or later, for lifecycle.preStop.sleep and matchLabelKeys (got v1.29.3).',
  },
  {
    set: ['tracing.headers.existingSecret=otlp'],
    says: 'tracing.headers.existingSecret is set, but tracing.endpoint is empty, so no service exports traces. Set tracing.endpoint to the URL of an OTLP receiver, such as http://otel-collector:4318.',
  },
  {
    set: ['replicaCount=2'],
    says: 'The authorization server would run with 2 replicas, each with a separate SQLite store: a token issued by one is unknown to the others. Set postgres.url, or redis.url (or redis.existingSecret), so that they share a store, or authorizationServer.replicaCount=1 to run one beside several gateways.',
  },
  {
    set: ['authorizationServer.replicaCount=3', 'redis.url=redis://redis'],
    says: 'The authorization server would run with 3 replicas, each with separate signing keys: the keys of one replica cannot verify the ID tokens of another. Set authorizationServer.signingKeys.existingSecret to a Secret with one JWK Set for all, or authorizationServer.replicaCount=1 to run one beside several gateways.',
  },
  {
    set: NO_SERVER,
    says: 'authorizationServer.enabled is false, so another issuer must issue the tokens. List at least one in gateway.issuers.',
  },
  {
    set: [...NO_SERVER, OTHER_ISSUER],
    says: 'gateway.issuers[0] (https://x) does not say how to validate its tokens. Add `jwt: {}`, introspection, or both.',
  },
  {
    set: [
      OTHER_ISSUER,
      'gateway.issuers[0].introspection.endpoint=https://x/i',
      'gateway.issuers[0].introspection.clientId=g',
    ],
    says: 'gateway.issuers[0].introspection has no client secret. Put it into a Secret and set gateway.issuers[0].introspection.clientSecret.existingSecret.',
  },
  {
    set: [
      OTHER_ISSUER,
      'gateway.issuers[0].introspection.endpoint=https://x/i',
      'gateway.issuers[0].introspection.clientId=g',
      'gateway.issuers[0].introspection.clientSecret.existingSecret=own',
      'gateway.issuers[0].introspection.clientSecretFile=/run/secret',
    ],
    says: 'gateway.issuers[0].introspection.clientSecretFile is written by the chart. Set clientSecret.existingSecret instead.',
  },
  {
    set: [...NO_SERVER, OTHER_ISSUER, 'gateway.issuers[0].jwt.type=JWT'],
    says: 'authorizationServer.enabled is false and the chart has no policies, so the gateway would serve no route. Set upstreams, and policies.inline, policies.configMaps or policies.existingClaim.',
  },
  {
    set: ['gateway.issuers[0].issuer=http://127.0.0.1:8080', 'gateway.issuers[0].jwt.type=JWT'],
    says: 'gateway.issuers[0] is http://127.0.0.1:8080, the bundled authorization server, which the chart adds itself. Remove the entry and move its settings to gateway.bundledIssuer.',
  },
  {
    set: ['gateway.config.issuers[0].issuer=https://x'],
    says: 'gateway.config.issuers would replace every issuer, including the bundled authorization server. Move its entries to gateway.issuers, and settings of the bundled one to gateway.bundledIssuer.',
  },
  {
    set: ['extraEnv[0].name=SCOPEGATE_A'],
    says: 'extraEnv[0] (SCOPEGATE_A) would reach both services, and each service rejects the settings of the other. Set gateway.extraEnv, authorizationServer.extraEnv, or both.',
  },
  {
    set: ['gateway.issuer=https://x'],
    says: 'gateway.issuer was removed. Set authorizationServer.issuer for the bundled authorization server, and list other issuers in gateway.issuers.',
  },
  {
    set: ['gateway.introspection.endpoint=https://x/introspect'],
    says: 'gateway.introspection was removed. Set gateway.issuers[].introspection for other issuers. For the bundled authorization server, set authorizationServer.gatewayClient.id.',
  },
  {
    set: ['gateway.clientSecret.existingSecret=own'],
    says: 'gateway.clientSecret was removed. Set authorizationServer.gatewayClient for the bundled authorization server, and gateway.issuers[].introspection.clientSecret for other issuers.',
  },
  {
    set: ['gateway.tls.existingSecret=own'],
    says: 'gateway.tls.existingSecret is set, so clients use https, but gateway.baseUrl is http://127.0.0.1:8080. Set gateway.baseUrl to the https URL that clients use.',
  },
  {
    set: ['service.nodePort=30080'],
    says: 'service.nodePort is not valid for a Service of the type ClusterIP. Set service.type to NodePort or LoadBalancer, or remove nodePort.',
  },
  {
    set: ['service.type=NodePort', 'service.externalTrafficPolicy=Local', 'service.loadBalancerIP=10.0.0.1'],
    says: 'service.loadBalancerIP is not valid for a Service of the type NodePort. Set service.type to LoadBalancer, or remove loadBalancerIP.',
  },
  {
    set: ['authorizationServer.service.loadBalancerClass=internal'],
    says: 'authorizationServer.service.loadBalancerClass is not valid for a Service of the type ClusterIP. Set authorizationServer.service.type to LoadBalancer, or remove loadBalancerClass.',
  },
  {
    set: ['ingress.enabled=true'],
    says: 'ingress.hosts is empty, and the host of gateway.baseUrl (127.0.0.1) is not a DNS name. Set gateway.baseUrl to the URL that clients use.',
  },
  {
    set: ['httpRoute.enabled=true', 'gateway.baseUrl=http://localhost:8080'],
    says: 'httpRoute.hostnames is empty, and the host of gateway.baseUrl (localhost) is not a DNS name. Set gateway.baseUrl to the URL that clients use.',
  },
  {
    set: ['ingress.enabled=true', 'gateway.baseUrl=http://api.example.org', 'ingress.tls[0].secretName=own'],
    says: 'ingress.tls or ingress.certManager.issuer is set, so clients use https, but gateway.baseUrl is http://api.example.org. Set gateway.baseUrl to the https URL that clients use.',
  },
  {
    set: ['ingress.enabled=true', 'gateway.baseUrl=http://api.example.org', 'ingress.certManager.issuer=own'],
    says: 'ingress.tls or ingress.certManager.issuer is set, so clients use https, but gateway.baseUrl is http://api.example.org. Set gateway.baseUrl to the https URL that clients use.',
  },
  {
    set: ['certificate.enabled=true', 'gateway.baseUrl=https://api.example.org'],
    says: 'certificate.issuerRef.name is empty, so cert-manager would issue no certificate. Set it to the name of an Issuer or ClusterIssuer.',
  },
  {
    set: [
      'certificate.enabled=true',
      'certificate.issuerRef.name=own',
      'gateway.baseUrl=http://api.example.org',
    ],
    says: 'certificate.enabled is true, so clients use https, but gateway.baseUrl is http://api.example.org. Set gateway.baseUrl to the https URL that clients use.',
  },
  {
    set: [...CERTIFICATE, 'gateway.tls.existingSecret=own'],
    says: 'certificate.usedBy is gateway, but gateway.tls.existingSecret names another certificate. Remove gateway.tls.existingSecret.',
  },
  {
    set: [...CERTIFICATE, 'certificate.usedBy=ingress'],
    says: 'certificate.usedBy is ingress, but ingress.enabled is false. Set ingress.enabled to true, or certificate.usedBy to gateway.',
  },
  ...['ingress.tls[0].secretName=own', 'ingress.certManager.issuer=own'].map((other) => ({
    set: [...CERTIFICATE, 'certificate.usedBy=ingress', 'ingress.enabled=true', other],
    says: 'certificate.usedBy is ingress, but ingress.tls or ingress.certManager.issuer selects another certificate. Remove both.',
  })),
  {
    set: ['httpRoute.enabled=true', 'gateway.baseUrl=https://api.example.org'],
    says: 'httpRoute.parentRefs is empty, so no Gateway accepts the HTTPRoute. List at least one Gateway in httpRoute.parentRefs: [{name: public, namespace: ingress}].',
  },
  {
    set: ['authorizationServer.autoscaling.enabled=true'],
    says: 'The authorization server would run with 10 replicas, each with a separate SQLite store: a token issued by one is unknown to the others. Set postgres.url, or redis.url (or redis.existingSecret), so that they share a store, or authorizationServer.replicaCount=1 to run one beside several gateways.',
  },
  {
    set: ['autoscaling.enabled=true', 'autoscaling.minReplicas=11'],
    says: 'autoscaling.minReplicas (11) is larger than maxReplicas (10). Reduce minReplicas, or increase maxReplicas.',
  },
  {
    set: [
      'podDisruptionBudget.enabled=true',
      'podDisruptionBudget.minAvailable=0',
      'podDisruptionBudget.maxUnavailable=1',
    ],
    says: 'podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other. Remove one of them.',
  },
  {
    set: [
      'authorizationServer.podDisruptionBudget.enabled=true',
      'authorizationServer.podDisruptionBudget.minAvailable=1',
    ],
    says: 'authorizationServer.podDisruptionBudget.minAvailable (1) would block every drain of a node, because the smallest number of pods is 1. Reduce minAvailable, or increase the number of replicas.',
  },
  {
    set: [
      'autoscaling.enabled=true',
      'podDisruptionBudget.enabled=true',
      'podDisruptionBudget.minAvailable=51%',
    ],
    says: 'podDisruptionBudget.minAvailable (51%) would block every drain of a node, because the smallest number of pods is 2. Reduce minAvailable, or increase the number of replicas.',
  },
  {
    set: [
      ...['replicaCount=2', 'authorizationServer.replicaCount=1'],
      ...['podDisruptionBudget.enabled=true', 'podDisruptionBudget.minAvailable=2'],
    ],
    says: 'podDisruptionBudget.minAvailable (2) would block every drain of a node, because the smallest number of pods is 2. Reduce minAvailable, or increase the number of replicas.',
  },
  {
    set: ['podDisruptionBudget.enabled=true', 'podDisruptionBudget.maxUnavailable=0%'],
    says: 'podDisruptionBudget.maxUnavailable (0%) would block every drain of a node. Set maxUnavailable to at least 1.',
  },
  {
    set: ['networkPolicy.enabled=true', 'upstreams.books.srv=http://_http._tcp.books.shop.svc.cluster.local'],
    says: 'networkPolicy.enabled is true, but the chart cannot read the ports of the SRV records in upstreams.books.srv. List these ports in networkPolicy.gateway.extraEgress.',
  },
  {
    set: ['networkPolicy.enabled=true', 'gateway.existingConfigMap=own'],
    says: 'networkPolicy.enabled is true, but the chart cannot read the addresses in gateway.existingConfigMap. List the ports of all upstreams, issuers and stores in networkPolicy.gateway.extraEgress.',
  },
  {
    set: ['decisions.enabled=true'],
    says: 'decisions.enabled is true, but gateway.trustedProxies is empty, so the gateway would reject each request for a decision. List the addresses of the ingress in gateway.trustedProxies.',
  },
  {
    set: ['decisions.enabled=true', 'gateway.trustedProxies={10.0.0.1}', 'service.type=NodePort'],
    says: 'decisions.enabled is true, but service.type is NodePort, and only a Service of the type ClusterIP has a port for decisions. Set service.type to ClusterIP.',
  },
  ...['service', 'authorizationServer.service'].map((service) => ({
    set: ['metrics.serviceMonitor.enabled=true', `${service}.type=NodePort`],
    says: `metrics.serviceMonitor is enabled, but ${service}.type is NodePort, and only a Service of the type ClusterIP has a management port. Use metrics.podMonitor, or set ${service}.type to ClusterIP.`,
  })),
  {
    set: [
      'gateway.enabled=false',
      ...NO_SERVER,
      OTHER_ISSUER,
      'gateway.issuers[0].jwt.type=JWT',
      'policies.configMaps={a}',
    ],
    says: 'gateway.enabled and authorizationServer.enabled are false, so the chart would install no service. Set one of them to true.',
  },
  ...Object.entries({
    'autoscaling.enabled': 'autoscaling.enabled=true',
    'decisions.enabled': 'decisions.enabled=true,gateway.trustedProxies={10.0.0.1}',
    'gateway.issuers': `${OTHER_ISSUER},gateway.issuers[0].jwt.type=JWT`,
    'gateway.tls.existingSecret': 'gateway.tls.existingSecret=own',
    gatewayRedis: 'gatewayRedis.url=redis://redis',
    'podDisruptionBudget.enabled': 'podDisruptionBudget.enabled=true',
    policies: 'policies.configMaps={team}',
    upstreams: 'upstreams.books.url=http://books',
  }).map(([path, set]) => ({
    set: ['gateway.enabled=false', set],
    says: `${path} is set, but only gateway uses it, and gateway.enabled is false. Remove ${path}, or set gateway.enabled to true.`,
  })),
  ...Object.entries({
    'authorizationServer.autoscaling.enabled': 'authorizationServer.autoscaling.enabled=true',
    'authorizationServer.clientDocuments.domains': 'authorizationServer.clientDocuments.domains={claude.ai}',
    'authorizationServer.database.existingClaim': 'authorizationServer.database.existingClaim=data',
    'authorizationServer.podDisruptionBudget.enabled': 'authorizationServer.podDisruptionBudget.enabled=true',
    'authorizationServer.signIn.providers': PROVIDER,
    'gateway.bundledIssuer': 'gateway.bundledIssuer.introspection.timeout=1s',
    'postgres.url': 'postgres.url=postgres://u@db/grants',
  }).map(([path, set]) => ({
    set: [...GATEWAY_ONLY, set],
    says: `${path} is set, but only authorizationServer uses it, and authorizationServer.enabled is false. Remove ${path}, or set authorizationServer.enabled to true.`,
  })),
  {
    set: ['gateway.enabled=false', ...CERTIFICATE],
    says: 'certificate.usedBy is gateway, but gateway.enabled is false, so no pod would use the certificate. Set certificate.usedBy to ingress, or certificate.enabled to false.',
  },
  {
    set: [
      ...['gateway.enabled=false', 'authorizationServer.issuer=http://login.example.org'],
      ...['ingress.enabled=true', 'ingress.certManager.issuer=own'],
    ],
    says: 'ingress.tls or ingress.certManager.issuer is set, so clients use https, but authorizationServer.issuer is http://login.example.org. Set authorizationServer.issuer to the https URL that clients use.',
  },
  {
    set: [
      ...['gateway.enabled=false', 'authorizationServer.issuer=http://login.example.org'],
      ...[...CERTIFICATE, 'certificate.usedBy=ingress', 'ingress.enabled=true'],
    ],
    says: 'certificate.enabled is true, so clients use https, but authorizationServer.issuer is http://login.example.org. Set authorizationServer.issuer to the https URL that clients use.',
  },
  {
    set: ['authorizationServer.signIn.local=false'],
    says: 'authorizationServer.signIn.local is false, but authorizationServer.signIn.providers is empty, so no person could sign in. Add a provider, or set authorizationServer.signIn.local to true.',
  },
  {
    set: [
      'authorizationServer.signIn.local=false',
      PROVIDER,
      'authorizationServer.signIn.secondFactor.mode=required',
    ],
    says: 'authorizationServer.signIn.secondFactor.mode is required, but authorizationServer.signIn.local is false, and only local accounts have a second factor. Set the mode to "off", or authorizationServer.signIn.local to true.',
  },
  {
    set: ['autoscaling.enabled=true', 'resources.requests.cpu=null'],
    says: 'autoscaling measures cpu in percent of the request, but the pods have no such request. Set resources.requests.cpu, or set autoscaling.targetCPUUtilizationPercentage to null.',
  },
  {
    set: [
      ...['authorizationServer.autoscaling.enabled=true', 'authorizationServer.autoscaling.maxReplicas=1'],
      ...['authorizationServer.autoscaling.minReplicas=1', 'authorizationServer.resources.limits.cpu=1'],
      'authorizationServer.autoscaling.targetMemoryUtilizationPercentage=80',
    ],
    says: 'authorizationServer.autoscaling measures memory in percent of the request, but the pods have no such request. Set authorizationServer.resources.requests.memory, or set authorizationServer.autoscaling.targetMemoryUtilizationPercentage to null.',
  },
  ...[
    ['redis', 'passwordSecret'],
    ['redis', 'caSecret'],
    ['gatewayRedis', 'clientCertificateSecret'],
    ['postgres', 'existingSecret'],
  ].map(([name, key]) => ({
    set: [`${name}.${key}=own`],
    says: `${name}.${key} is set, but ${name} has no address, so no service uses the Secret. Set ${name}.url, or remove ${key}.`,
  })),
  {
    set: ['gateway.enabled=false', 'ingress.enabled=true'],
    says: 'ingress.hosts is empty, and the host of authorizationServer.issuer (127.0.0.1) is not a DNS name. Set authorizationServer.issuer to the URL that clients use.',
  },
  {
    set: SOURCE,
    says: 'policies.sources[0] (a) has none, but needs exactly one of configMap, selector, git and oci. Set one of them.',
  },
  {
    set: [...SOURCE, `${AT}.git.url=https://git.example.org/a`, `${AT}.configMap=a`],
    says: 'policies.sources[0] (a) has configMap and git, but needs exactly one of configMap, selector, git and oci. Set one of them.',
  },
  {
    set: [...SOURCE, `${AT}.oci.reference=a`, `${AT}.selector.label=a`],
    says: 'policies.sources[0] (a) has oci and selector, but needs exactly one of configMap, selector, git and oci. Set one of them.',
  },
  ...[
    ['selector', 'selector.label=policies'],
    ['git', 'git.url=https://git.example.org/a'],
  ].flatMap(([kind, set]) => [
    {
      set: [...SOURCE, `${AT}.${set}`, 'policies.reload=restart'],
      says: `policies.sources[0] (a) has ${kind}, but policies.reload is restart, so the gateway would not read changed policies. Set policies.reload to hot.`,
    },
    {
      set: [...SOURCE, `${AT}.name=${'a'.repeat(55)}`, `${AT}.${set}`],
      says: `policies.sources[0] (${'a'.repeat(55)}) has ${kind}, but the name of its sidecar would have more than 63 characters. Use a name of at most 54 characters.`,
    },
  ]),
  ...[
    'http://git.example.org/a',
    'https://user:password@git.example.org/a',
    'https://git.example.org',
    'https://git.example.org/a?private_token=b',
    'ssh://git.example.org/a',
    'ssh://git@-oProxyCommand=a/a',
    'git@-oProxyCommand:a',
    'ssh://git:password@git.example.org/a',
    '/srv/a',
    'ext::sh -c a',
  ].map((url) => ({
    set: [...SOURCE, `${AT}.git.url=${url}`, `${AT}.git.existingSecret=own`],
    says: 'policies.sources[0] (a): git.url must be https://host/path without a user name and query, ssh://user@host/path, or user@host:path. Put credentials into a Secret, and set git.existingSecret to its name.',
  })),
  ...[
    ['https://git.example.org:99999/a', '99999'],
    ['ssh://git@[::1]:0/a', '0'],
  ].map(([url, port]) => ({
    set: [...SOURCE, `${AT}.git.url=${url}`, `${AT}.git.existingSecret=own`],
    says: `policies.sources[0] (a): git.url has the port ${port}. Set a port from 1 to 65535.`,
  })),
  {
    set: ['extraEnv[0].name=A', 'extraEnv[0].value=a{{ .Release.Name }'],
    says: 'extraEnv contains {{ without }}, so helm cannot evaluate it. Add }}, or for a literal {{ write {{`{{`}}.',
  },
  {
    set: [
      ...SOURCE,
      `${AT}.git.url=https://git.example.org/a`,
      'policies.gitSync.resources.limits.memory=255Mi',
    ],
    says: 'policies.sources[0] (a) has git, but policies.gitSync.resources.limits.memory is 255Mi, so a repository could end the pods of the gateway. Set it to at least 256Mi.',
  },
  {
    set: [...SOURCE, `${AT}.git.url=git@git.example.org:a`],
    says: 'policies.sources[0] (a): git.url uses SSH, but git.existingSecret is empty. Set it to the name of a Secret with the keys ssh-privatekey and known_hosts.',
  },
  {
    set: [
      ...[...SOURCE, `${AT}.git.url=git@git.example.org:a`, `${AT}.git.existingSecret=own`],
      'podSecurityContext.runAsUser=null',
    ],
    says: 'policies.sources[0] (a): git.url uses SSH, which requires a known user ID. Set podSecurityContext.runAsUser, or use an https URL.',
  },
  {
    set: [...SOURCE, `${AT}.oci.reference=registry.example.org/a:1`],
    says: 'policies.sources[0] (a): oci.reference (registry.example.org/a:1) has no digest, so pods could serve different policies. Append @sha256: and the digest of the image.',
  },
  {
    set: [...SOURCE, `${AT}.oci.reference=registry.example.org/a@sha256:${'a'.repeat(64)}`],
    kubeVersion: 'v1.32.9',
    says: 'policies.sources[0] (a) has oci, which requires image volumes of Kubernetes: 1.35 or later, or 1.33 with the feature gate ImageVolume (got v1.32.9). Use git or configMap.',
  },
  {
    set: ['redis.url=redis://redis', 'redis.cluster.addresses[0]=redis-0:6379'],
    says: 'redis: url, sentinel and cluster exclude each other. Keep one of them.',
  },
  {
    set: ['service.ports.http=9090'],
    says: 'Two ports of service.ports have the same number. Set different numbers.',
  },
  {
    set: ['decisions.enabled=true', 'service.ports.http=4010', 'gateway.trustedProxies={10.0.0.1}'],
    says: 'Two ports of service.ports have the same number. Set different numbers.',
  },
  ...(
    [
      ['gateway', 'listen', 8080],
      ['gateway', 'management', 9090],
      ['authorizationServer', 'listen', 8081],
      ['authorizationServer', 'management', 9091],
    ] as const
  ).map(([service, key, port]) => ({
    set: [`${service}.config.${key}.port=7777`],
    says: `${service}.config.${key}.port is 7777, but the Services and probes of the chart use port ${port} of the pods. Remove ${service}.config.${key}.port.`,
  })),
  {
    set: ['redis.url=redis://redis', 'redis.existingSecret=own'],
    says: 'redis.url and redis.existingSecret are both set, but they exclude each other. Remove one of them.',
  },
  {
    set: ['policies.existingClaim=own', 'policies.configMaps={team}'],
    says: 'policies.existingClaim excludes policies.inline and policies.configMaps. Remove the claim, or the other two.',
  },
  {
    set: [
      'policies.configMaps={team}',
      'policies.sources[0].name=a',
      'policies.sources[0].configMap=a',
      'policies.sources[0].permissions.pathPrefixes={/a}',
    ],
    says: 'policies.sources excludes policies.inline, policies.configMaps and policies.existingClaim. Put the policies of each team into its source.',
  },
  {
    set: ['global.gitops=true'],
    says: 'global.gitops is true, so the chart generates no secret: each rendering would create a new one. Set authorizationServer.gatewayClient.existingSecret.',
  },
  {
    set: ['global.gitops=true', 'authorizationServer.gatewayClient.existingSecret=own'],
    says: 'global.gitops is true, so the chart generates no secret: each rendering would create a new one. Set authorizationServer.cookieSecret.existingSecret.',
  },
  {
    set: ['canary.enabled=true', 'gateway.enabled=false'],
    says: 'canary.enabled is true, but gateway.enabled is false, so the canary would measure no gateway. Set canary.enabled to false, or gateway.enabled to true.',
  },
  {
    set: ['canary.enabled=true'],
    says: 'canary.path is empty. Set it to a path that requires a token, also for reads.',
  },
  {
    set: ['canary.enabled=true', 'canary.path=/probe'],
    says: 'canary.scopes is empty. List the scopes of canary.path.',
  },
  {
    set: [...GATEWAY_ONLY, ...CANARY],
    says: 'canary.issuer is empty, and authorizationServer.enabled is false. Set canary.issuer to an issuer that supports client credentials.',
  },
  {
    set: [...CANARY, 'canary.issuer=https://x'],
    says: 'canary.issuer is set, but canary.existingSecret is empty. Set it to a Secret with the client secret of the canary at this issuer.',
  },
  {
    set: [...CANARY, 'global.gitops=true'],
    says: 'global.gitops is true, so the chart generates no secret: each rendering would create a new one. Set canary.existingSecret.',
  },
  {
    set: ['resources.limits.memory=lots'],
    says: 'resources.limits.memory is "lots": use Mi or Gi, for example 384Mi.',
  },
  {
    set: ['resources.limits.memory=384'],
    says: 'resources.limits.memory is "384": use Mi or Gi, for example 384Mi.',
  },
  {
    set: ['resources.limits.memory=1e9'],
    says: 'resources.limits.memory is "1e9": use Mi or Gi, for example 384Mi.',
  },
  {
    set: ['authorizationServer.config.drain.grace=31s'],
    says: 'Kubernetes would stop the authorization server during its drain of 31s: with lifecycle.preStop and the 5s of the last resort, the shutdown takes 46 seconds, but terminationGracePeriodSeconds is 45. Increase terminationGracePeriodSeconds, or reduce authorizationServer.config.drain.grace.',
  },
  {
    set: ['gateway.config.drain.grace=31s'],
    says: 'Kubernetes would stop the gateway during its drain of 31s: with lifecycle.preStop and the 5s of the last resort, the shutdown takes 46 seconds, but terminationGracePeriodSeconds is 45. Increase terminationGracePeriodSeconds, or reduce gateway.config.drain.grace.',
  },
  {
    set: [
      'gateway.config.resources[0].path=/mcp',
      'authorizationServer.config.protectedResources={/reports}',
    ],
    says: 'gateway.config.resources sends the clients of /mcp to the bundled authorization server, but authorizationServer.config.protectedResources does not contain this path: clients would get no token. Remove protectedResources, which the chart fills, or add the path.',
  },
  {
    set: ['terminationGracePeriodSeconds=34'],
    says: 'Kubernetes would stop the gateway during its drain of 20s: with lifecycle.preStop and the 5s of the last resort, the shutdown takes 35 seconds, but terminationGracePeriodSeconds is 34. Increase terminationGracePeriodSeconds, or reduce gateway.config.drain.grace.',
  },
  {
    set: ['replicaCount=null'],
    says: 'replicaCount is null. Set it to a number. If another autoscaler sets the number of pods, set autoscaling.enabled to true and autoscaling.create to false.',
  },
  {
    set: ['redis.url=redis://redis', 'redis.sentinelPasswordSecret=own'],
    says: 'redis.sentinelPasswordSecret is set, but redis.sentinel is empty, so no service uses the Secret. Set redis.sentinel, or remove sentinelPasswordSecret.',
  },
  {
    set: ['gateway.config.drain=null'],
    says: 'gateway.config.drain is null. Remove this line to use the default value, or set a map.',
  },
  ...['gateway.config', 'authorizationServer.config'].flatMap((config) =>
    ['drain', 'listen', 'management'].map((key) => ({
      set: [`${config}.${key}=8000`],
      says: `${config}.${key} is 8000. Remove this line to use the default value, or set a map.`,
    })),
  ),
  {
    set: ['gateway.config.drain=20s'],
    says: 'gateway.config.drain is "20s". Remove this line to use the default value, or set a map.',
  },
  {
    set: ['authorizationServer.config.registration=null'],
    says: 'authorizationServer.config.registration is null. Remove this line to use the default value, or set a map.',
  },
  {
    set: ['authorizationServer.config.registration.clientDocuments=null'],
    says: 'authorizationServer.config.registration.clientDocuments is null. Remove this line to use the default value, or set a map.',
  },
  {
    set: ['autoscaling.enabled=true', 'autoscaling.targetCPUUtilizationPercentage=null'],
    says: 'autoscaling.enabled is true, but no metric is set, so the HorizontalPodAutoscaler could not scale. Set autoscaling.targetCPUUtilizationPercentage, targetMemoryUtilizationPercentage or metrics. If another autoscaler sets the number of pods, set autoscaling.create to false.',
  },
]
