import { startLearningPlatform } from './app.ts'
import { readSettings } from './settings.ts'
import { StartError } from './start-error.ts'

try {
  const settings = readSettings(process.env)
  const platform = await startLearningPlatform(settings)
  let isStopping = false
  const stop = () => {
    if (isStopping) return
    isStopping = true
    platform.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('disconnect', stop)
  if (!['127.0.0.1', '::1', 'localhost'].includes(settings.host) && settings.gateway === undefined)
    console.error(
      `learning-platform: listens on ${settings.host}. It trusts the x-auth-* headers: allow connections only from the gateway.`,
    )
  // Stops when the parent process has ended, because no other process would stop this process.
  if (process.connected) process.send?.({ ready: true, url: platform.url })
  else if (process.send !== undefined) stop()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  console.error(`learning-platform: ${error.message}`)
  process.exit(1)
}
