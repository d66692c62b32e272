import type { ChildProcess } from 'node:child_process'

/** What node:cluster says when it hands a connection out, and what the worker answers when it has it. */
type ClusterMessage = {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}
type Handle = { close(): void }

/**
 * Closes the connection that was on its way to a worker when the worker died. node:cluster keeps its end of it open until
 * the worker has answered, so nobody would serve that connection and nobody would close it: its client would wait for ever.
 * The messages are those of node:cluster and not documented; when it speaks otherwise, this does nothing.
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
