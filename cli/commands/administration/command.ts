import type { Command, CommandOption } from '../../command.ts'
import { JSON_OPTION, SERVER_OPTIONS } from '../../shared-options.ts'

const GROUP = 'Accounts and tokens'

const OF_ACCOUNT: CommandOption = {
  name: 'account',
  value: 'NAME',
  description: 'Only entries of this account: a username or an account id.',
}
const OF_CLIENT: CommandOption = {
  name: 'client',
  value: 'ID',
  description: 'Only entries of this client_id.',
}
const OLDER_THAN: CommandOption = {
  name: 'older-than',
  value: 'DURATION',
  description: 'Only grants that are older than this duration, for example 90d.',
}

const LINK_EXPIRES: CommandOption = {
  name: 'expires',
  value: 'DURATION',
  description: 'Lifetime of the link, 1m to 30d. Default: 24h.',
}

const EXITS = {
  0: 'the command succeeded',
  1: 'the server rejected the command; standard error shows the reason',
  3: 'the configuration is not valid, or no server runs with the data folder',
}

/** Creates a command that a running authorization server executes. */
function command(
  own: Pick<Command, 'name' | 'summary' | 'examples'> & {
    readonly about?: string
    readonly options?: readonly CommandOption[]
    /** Name of the only argument, e.g. `ACCOUNT`. */
    readonly argument?: string
    readonly isOptional?: true
  },
): Command {
  const { argument, isOptional = false, about, options = [], ...rest } = own
  return {
    ...rest,
    group: GROUP,
    about: [...(about === undefined ? [] : [about]), WHERE],
    ...(argument === undefined
      ? {}
      : {
          positionals: {
            usage: isOptional ? `[${argument}]` : argument,
            min: isOptional ? 0 : 1,
            max: 1,
          },
        }),
    options: [...options, ...SERVER_OPTIONS, JSON_OPTION],
    exits: EXITS,
    run: async (given, terminal) =>
      (await import('./run-administration.ts')).runAdministration(own.name, given, terminal),
  }
}

const WHERE =
  'Sends the command to a running authorization server on this machine, through a socket in its data folder. The server writes an audit line for each change. Without --config and SCOPEGATE_CONFIG_DIR, the command uses the server that `scopegate dev` runs in the same folder.'

