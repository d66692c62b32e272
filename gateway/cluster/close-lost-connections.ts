import type { ChildProcess } from 'node:child_process'

/** Internal message of node:cluster: the transfer of a connection, or the worker's acknowledgment. */
type ClusterMessage = {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}
type Handle = { close(): void }

/**
 * Closes a connection whose transfer to a worker failed because the worker exited. node:cluster keeps its handle open
 * until the worker acknowledges the transfer. Without this function, the client would wait forever. The messages are
 * undocumented internals of node:cluster. If they change, this function does nothing.
 */
export function closeLostConnections(worker: ChildProcess): void {
  const onTheirWay = new Map<number, Handle>()
  const send = worker.send.bind(worker) as (...args: readonly unknown[]) => boolean
  worker.send = (...args: readonly unknown[]) => {
    const [message, handle] = args as [ClusterMessage, Handle | undefined]
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && handle && message.seq !== undefined)
      onTheirWay.set(message.seq, handle)
    return send(...args)
  }
  worker.on('internalMessage', (message: ClusterMessage) => {
    if (message.ack !== undefined) onTheirWay.delete(message.ack)
  })
  worker.once('exit', () => {
    for (const handle of onTheirWay.values()) handle.close()
    onTheirWay.clear()
  })
}
