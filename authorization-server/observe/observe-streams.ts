import type { Logger } from '../../platform/logging/logger.ts'
import type { StreamEvent } from '../endpoints/revocation-stream.ts'
import type { Metrics } from './metrics.ts'

/** Converts events of the revocation stream to one log line and one count each. */
export function observeStreams(options: {
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'countRequest'>
}): (event: StreamEvent) => void {
  return ({ result, reason, address }) => {
    options.metrics.countRequest('revocation_stream', '-', result)
    const fields = { endpoint: 'revocation_stream', reason, address }
    if (result === 'ok')
      options.logger.info({ event: 'revocation_listener', ...fields }, 'revocation stream opened')
    else if (result === 'cut')
      options.logger.warn(
        { event: 'revocation_listener_cut', ...fields },
        'revocation stream closed: the gateway reads too slowly',
      )
    else options.logger.warn({ event: 'refused', error: result, ...fields }, 'request rejected')
  }
}
