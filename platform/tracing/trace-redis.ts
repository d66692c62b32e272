import type { Command } from 'ioredis'
import type { RedisClient } from '../redis/redis-client.ts'
import type { Tracing } from './tracing.ts'

/** Records each command of a traced request in a span. The span contains the name of the command, but no key or value. */
export function traceRedis(redis: RedisClient, tracing: Tracing): void {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command: Command, ...rest: unknown[]) => {
    if (tracing.current() !== undefined) {
      const attributes = { 'db.system.name': 'redis', 'db.operation.name': command.name }
      // The caller of the command handles the rejection.
      tracing.observe(`redis ${command.name}`, attributes, () => command.promise).catch(() => undefined)
    }
    return (send as (...args: unknown[]) => unknown)(command, ...rest)
  }
}
