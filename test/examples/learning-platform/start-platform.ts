import { join } from 'node:path'
import type { Test } from 'tap'
import { startLearningPlatform } from '../../../examples/learning-platform/app.ts'
import { type Answer, type Message, send } from '../../fixtures/send.ts'

/** A platform with a separate port and database file. The end of the test closes it. */
export type Platform = {
  readonly url: string
  readonly databasePath: string
  close(): Promise<void>
  /** Sends a request without subject headers. */
  ask(path: string, message?: Message): Promise<Answer>
  /** Sends a request with the subject headers of the gateway. */
  askAs(subject: string, path: string, message?: Message): Promise<Answer>
}

/** Starts a platform. With the `databasePath` of another platform, both use the same data. */
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
