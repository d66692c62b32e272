import type { Step } from './observe-steps.ts'

/** Environment variables of the authorization server. */
export const SERVERS = {
  'default settings': {},
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

/** An outside client, and the program that uses the client. */
export type OutsideClient = {
  readonly name: string
  readonly package: { readonly of: 'npm' | 'PyPI'; readonly name: string }
  /** File in the folder `programs`, and arguments of the program. */
  readonly program: readonly [file: string, ...args: string[]]
  readonly server: keyof typeof SERVERS
  /** Steps that the gateway must log. */
  readonly steps: readonly Step[]
}

const DISCOVERY = ['challenge', 'resource metadata', 'server metadata'] as const
const SIGN_IN = ['consent', 'token', 'call'] as const
const REGISTERED = [...DISCOVERY, 'registration', ...SIGN_IN, 'refresh', 'rotation'] as const

export const CLIENTS: readonly OutsideClient[] = [
  {
    name: 'MCP TypeScript SDK, version 2',
    package: { of: 'npm', name: '@modelcontextprotocol/client' },
    program: ['mcp-sdk.js', '@modelcontextprotocol/client'],
    server: 'default settings',
    steps: REGISTERED,
  },
  {
    name: 'MCP TypeScript SDK, version 1',
    package: { of: 'npm', name: '@modelcontextprotocol/sdk' },
    program: ['mcp-sdk.js', '@modelcontextprotocol/sdk'],
    server: 'default settings',
    steps: REGISTERED,
  },
]
