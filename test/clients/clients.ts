import type { Step } from './observe-steps.ts'

/** Environment variables of the services. */
export const SERVERS = {
  'default settings': () => ({}),
  'loopback: [127.0.0.1, localhost]': () => ({
    SCOPEGATE_REGISTRATION__REDIRECT_URIS__LOOPBACK: '127.0.0.1, localhost',
  }),
  'integrations and clientDocuments': (secretFile) => ({
    SCOPEGATE_REGISTRATION__CLIENT_DOCUMENTS__DOMAINS: 'agent.example.com',
    SCOPEGATE_INTEGRATIONS: `[
      { clientId: our-web-app, clientName: Our web app, redirectUris: ['https://app.example.com/callback'],
        clientSecretFile: '${secretFile}' },
      { clientId: 'https://agent.example.com/client.json', clientName: Agent,
        redirectUris: ['https://agent.example.com/callback'] }]`,
  }),
  'compat and clientDocuments, no resources': () => ({
    SCOPEGATE_RESOURCES: '[]',
    SCOPEGATE_REGISTRATION__CLIENT_DOCUMENTS__DOMAINS: 'agent.example.com',
    SCOPEGATE_COMPAT__DEFAULT_SCOPE: 'courses:read',
    SCOPEGATE_COMPAT__OPTIONAL_STATE: 'true',
    SCOPEGATE_COMPAT__LOOPBACK_REDIRECTS: 'true',
  }),
} as const satisfies Readonly<Record<string, (secretFile: string) => Readonly<Record<string, string>>>>

/** An outside client, and the program or the tests that use the client. */
export type OutsideClient = {
  readonly name: string
  readonly package: { readonly of: 'npm' | 'PyPI' | 'this project'; readonly name: string }
} & (
  | {
      /** File in the folder `programs`, and arguments of the program. */
      readonly program: readonly [file: string, ...args: string[]]
      readonly server: keyof typeof SERVERS
      /** Steps that the gateway must log. */
      readonly steps: readonly Step[]
    }
  | {
      /** Test files that use the client in the version of package-lock.json. */
      readonly tests: readonly string[]
    }
)

const DISCOVERY = ['challenge', 'resource metadata', 'server metadata'] as const
const TOKENS = ['consent', 'token', 'call', 'refresh', 'rotation'] as const
const REGISTERED = [...DISCOVERY, 'registration', ...TOKENS] as const
const SDK = '@modelcontextprotocol/sdk'
const SPLIT_SDK = '@modelcontextprotocol/client'
const CONFORMANCE = '@modelcontextprotocol/conformance'

export const CLIENTS: readonly OutsideClient[] = [
  {
    name: 'openid-client',
    package: { of: 'this project', name: 'openid-client' },
    tests: ['test/flows/openid-client.test.ts', 'test/flows/hosted-agent.test.ts'],
  },
  {
    name: 'oauth4webapi',
    package: { of: 'this project', name: 'oauth4webapi' },
    tests: ['test/flows/oauth4webapi.test.ts'],
  },
  {
    name: 'MCP TypeScript SDK, version 2',
    package: { of: 'npm', name: SPLIT_SDK },
    program: ['mcp-sdk.js', SPLIT_SDK],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'MCP TypeScript SDK, version 1',
    package: { of: 'npm', name: SDK },
    program: ['mcp-sdk.js', SDK],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'MCP TypeScript SDK, version 1.20, scope in its client metadata',
    package: { of: 'npm', name: 'sdk-1.20' },
    program: ['mcp-sdk.js', 'sdk-1.20', '--scope', 'courses:read'],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'mcp-remote --host 127.0.0.1',
    package: { of: 'npm', name: 'mcp-remote' },
    program: ['mcp-remote.js', '--host', '127.0.0.1'],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'FastMCP, callback_host="127.0.0.1"',
    package: { of: 'PyPI', name: 'fastmcp-slim' },
    program: ['fastmcp_client.py', '127.0.0.1'],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'AppAuth-JS',
    package: { of: 'npm', name: '@openid/appauth' },
    program: ['appauth.js'],
    server: 'default settings',
    steps: [...REGISTERED, 'revocation'],
  },
  {
    name: 'mcp-remote',
    package: { of: 'npm', name: 'mcp-remote' },
    program: ['mcp-remote.js'],
    server: 'loopback: [127.0.0.1, localhost]',
    steps: REGISTERED,
  },
  {
    name: 'FastMCP',
    package: { of: 'PyPI', name: 'fastmcp-slim' },
    program: ['fastmcp_client.py'],
    server: 'loopback: [127.0.0.1, localhost]',
    steps: REGISTERED,
  },
  {
    name: 'Authlib, an integration with a secret',
    package: { of: 'PyPI', name: 'Authlib' },
    program: ['authlib_client.py'],
    server: 'integrations and clientDocuments',
    steps: [...DISCOVERY, ...TOKENS, 'revocation'],
  },
  {
    name: 'MCP TypeScript SDK, version 2, with a client document',
    package: { of: 'npm', name: SPLIT_SDK },
    program: ['mcp-sdk.js', SPLIT_SDK, '--document', 'https://agent.example.com/client.json'],
    server: 'integrations and clientDocuments',
    steps: [...DISCOVERY, ...TOKENS],
  },
  {
    name: 'MCP TypeScript SDK, version 1.12',
    package: { of: 'npm', name: 'sdk-1.12' },
    program: ['mcp-sdk.js', 'sdk-1.12'],
    server: 'compat and clientDocuments, no resources',
    steps: REGISTERED,
  },
  {
    name: 'MCP conformance suite, mode authorization',
    package: { of: 'npm', name: CONFORMANCE },
    program: ['conformance.js'],
    server: 'compat and clientDocuments, no resources',
    steps: ['server metadata', 'consent', 'token'],
  },
]
