import { type Console, createConsole } from '../../platform/pages/console.ts'
import { linkTo } from '../../platform/pages/console-layout.ts'
import { createConsoleSessions } from '../../platform/pages/console-sessions.ts'
import { docsPage } from '../../platform/pages/docs-page.ts'
import { ADMIN_SETTING } from '../keys/load-secrets.ts'
import { clientPage, clientsPage } from './clients-page.ts'
import type { ConsoleSource } from './console-source.ts'
import { createCounter } from './counts.ts'
import { grantsPage } from './grants-page.ts'
import { overviewPage } from './overview-page.ts'
import { revokeForm, revokePage } from './revoke-page.ts'

/** Period of the events while a page is open. Milliseconds. */
const LIVE_MS = 5_000

/**
 * Opens the console on the management port. `close` ends the live updates.
 * @returns undefined if the configuration disables the console.
 */
export function openConsole(
  source: ConsoleSource,
): Pick<Console, 'endpoints' | 'notFound' | 'close'> | undefined {
  const { config, credential, logger, onSession, version } = source
  if (config.management.console === false) return undefined
  const counts = createCounter(source.store, () => performance.now())
  const sessions =
    config.management.adminTokenFile === undefined
      ? undefined
      : createConsoleSessions({ credential, nowMs: () => performance.now(), onEvent: onSession })
  const console = createConsole({
    name: `${config.name} authorization server`,
    version,
    pages: [
      overviewPage(source, counts),
      clientsPage(source, counts),
      clientPage(source, counts),
      grantsPage(source),
      revokePage(source),
      docsPage(),
    ],
    forms: [revokeForm(source)],
    otherConsole: linkTo(config.management.linkedConsole, 'Gateway'),
    access: { sessions, setting: ADMIN_SETTING },
    logger,
  })
  const timer = setInterval(() => {
    if (console.isWatched) void console.publish()
  }, LIVE_MS).unref()
  return {
    endpoints: console.endpoints,
    notFound: console.notFound,
    close() {
      clearInterval(timer)
      console.close()
    },
  }
}
