import type { Accounts } from '../accounts/accounts.ts'
import { LOCAL_SIGN_IN_OFF } from '../accounts/accounts.ts'
import { findStoredAccount } from '../accounts/find-stored-account.ts'
import type { SecondFactors } from '../accounts/second-factors.ts'
import type { PasswordLinks } from '../password-links/password-links.ts'
import { hashId } from '../store/artifact-record.ts'
import { endSession, endSessions } from '../store/end-sessions.ts'
import { collect, listArtifacts } from '../store/list-artifacts.ts'
import type { Store, StoredAccount } from '../store/store.ts'
import {
  endAllGrants,
  endGrants,
  type FoundGrant,
  findGrant,
  findGrants,
  type GrantFilters,
  lastRefreshes,
} from '../store/stored-grants.ts'
import {
  type ConfiguredClient,
  clientKind,
  describeClient,
  describeConfiguredClient,
} from './describe-client.ts'
import { textOf, timeOf } from './payload-values.ts'

/** The result of an action: JSON for the command line. */
export type AdministrationResult =
  | { readonly done: object }
  /** `message` contains the cause and the remedy. */
  | {
      readonly rejected: 'unknown_action' | 'invalid_request' | 'not_found' | 'not_allowed'
      readonly message: string
    }

/** A change by an operator, for the audit log. */
export type AdministrationEvent = {
  readonly action:
    | 'account_disabled'
    | 'account_enabled'
    | 'account_removed'
    | 'account_added'
    | 'password_reset'
    | 'password_link_created'
    | 'second_factor_reset'
    | 'client_removed'
    | 'grant_revoked'
    | 'session_ended'
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly grant?: string | undefined
}

/** The console session of an action. Undefined for a command. */
export type AdministrationOrigin = { readonly session: string; readonly address: string }

/** Runs an action for the operator, e.g. `account list`. The input is JSON from outside. */
export type Administration = (
  action: string,
  input: unknown,
  origin?: AdministrationOrigin,
) => Promise<AdministrationResult>

type Options = {
  readonly store: Pick<Store, 'accounts' | 'artifacts'>
  readonly accounts: Pick<Accounts, 'add' | 'setPassword'>
  readonly passwordLinks: Pick<PasswordLinks, 'create' | 'end'>
  readonly secondFactors: Pick<SecondFactors, 'remove'>
  /** The integrations and the gateway. */
  readonly configured: readonly ConfiguredClient[]
  /** `signIn.local`: people can sign in with a user name and a password. */
  readonly localSignIn: boolean
  readonly nowSeconds: () => number
  readonly onEvent: (event: AdministrationEvent, origin?: AdministrationOrigin) => void
}

const ACCOUNTS_AT_ONCE = 500
const LONGEST_TEXT = 1_024

/** Default lifetime of a link: one day. */
const LINK_SECONDS = 86_400
const SHORTEST_LINK_SECONDS = 60
const LONGEST_LINK_SECONDS = 30 * 86_400

type Action = (input: Input) => Promise<object>

/**
 * Creates the actions with which an operator manages accounts, clients, grants and sessions.
 * The end of a grant removes its tokens and publishes the revocation in one step, so every gateway rejects the tokens.
 */
export function createAdministration(options: Options): Administration {
  const actionsFor = (origin?: AdministrationOrigin): Readonly<Record<string, Action>> => {
    const from = { ...options, onEvent: (event: AdministrationEvent) => options.onEvent(event, origin) }
    return { ...accountActions(from), ...clientActions(from), ...grantActions(from), ...sessionActions(from) }
  }
  const commands = actionsFor()
  return async (action, input, origin) => {
    const actions = origin === undefined ? commands : actionsFor(origin)
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined
    if (run === undefined) return { rejected: 'unknown_action', message: `Unknown action "${action}".` }
    try {
      return { done: await run(new Input(input)) }
    } catch (error) {
      if (error instanceof Rejection) return { rejected: error.code, message: error.message }
      throw error
    }
  }
}

