import { setTimeout as wait } from 'node:timers/promises'
import { type ConsoleForm, type ConsolePage, formTokenField } from '../../platform/pages/console-page.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { html } from '../../platform/pages/html.ts'
import { definitions } from '../../platform/pages/state-text.ts'
import { findStoredAccount } from '../accounts/find-stored-account.ts'
import { findGrant } from '../store/stored-grants.ts'
import { type GrantSelection, grantsHref, readSelection } from './access-hrefs.ts'
import type { ConsoleSource } from './console-source.ts'
import { shown } from './grants-page.ts'

/** A longer revocation continues after the response. Milliseconds. The port closes silent connections after 30 s. */
const RESPONSE_MS = 10_000

type RevokeData = GrantSelection

/** Asks the operator before a revocation. */
export function revokePage({ store }: ConsoleSource): ConsolePage<RevokeData> {
  return {
    path: '/console/revoke',
    title: 'Revoke access',
    parent: '/console/grants',
    isPrivate: true,
    async data(query) {
      const { grant, account, client } = readSelection(query)
      if (grant !== undefined) {
        const found = await findGrant(store, grant)
        if (found === undefined) return undefined
        const owner = await store.accounts.findById(found.accountId)
        return { grant, account: owner?.username ?? found.accountId, client: found.clientId }
      }
      if (account === undefined) return client === undefined ? undefined : { client }
      const owner = await findStoredAccount(store, account)
      return owner && { account: owner.username, ...(client === undefined ? {} : { client }) }
    },
    render(data, _query, session) {
      const { grant, account, client } = data
      const fields = grant === undefined ? data : { grant }
      return html`<p>${grant === undefined ? 'This ends all grants with these properties, and all their tokens.' : 'This ends one grant and all its tokens.'} The gateways reject the tokens as soon as they receive the revocation. The person can allow the client again.</p>
${definitions([
  ...(account === undefined ? [] : [['Person', shown(account)] as const]),
  ...(client === undefined ? [] : [['Client', shown(client)] as const]),
  ...(grant === undefined ? [] : [['Grant', html`<code>${grant}</code>`] as const]),
])}
<form action="/console/revoke" method="post">${session && formTokenField(session)}${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="pages"><button type="submit">Revoke</button> <a href="${grantsHref({})}">Cancel</a></p>
</form>`
    },
  }
}

/** Revokes the grants that the form names, with the action of the command `scopegate grant revoke`. */
export function revokeForm({
  administration,
  logger,
}: Pick<ConsoleSource, 'administration' | 'logger'>): ConsoleForm {
  return {
    path: '/console/revoke',
    async submit(form, session, { clientAddress }) {
      const { grant, ...others } = readSelection(form)
      const selection = grant === undefined ? others : { grant }
      const origin = { session: session.name, address: clientAddress }
      const running = administration('grant revoke', selection, origin).then(
        (result) => ('done' in result ? resultText(result.done) : result.message),
        (error: unknown) => {
          logger.error({ event: 'console_error', err: error }, 'a revocation from the console failed')
          return 'The revocation failed. Some grants can still be active. See the log, and repeat the revocation.'
        },
      )
      const timer = new AbortController()
      const late = wait(RESPONSE_MS, LATE, { signal: timer.signal }).catch(() => LATE)
      const notice = await Promise.race([running, late])
      timer.abort()
      return { location: grantsHref(grant === undefined ? others : {}), notice }
    },
  }
}

const LATE = 'The revocation continues. The log has a line for each ended grant.'

function resultText(done: object): string {
  const count = 'revoked' in done && Array.isArray(done.revoked) ? done.revoked.length : 0
  return `${countText(count, 'grant')} revoked.`
}