export const ADMINISTRATION: readonly Command[] = [
  command({
    name: 'account list',
    summary: 'lists the accounts of the authorization server',
    options: [
      {
        name: 'search',
        value: 'TEXT',
        description: 'Only accounts whose username, name or e-mail address contains this text.',
      },
    ],
    examples: [
      { commandLine: 'scopegate account list', description: 'Lists the accounts of `scopegate dev`.' },
    ],
  }),
  command({
    name: 'account show',
    summary: 'shows an account, and counts its grants and sessions',
    argument: 'ACCOUNT',
    about: 'ACCOUNT is a username or an account id.',
    examples: [{ commandLine: 'scopegate account show alice', description: 'Shows the account of alice.' }],
  }),
  command({
    name: 'account disable',
    summary: 'disables an account: ends its sessions, grants and tokens, and prevents sign-in',
    argument: 'ACCOUNT',
    about: 'ACCOUNT is a username or an account id. All gateways reject the tokens of the account.',
    examples: [{ commandLine: 'scopegate account disable bob', description: 'Disables the account of bob.' }],
  }),
  command({
    name: 'account enable',
    summary: 'enables a disabled account: the person can sign in again',
    argument: 'ACCOUNT',
    about:
      'ACCOUNT is a username or an account id. The command does not restore ended sessions, revoked grants or revoked tokens.',
    examples: [{ commandLine: 'scopegate account enable bob', description: 'Enables the account of bob.' }],
  }),
  command({
    name: 'account remove',
    summary: 'removes an account with its sessions, grants and tokens',
    argument: 'ACCOUNT',
    about:
      'ACCOUNT is a username or an account id. The removal cannot be undone. If the person signs in through an OpenID provider, the next sign-in creates a new account: disable the account instead.',
    examples: [{ commandLine: 'scopegate account remove bob', description: 'Removes the account of bob.' }],
  }),
  command({
    name: 'account invite',
    summary: 'adds an account without a password, and prints a link to set one',
    argument: 'NAME',
    about:
      'Requires signIn.local: true. The link works once. Send the link over a private channel. To create another link, use `scopegate account reset-password NAME --link`.',
    options: [
      { name: 'email', value: 'ADDRESS', description: 'The e-mail address of the person.' },
      { name: 'full-name', value: 'TEXT', description: 'The full name of the person.' },
      LINK_EXPIRES,
    ],
    examples: [
      {
        commandLine: 'scopegate account invite dana --email dana@school.example',
        description: 'Invites dana. The link expires after a day.',
      },
    ],
  }),
  command({
    name: 'account reset-password',
    summary: 'sets the password of an account, and ends its sessions, grants and tokens',
    argument: 'ACCOUNT',
    about:
      'ACCOUNT is a username or an account id. Reads the password from standard input. With --link, prints a link. The person sets the password on the page of this link. The link works once. Sessions, grants and tokens end when the person sets the password. A new link replaces the earlier link.',
    options: [{ name: 'link', description: 'Print a link instead of reading a password.' }, LINK_EXPIRES],
    examples: [
      {
        commandLine: 'printf %s "$PASSWORD" | scopegate account reset-password carol',
        description: 'Sets the password of carol.',
      },
    ],
  }),
  command({
    name: 'account reset-second-factor',
    summary: 'removes the authenticator app and the recovery codes of an account',
    argument: 'ACCOUNT',
    about:
      'ACCOUNT is a username or an account id. The next sign-in requires only the password. If signIn.secondFactor.mode is required, the person then sets up an authenticator app. Sessions, grants and tokens stay valid.',
    examples: [
      {
        commandLine: 'scopegate account reset-second-factor alice',
        description: 'Removes the second factor of alice. Fails, because alice has no second factor.',
        exits: 1,
      },
    ],
  }),
  command({
    name: 'client list',
    summary: 'lists the clients of the authorization server',
    examples: [
      { commandLine: 'scopegate client list', description: 'Lists configured and registered clients.' },
    ],
  }),
  command({
    name: 'client show',
    summary: 'shows a client, and counts its grants',
    argument: 'CLIENT',
    about: 'CLIENT is a client_id.',
    examples: [
      { commandLine: 'scopegate client show gateway', description: 'Shows the client of the gateway.' },
    ],
  }),
  command({
    name: 'client remove',
    summary: 'removes a registered client, and revokes its grants',
    argument: 'CLIENT',
    about:
      'CLIENT is a client_id. All gateways reject the tokens of the client. A client with a client document can request access again while its host is in registration.clientDocuments.domains.',
    examples: [
      {
        commandLine: 'scopegate client remove old-client',
        description: 'Removes a client. Fails, because no client has this client_id.',
        exits: 1,
      },
    ],
  }),
  command({
    name: 'grant list',
    summary: 'lists the grants: which client may act for which account, with which scopes',
    about: 'LAST TOKEN is the time of the newest stored token of the grant. The server does not store JWTs.',
    options: [OF_ACCOUNT, OF_CLIENT, OLDER_THAN],
    examples: [
      { commandLine: 'scopegate grant list --account alice', description: 'Lists the clients of alice.' },
    ],
  }),
  command({
    name: 'grant revoke',
    summary: 'revokes grants with their tokens',
    argument: 'GRANT',
    isOptional: true,
    about:
      'Revokes the grant GRANT. Without GRANT, revokes all grants that the options select. With several options, a grant must match every option. All gateways reject the tokens of the grants.',
    options: [OF_ACCOUNT, OF_CLIENT, OLDER_THAN],
    examples: [
      {
        commandLine: 'scopegate grant revoke --account alice --older-than 90d',
        description: 'Revokes the old grants of alice.',
      },
    ],
  }),
  command({
    name: 'session list',
    summary: 'lists the sign-in sessions of browsers',
    options: [OF_ACCOUNT],
    examples: [{ commandLine: 'scopegate session list', description: 'Lists all sign-in sessions.' }],
  }),
  command({
    name: 'session end',
    summary: 'ends sign-in sessions: the person must sign in again',
    argument: 'SESSION',
    isOptional: true,
    about:
      'Ends the session SESSION. Without SESSION, ends all sessions of --account. Grants and tokens stay valid. To revoke them, use `scopegate grant revoke`.',
    options: [OF_ACCOUNT],
    examples: [
      { commandLine: 'scopegate session end --account alice', description: 'Ends the sessions of alice.' },
    ],
  }),
]