function accountActions(options: Options) {
  const { store, accounts, passwordLinks, secondFactors, localSignIn, nowSeconds, onEvent } = options
  /** @throws {Rejection} if people cannot sign in with a password. */
  const requireLocalSignIn = (): void => {
    if (!localSignIn) throw new Rejection('not_allowed', LOCAL_SIGN_IN_OFF)
  }
  const createLink = async (
    account: Pick<StoredAccount, 'id' | 'username'>,
    purpose: 'invitation' | 'reset',
    lifetimeSeconds: number,
  ) => {
    const link = await passwordLinks.create({ accountId: account.id, purpose }, lifetimeSeconds)
    onEvent({ action: 'password_link_created', accountId: account.id })
    return { username: account.username, link, expires: timeOf(nowSeconds() + lifetimeSeconds) }
  }
  return {
    'account invite': async (input: Input) => {
      requireLocalSignIn()
      const [name, email] = [input.text('name'), input.text('email')]
      const lifetimeSeconds = linkLifetime(input)
      const result = await accounts.add({
        username: input.required('account'),
        ...(name === undefined ? {} : { name }),
        ...(email === undefined ? {} : { email }),
      })
      if ('rejected' in result)
        throw new Rejection(
          'invalid_request',
          result.rejected === 'username_taken'
            ? `${result.message} To create a link for this account, use \`scopegate account reset-password NAME --link\`.`
            : result.message,
        )
      onEvent({ action: 'account_added', accountId: result.added.id })
      return createLink(result.added, 'invitation', lifetimeSeconds)
    },
    'account list': async (input: Input) => {
      const search = input.text('search')?.toLowerCase()
      const all = await collect(listAccounts(store))
      const found = all.filter(({ username, name, email }) =>
        [username, name, email].some((one) => search === undefined || one?.toLowerCase().includes(search)),
      )
      return { accounts: found.map(describeAccount) }
    },
    'account show': async (input: Input) => {
      const account = await findAccount(store, input)
      const [grants, sessions] = await Promise.all([
        findGrants(store, { accountId: account.id }),
        store.artifacts('Session').listByAccount(account.id),
      ])
      return {
        ...describeAccount(account),
        secondFactor: account.secondFactor !== undefined,
        grants: grants.length,
        sessions: sessions.length,
      }
    },
    'account disable': async (input: Input) => {
      const account = await findAccount(store, input)
      await store.accounts.setDisabled(account.id, account.disabledAtSeconds ?? nowSeconds())
      await endSessions(store, account.id) // sign-ins that began before
      onEvent({ action: 'account_disabled', accountId: account.id })
      return describeAccount(await findAccount(store, input))
    },
    'account enable': async (input: Input) => {
      const account = await findAccount(store, input)
      if (account.origin !== 'provider') requireLocalSignIn()
      await store.accounts.setDisabled(account.id, undefined)
      onEvent({ action: 'account_enabled', accountId: account.id })
      return describeAccount(await findAccount(store, input))
    },
    'account remove': async (input: Input) => {
      const account = await findAccount(store, input)
      await store.accounts.remove(account.id)
      await endSessions(store, account.id) // sign-ins that began before
      onEvent({ action: 'account_removed', accountId: account.id })
      return describeAccount(account)
    },
    'account reset-second-factor': async (input: Input) => {
      const account = await findAccount(store, input)
      if (!(await secondFactors.remove(account.id)))
        throw new Rejection('not_allowed', `${account.username} has no second factor.`)
      onEvent({ action: 'second_factor_reset', accountId: account.id })
      return describeAccount(account)
    },
    'account reset-password': async (input: Input) => {
      const account = await findAccount(store, input)
      if (account.origin !== 'operator')
        throw new Rejection(
          'not_allowed',
          account.origin === 'provider'
            ? `${account.username} signs in through an OpenID provider and has no password here. Reset the password at the provider.`
            : `${account.username} is a development account with a published password. Add another account with \`scopegate account add\`.`,
        )
      requireLocalSignIn()
      if (input.flag('link')) {
        if (account.disabledAtSeconds !== undefined)
          throw new Rejection(
            'not_allowed',
            `${account.username} is disabled. Enable the account with \`scopegate account enable\` first.`,
          )
        const purpose = account.passwordHash === undefined ? 'invitation' : 'reset'
        return createLink(account, purpose, linkLifetime(input))
      }
      const password = input.required('password')
      const rejection = await accounts.setPassword(account.id, password)
      if (rejection !== undefined) throw new Rejection('invalid_request', rejection.message)
      await passwordLinks.end(account.id)
      await endSessions(store, account.id)
      await revokeAll(store, { accountId: account.id }, onEvent)
      onEvent({ action: 'password_reset', accountId: account.id })
      return describeAccount(account)
    },
  }
}

