import type { Container } from '../kube-object.ts'
import { CONTAINER_SECURITY, DIGESTS, DNS, tcp, VERSION, WITH_CONTAINER_SECURITY } from './common-values.ts'
import { both } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

/** The environment of a sidecar for a repository that it reads over SSH, with default settings. */
const ofSsh = (url: string) => ({
  ...{ REPO: url, REF: 'HEAD', PERIOD: '30s', DEPTH: '1' },
  SSH_KEY_FILE: '/etc/git-secret/ssh-privatekey',
  SSH_KNOWN_HOSTS_FILE: '/etc/git-secret/known_hosts',
})
const secretVolume = (secretName: string) => ({ secret: { secretName, defaultMode: 0o440, optional: true } })
/** The order of environment variables has no effect. */
const sortEnvironment = (container: Container): Container =>
  container.env === undefined
    ? container
    : { ...container, env: container.env.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }
/** The command of the sidecar for a policy source from git. */
const gitLoop = (login: string): string => `trap 'exit 0' TERM
while :; do
  ${login}PATH=/etc/scopegate-git:$PATH /git-sync & wait $!
  sleep 5 & wait $!
  # Failed fetches leave files. First, the link is removed, so that the gateway does not read a part of the policies.
  if [ "$(df --output=pcent /git | tr -dc 0-9)" -gt 50 ]; then
    echo "More than half of the volume is in use. Removing the repository." >&2
    rm -f /git/current; sleep 5 & wait $!; rm -rf /git/.git /git/.worktrees
  fi
done
`
/** The program git of the sidecars. */
const gitProgram = (kibibytes: number, files: number): string => `#!/bin/sh
ulimit -d ${kibibytes}
if [ "$1 $2" = "reset --hard" ]; then
  entries=$(/usr/bin/git ls-tree -r -t --name-only "$3" | head -n ${files + 1} | wc -l)
  if [ "$entries" -gt ${files} ]; then
    echo "The repository has more than ${files} files and folders. Reduce their number, or increase policies.gitSync.resources.limits.memory." >&2
    exit 1
  fi
fi
timeout 120 /usr/bin/git -c core.bigFileThreshold=512k -c core.deltaBaseCacheLimit=8m -c pack.threads=1 "$@" || exit
# The gateway reads the time of this file. A fetch is successful if the gateway can read its commit.
case "$1 $2" in
  "reset --hard") touch /git/.git/last-fetch ;;
  "fetch "*) [ "$(readlink current)" != ".worktrees/$(/usr/bin/git rev-parse 'FETCH_HEAD^{}')" ] || touch /git/.git/last-fetch ;;
esac
# git was successful, also if the volume has no space for the file.
exit 0
`
/** The sidecar for a policy source from git. */
const gitSidecar = (
  index: number,
  name: string,
  options: {
    readonly env: Readonly<Record<string, string>>
    readonly ssh?: boolean
    readonly secret?: boolean
  },
): Container => {
  const { env, ssh = false, secret = ssh } = options
  const login = secret && !ssh ? 'GITSYNC_USERNAME=$(cat /etc/git-secret/username) ' : ''
  const all = {
    ...{ ...env, ROOT: '/git', LINK: 'current', SUBMODULES: 'off', MAX_FAILURES: '5' },
    SYNC_TIMEOUT: '30m',
  }
  return {
    ...{
      name: `policies-${name}`,
      restartPolicy: 'Always',
      image: 'mirror/git:9',
      imagePullPolicy: 'Always',
    },
    securityContext: WITH_CONTAINER_SECURITY,
    resources: { requests: { cpu: '1m' }, limits: { memory: '256Mi' } },
    command: ['/bin/sh', '-c'],
    args: [gitLoop(login)],
    env: [
      { name: 'GIT_ALLOW_PROTOCOL', value: 'https:ssh' },
      ...Object.entries(all).map(([key, value]) => ({ name: `GITSYNC_${key}`, value })),
    ],
    volumeMounts: [
      { name: `source-${index}`, mountPath: '/git' },
      { name: `source-${index}-tmp`, mountPath: '/tmp' },
      { name: 'git', mountPath: '/etc/scopegate-git', readOnly: true },
      ...(secret ? [{ name: `source-${index}-secret`, mountPath: '/etc/git-secret', readOnly: true }] : []),
      ...(ssh ? [{ name: 'git', mountPath: '/etc/passwd', subPath: 'passwd', readOnly: true }] : []),
    ],
  }
}

