import { join } from 'node:path'
import type { Test } from 'tap'
import { startLearningPlatform } from '../../../examples/learning-platform/app.ts'
import { type Answer, type Message, send } from '../../fixtures/send.ts'

/** A platform with its own port and database file. The platform stops at the end of the test. */
export type Platform = {
  readonly url: string
  readonly databasePath: string
  close(): Promise<void>
  ask(path: string, message?: Message): Promise<Answer>
  askAs(subject: string, path: string, message?: Message): Promise<Answer>
}

/** Starts a platform. If `databasePath` belongs to another platform, both platforms use the same data. */
export async function startPlatform(
  t: Test,
  databasePath = join(t.testdir(), 'data.sqlite'),
): Promise<Platform> {
  const { url, close } = await startLearningPlatform({
    host: '127.0.0.1',
    port: 0,
    databasePath,
    graceMs: 100,
  })
  let closing: Promise<void> | undefined
  const closeOnce = () => {
    closing ??= close()
    return closing
  }
  t.teardown(closeOnce)
  return {
    url,
    databasePath,
    close: closeOnce,
    ask: (path, message) => send(`${url}${path}`, message),
    askAs: (subject, path, message = {}) =>
      send(`${url}${path}`, {
        ...message,
        headers: {
          'x-auth-subject': subject,
          'x-auth-client-id': 'test-client',
          'x-auth-scope': 'openid',
          ...message.headers,
        },
      }),
  }
}