function clientActions({ store, configured, onEvent }: Options) {
  const clients = store.artifacts('Client')
  const findConfigured = (input: Input) =>
    configured.find(({ clientId }) => clientId === input.required('client'))
  const findRegistered = async (input: Input) => {
    const clientId = input.required('client')
    const payload = await clients.find(clientId)
    if (payload === undefined)
      throw new Rejection(
        'not_found',
        `No client has the client_id ${clientId}. List the clients with \`scopegate client list\`.`,
      )
    return { idHash: hashId(clientId), payload, expiresAtSeconds: undefined }
  }
  return {
    'client list': async () => {
      const registered = await collect(listArtifacts(store, 'Client'))
      return { clients: [...configured.map(describeConfiguredClient), ...registered.map(describeClient)] }
    },
    'client show': async (input: Input) => {
      const own = findConfigured(input)
      const client =
        own === undefined ? describeClient(await findRegistered(input)) : describeConfiguredClient(own)
      const { expires: _, ...shown } = client
      return { ...shown, grants: (await findGrants(store, { client: client.client })).length }
    },
    'client remove': async (input: Input) => {
      if (findConfigured(input) !== undefined)
        throw new Rejection(
          'not_allowed',
          'This client is in the configuration. Remove the client from authorization-server.yaml, or revoke its grants with `scopegate grant revoke --client`.',
        )
      const client = input.required('client')
      const kind = clientKind(client)
      const grants = await findGrants(store, { client })
      // An earlier removal can have stopped before it revoked all grants.
      if (grants.length === 0) await findRegistered(input)
      // Removes the client first, so that a registered client cannot obtain another grant.
      await clients.destroy(client)
      onEvent({ action: 'client_removed', clientId: client })
      const revoked = await revokeAll(store, { client }, onEvent)
      return { client, kind, revoked }
    },
  }
}

function grantActions({ store, nowSeconds, onEvent }: Options) {
  const filtersOf = async (input: Input): Promise<GrantFilters> => {
    const age = input.seconds('olderThanSeconds')
    return {
      client: input.text('client'),
      accountId: input.text('account') === undefined ? undefined : (await findAccount(store, input)).id,
      createdUpToSeconds: age === undefined ? undefined : nowSeconds() - age,
    }
  }
  return {
    'grant list': async (input: Input) => {
      const filters = await filtersOf(input)
      const grants = await findGrants(store, filters)
      const used = await lastRefreshes(store, filters.accountId)
      const names = new Map<string, string>()
      for (const { accountId } of grants)
        if (!names.has(accountId))
          names.set(accountId, (await store.accounts.findById(accountId))?.username ?? accountId)
      return {
        grants: grants.map(({ grant, accountId, clientId, scopes, createdAtSeconds, expiresAtSeconds }) => ({
          grant,
          account: names.get(accountId),
          client: clientId,
          scopes,
          created: timeOf(createdAtSeconds),
          lastToken: timeOf(used.get(grant) ?? createdAtSeconds),
          expires: timeOf(expiresAtSeconds),
        })),
      }
    },
    'grant revoke': async (input: Input) => {
      const grant = input.text('grant')
      if (grant !== undefined) {
        const found = await findGrant(store, grant)
        const revoked: string[] = []
        if (found !== undefined) await endGrants(store, [found], reportTo(revoked, onEvent))
        if (revoked.length > 0) return { revoked }
        throw new Rejection(
          'not_found',
          `The grant ${grant} does not exist. List the grants with \`scopegate grant list\`.`,
        )
      }
      const filters = await filtersOf(input)
      if (Object.values(filters).every((one) => one === undefined))
        throw new Rejection('invalid_request', 'Name a grant, an account, a client or an age.')
      return { revoked: await revokeAll(store, filters, onEvent) }
    },
  }
}