export const POLICIES: readonly Scenario[] = [
  {
    name: 'policy sources from ConfigMaps with a label',
    values: {
      image: { tag: '7', pullPolicy: 'Always' },
      containerSecurityContext: CONTAINER_SECURITY,
      networkPolicy: { enabled: true },
      policies: {
        sources: [
          { name: 'own', configMap: 'own', permissions: { pathPrefixes: ['/own'] } },
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            selector: { label: 'policies', value: 'books', namespace: 'team' },
          },
          {
            ...{ name: 'orders', permissions: { pathPrefixes: ['/orders'] } },
            selector: { label: 'policies', value: 'orders' },
          },
        ],
        sidecar: {
          image: { repository: 'sidecar', tag: '9' },
          resources: { requests: { cpu: '1m', memory: null }, limits: { memory: '9Mi' } },
        },
      },
    },
    checks: [
      [
        'policies.sidecar.image.repository, policies.sidecar.image.tag, policies.sidecar.resources, policies.sources',
        (c) =>
          c
            .pod('gateway')
            .containers.slice(1)
            .map(({ securityContext, ...one }) => ({ ...one, runAsUser: securityContext?.runAsUser })),
        [
          { name: 'books', namespace: 'team', index: 1 },
          { name: 'orders', namespace: 'shop', index: 2 },
        ].map(({ name, namespace, index }) => ({
          ...{ name: `policies-${name}`, image: 'sidecar:9', imagePullPolicy: 'Always', runAsUser: 7 },
          resources: { requests: { cpu: '1m' }, limits: { memory: '9Mi' } },
          env: [
            { name: 'FOLDER', value: '/policies' },
            { name: 'LABEL', value: 'policies' },
            { name: 'LABEL_VALUE', value: name },
            { name: 'METHOD', value: 'WATCH' },
            { name: 'NAMESPACE', value: namespace },
            { name: 'RESOURCE', value: 'configmap' },
          ],
          volumeMounts: [
            { name: `source-${index}`, mountPath: '/policies' },
            {
              ...{ name: 'kubernetes-api', readOnly: true },
              mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
            },
          ],
        })),
      ],
      [
        'policies.sources',
        (c) => [
          ...[0, 1].map((at) => [c.volume('gateway', `source-${at}`), c.mount('gateway', `source-${at}`)]),
          ...[c.volume('gateway', 'kubernetes-api'), c.mount('gateway', 'kubernetes-api')],
        ],
        [
          [{ configMap: { name: 'own', optional: true } }, ['/etc/scopegate/policies/own', true]],
          [{ emptyDir: {} }, ['/etc/scopegate/policies/books', true]],
          {
            projected: {
              sources: [
                { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
                { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
                {
                  downwardAPI: {
                    items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }],
                  },
                },
              ],
            },
          },
          undefined,
        ],
      ],
      [
        'policies.sources',
        (c) =>
          c.objects
            .filter(({ kind }) => kind.startsWith('Role'))
            .map(({ kind, metadata, rules, roleRef, subjects }) =>
              [kind, metadata.namespace, metadata.name, rules ?? [roleRef, subjects]]
                .map((one) => JSON.stringify(one))
                .join(' '),
            )
            .toSorted(),
        (
          [
            ['team', 'shop.gw-scopegate-source-1'],
            ['shop', 'gw-scopegate-source-2'],
          ] as const
        )
          .flatMap(([namespace, name]) => [
            [
              'Role',
              namespace,
              name,
              [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
            ],
            [
              ...['RoleBinding', namespace, name],
              [
                { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
                [{ kind: 'ServiceAccount', name: 'gw-scopegate', namespace: 'shop' }],
              ],
            ],
          ])
          .map((one) => one.map((part) => JSON.stringify(part)).join(' '))
          .toSorted(),
      ],
      [
        'networkPolicy.enabled',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [[DNS, { ports: tcp(443, 6443, 8081) }], [DNS]],
      ],
    ],
  },
  {
    name: 'policy sources from git',
    values: {
      image: { registry: 'own.example.org', tag: '7', pullPolicy: 'Always' },
      containerSecurityContext: CONTAINER_SECURITY,
      networkPolicy: { enabled: true },
      extraInitContainers: [{ name: 'first', image: 'first' }],
      policies: {
        sources: [
          { name: 'own', configMap: 'own', permissions: { pathPrefixes: ['/own'] } },
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            git: {
              ...{ url: 'https://git.example.org:8443/books.git', ref: 'main', path: 'deploy/policies' },
              ...{ period: '5m', depth: 0, existingSecret: 'books-git' },
            },
          },
          {
            ...{ name: 'orders', permissions: { pathPrefixes: ['/orders'] } },
            git: { url: 'ssh://git@git.example.org:2222/orders.git', existingSecret: 'orders-git' },
          },
          {
            ...{ name: 'notes', permissions: { pathPrefixes: ['/notes'] } },
            git: { url: 'git@git.example.org:notes.git', existingSecret: 'notes-git' },
          },
          {
            ...{ name: 'public', permissions: { pathPrefixes: ['/public'] } },
            git: { url: 'https://git.example.org/public.git' },
          },
        ],
        gitSync: {
          image: { registry: 'mirror', repository: 'git', tag: '9' },
          resources: { requests: { cpu: '1m', memory: null }, limits: { memory: '256Mi' } },
          startTimeoutSeconds: 7,
        },
      },
    },
    checks: [
      [
        'policies.gitSync.image.registry, policies.gitSync.image.repository, policies.gitSync.image.tag, policies.gitSync.resources, policies.sources',
        (c) => c.pod('gateway').initContainers?.slice(0, 5).map(sortEnvironment),
        [
          { name: 'first', image: 'first' },
          gitSidecar(1, 'books', {
            env: {
              ...{ REPO: 'https://git.example.org:8443/books.git', REF: 'main', PERIOD: '5m', DEPTH: '0' },
              PASSWORD_FILE: '/etc/git-secret/password',
            },
            secret: true,
          }),
          gitSidecar(2, 'orders', { env: ofSsh('ssh://git@git.example.org:2222/orders.git'), ssh: true }),
          gitSidecar(3, 'notes', { env: ofSsh('git@git.example.org:notes.git'), ssh: true }),
          gitSidecar(4, 'public', {
            env: { REPO: 'https://git.example.org/public.git', REF: 'HEAD', PERIOD: '30s', DEPTH: '1' },
          }),
        ].map(sortEnvironment),
      ],
      [
        'policies.gitSync.startTimeoutSeconds, policies.gitSync.resources, image.tag',
        (c) => {
          const { command, ...wait } = c.pod('gateway').initContainers?.[5] ?? { name: '', image: '' }
          return { ...wait, command: command?.slice(0, 3) }
        },
        {
          ...{ name: 'wait-for-policies', image: 'own.example.org/scopegate:7', imagePullPolicy: 'Always' },
          securityContext: WITH_CONTAINER_SECURITY,
          resources: { requests: { cpu: '1m' }, limits: { memory: '256Mi' } },
          command: ['node', '--input-type=module', '--eval'],
          args: [
            '7',
            ...['books', 'orders', 'notes', 'public'].map(
              (name) => `/etc/scopegate/policies/${name}/current`,
            ),
          ],
          volumeMounts: ['books', 'orders', 'notes', 'public'].map((name, at) => ({
            ...{ name: `source-${at + 1}`, mountPath: `/etc/scopegate/policies/${name}`, readOnly: true },
          })),
        },
      ],
      [
        'policies.sources',
        (c) => {
          const all = [1, 2, 4].flatMap((at) => ['', '-tmp', '-secret'].map((end) => `source-${at}${end}`))
          return Object.fromEntries(
            [...all, 'git', 'kubernetes-api'].map((name) => [
              name,
              [c.volume('gateway', name), c.mount('gateway', name)?.[0]],
            ]),
          )
        },
        {
          'source-1': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/books',
          ],
          'source-1-tmp': [{ emptyDir: {} }, undefined],
          'source-1-secret': [secretVolume('books-git'), undefined],
          'source-2': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/orders',
          ],
          'source-2-tmp': [{ emptyDir: {} }, undefined],
          'source-2-secret': [secretVolume('orders-git'), undefined],
          'source-4': [
            { emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
            '/etc/scopegate/policies/public',
          ],
          'source-4-tmp': [{ emptyDir: {} }, undefined],
          'source-4-secret': [undefined, undefined],
          git: [{ configMap: { name: 'gw-scopegate-git', defaultMode: 0o555 } }, undefined],
          'kubernetes-api': [undefined, undefined],
        },
      ],
      [
        'policies.sources',
        ({ config }) =>
          (
            config('gateway')['policySources'] as { folder: string; root?: string; lastFetchFile?: string }[]
          ).map(({ folder, root, lastFetchFile }) => [folder, root, lastFetchFile]),
        [
          ['/etc/scopegate/policies/own', undefined, undefined],
          ...['books', 'orders', 'notes', 'public'].map((name) => [
            `/etc/scopegate/policies/${name}/current${name === 'books' ? '/deploy/policies' : ''}`,
            `/etc/scopegate/policies/${name}`,
            `/etc/scopegate/policies/${name}/.git/last-fetch`,
          ]),
        ],
      ],
      [
        'containerSecurityContext',
        (c) => {
          const { metadata, data } = c.object('ConfigMap', 'gateway', '-git')
          return [metadata.namespace, data]
        },
        ['shop', { git: gitProgram(32_768, 4_096), passwd: 'scopegate:x:7:7::/tmp:/sbin/nologin\n' }],
      ],
      [
        'networkPolicy.enabled',
        both((c, one) => c.object('NetworkPolicy', one).spec?.egress),
        [[DNS, { ports: tcp(8443, 2222, 22, 443, 8081) }], [DNS]],
      ],
    ],
  },
  {
    name: 'a policy source from git over HTTPS',
    values: {
      policies: {
        sources: [
          {
            ...{ name: 'public', permissions: { pathPrefixes: ['/public'] } },
            git: { url: 'https://git.example.org/public.git' },
          },
        ],
      },
    },
    checks: [
      [
        'policies.sources',
        (c) => [c.volume('gateway', 'source-0'), c.mount('gateway', 'git')],
        [{ emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } }, undefined],
      ],
      [
        'policies.gitSync.resources',
        (c) => c.object('ConfigMap', 'gateway', '-git').data,
        { git: gitProgram(65_536, 8_192) },
      ],
    ],
  },
  {
    name: 'policy sources from git and from images, without other init containers',
    values: {
      global: { imageRegistry: 'mirror' },
      imagePullSecrets: [{ name: 'all' }],
      podSecurityContext: { runAsUser: 9 },
      policies: {
        reload: 'hot',
        gitSync: { image: { digest: DIGESTS.server } },
        sources: [
          {
            ...{ name: 'books', permissions: { pathPrefixes: ['/books'] } },
            git: { url: 'git@git.example.org:books.git', existingSecret: 'books-git' },
          },
          ...['a', 'b'].map((name) => ({
            ...{ name, permissions: { pathPrefixes: [`/${name}`] } },
            oci: { reference: `r.example.org/${name}@${DIGESTS.gateway}`, existingSecret: 'registry' },
          })),
          {
            ...{ name: 'c', permissions: { pathPrefixes: ['/c'] } },
            oci: { reference: `r.example.org/c@${DIGESTS.gateway}`, path: 'deploy' },
          },
        ],
      },
    },
    checks: [
      [
        'policies.gitSync.image.digest, global.imageRegistry',
        (c) => c.pod('gateway').initContainers?.map(({ image }) => image),
        [`mirror/git-sync/git-sync@${DIGESTS.server}`, `mirror/scopegate:${VERSION}`],
      ],
      [
        'imagePullSecrets, policies.sources',
        both((c, one) => c.pod(one).imagePullSecrets),
        [[{ name: 'all' }, { name: 'registry' }], [{ name: 'all' }]],
      ],
      [
        'policies.sources',
        (c) => [1, 3].map((at) => [c.volume('gateway', `source-${at}`), c.mount('gateway', `source-${at}`)]),
        ['a', 'c'].map((name) => [
          { image: { reference: `r.example.org/${name}@${DIGESTS.gateway}`, pullPolicy: 'IfNotPresent' } },
          [`/etc/scopegate/policies/${name}`, true],
        ]),
      ],
      [
        'policies.sources',
        ({ config }) =>
          (config('gateway')['policySources'] as { folder: string; root?: string }[])
            .slice(1)
            .map(({ folder, root }) => [folder, root]),
        [
          ['/etc/scopegate/policies/a', '/etc/scopegate/policies/a'],
          ['/etc/scopegate/policies/b', '/etc/scopegate/policies/b'],
          ['/etc/scopegate/policies/c/deploy', '/etc/scopegate/policies/c'],
        ],
      ],
      [
        'podSecurityContext',
        (c) => c.object('ConfigMap', 'gateway', '-git').data?.['passwd'],
        'scopegate:x:9:9::/tmp:/sbin/nologin\n',
      ],
    ],
  },
  {
    name: 'a policy source of a sidecar with a digest',
    values: {
      policies: {
        sources: [{ name: 'a', selector: { label: 'policies' }, permissions: { pathPrefixes: ['/a'] } }],
        sidecar: { image: { digest: DIGESTS.server } },
      },
    },
    checks: [
      [
        'policies.sidecar.image.digest',
        (c) => c.pod('gateway').containers[1]?.image,
        `kiwigrid/k8s-sidecar@${DIGESTS.server}`,
      ],
    ],
  },
  {
    name: 'policy sources in place of policies',
    values: {
      gateway: { baseUrl: 'https://api.example.org' },
      policies: {
        sources: [
          {
            name: 'books',
            configMap: 'team-books',
            owner: 'team-books',
            permissions: { pathPrefixes: ['/api/books'], upstreams: ['books'], scopes: ['books:*'] },
          },
        ],
      },
      upstreams: { books: { url: 'http://books' } },
    },
    checks: [
      [
        'policies.sources',
        (c) => [c.volume('gateway', 'source-0'), c.mount('gateway', 'source-0')],
        [{ configMap: { name: 'team-books', optional: true } }, ['/etc/scopegate/policies/books', true]],
      ],
      [
        'policies.sources',
        ({ config }) => {
          const { policies, policySources, dataDir } = config('gateway')
          return [policies, policySources, dataDir]
        },
        [
          undefined,
          [
            {
              folder: '/etc/scopegate/policies/books',
              name: 'books',
              owner: 'team-books',
              permissions: { pathPrefixes: ['/api/books'], scopes: ['books:*'], upstreams: ['books'] },
            },
          ],
          '/tmp/scopegate',
        ],
      ],
    ],
  },
]