function sessionActions({ store, onEvent }: Options) {
  const sessions = store.artifacts('Session')
  return {
    'session list': async (input: Input) => {
      const account = input.text('account') === undefined ? undefined : await findAccount(store, input)
      const listed =
        account === undefined
          ? await collect(listArtifacts(store, 'Session'))
          : await sessions.listByAccount(account.id)
      const found = []
      for (const { idHash, payload, expiresAtSeconds } of listed) {
        const accountId = textOf(payload['accountId'])
        if (accountId === undefined) continue // a browser without a signed-in person
        const owner = account ?? (await store.accounts.findById(accountId))
        found.push({
          session: idHash,
          account: owner?.username ?? accountId,
          signedIn: timeOf(payload['loginTs']),
          expires: timeOf(expiresAtSeconds),
        })
      }
      return { sessions: found }
    },
    'session end': async (input: Input) => {
      const session = input.text('session')
      if (session === undefined) {
        const account = await findAccount(store, input)
        const ended = await endSessions(store, account.id)
        for (const _ of ended) onEvent({ action: 'session_ended', accountId: account.id })
        return { ended }
      }
      const found = await sessions.findByHash(session)
      if (found === undefined)
        throw new Rejection(
          'not_found',
          `The session ${session} does not exist. List the sessions with \`scopegate session list\`.`,
        )
      const accountId = textOf(found['accountId'])
      if (accountId === undefined) await sessions.destroyByHash(session)
      else await endSession(store, { accountId, uid: String(found['uid']) })
      onEvent({ action: 'session_ended', accountId })
      return { ended: [session] }
    },
  }
}

/** @returns the hashes of the grants that the call ended. */
async function revokeAll(
  store: Options['store'],
  filters: GrantFilters,
  onEvent: Options['onEvent'],
): Promise<readonly string[]> {
  const revoked: string[] = []
  await endAllGrants(store, filters, reportTo(revoked, onEvent))
  return revoked
}

function reportTo(revoked: string[], onEvent: Options['onEvent']): (grant: FoundGrant) => void {
  return ({ grant, accountId, clientId }) => {
    onEvent({ action: 'grant_revoked', accountId, clientId, grant })
    revoked.push(grant)
  }
}

async function* listAccounts(store: Options['store']): AsyncGenerator<StoredAccount> {
  let after: string | undefined
  for (;;) {
    const page = await store.accounts.list({ after, limit: ACCOUNTS_AT_ONCE })
    yield* page
    if (page.length < ACCOUNTS_AT_ONCE) return
    after = page.at(-1)?.id
  }
}

/** @throws {Rejection} when no account has this username or id. */
async function findAccount(store: Options['store'], input: Input): Promise<StoredAccount> {
  const typed = input.required('account')
  const found = await findStoredAccount(store, typed)
  if (found !== undefined) return found
  throw new Rejection(
    'not_found',
    `The account ${typed} does not exist. List the accounts with \`scopegate account list\`.`,
  )
}

function linkLifetime(input: Input): number {
  const seconds = input.seconds('linkSeconds') ?? LINK_SECONDS
  if (seconds >= SHORTEST_LINK_SECONDS && seconds <= LONGEST_LINK_SECONDS) return seconds
  throw new Rejection('invalid_request', 'A link must be valid for 1 minute to 30 days.')
}

function describeAccount(account: StoredAccount) {
  return {
    id: account.id,
    username: account.username,
    name: account.name,
    email: account.email ?? null,
    origin: account.origin,
    provider: account.identity?.provider ?? null,
    groups: account.groups ?? [],
    roles: account.roles ?? [],
    created: timeOf(account.createdAtSeconds),
    disabled: timeOf(account.disabledAtSeconds),
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

class Rejection extends Error {
  readonly code: 'invalid_request' | 'not_found' | 'not_allowed'

  constructor(code: Rejection['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** The fields of an action, which come from outside. */
class Input {
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(input: unknown) {
    if (!isObject(input) || Array.isArray(input))
      throw new Rejection('invalid_request', 'The body must be a JSON object.')
    this.#fields = input
  }

  text(name: string): string | undefined {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
    if (value === undefined) return undefined
    if (typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT) return value
    throw new Rejection('invalid_request', `${name} must be a text of 1 to ${LONGEST_TEXT} characters.`)
  }

  required(name: string): string {
    const value = this.text(name)
    if (value === undefined) throw new Rejection('invalid_request', `${name} is required.`)
    return value
  }

  flag(name: string): boolean {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : false
    if (typeof value === 'boolean') return value
    throw new Rejection('invalid_request', `${name} must be true or false.`)
  }

  seconds(name: string): number | undefined {
    const value = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    throw new Rejection('invalid_request', `${name} must be a whole number of seconds, 0 or more.`)
  }
}
