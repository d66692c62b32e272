// A load generator in a separate process. The process receives a job over IPC and returns the counts. Only one job runs
// at a time.
import { connect, type Socket } from 'node:net'
import type { LoadResult, Target } from './load.ts'
import { readResponse } from './read-response.ts'

type Job = Target & { readonly seconds: number; readonly connections: number }

const BROKEN_LIMIT = 1_000 // after this number of failed connections, the target probably refuses every connection

process.on('message', (job: Job) => {
  measure(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })

function measure(job: Job): Promise<LoadResult> {
  const { hostname, host, port, pathname, search } = new URL(job.url)
  const requestWith = (own: Readonly<Record<string, string>>): Buffer => {
    const headers = Object.entries({ ...job.headers, ...own }).map(([name, value]) => `${name}: ${value}\r\n`)
    return Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${headers.join('')}\r\n`)
  }
  const requests = job.tokens?.map((token) => requestWith({ authorization: `Bearer ${token}` })) ?? [
    requestWith({}),
  ]
  let turn = 0
  const nextRequest = (): Buffer => requests[turn++ % requests.length] as Buffer
  const count = { right: 0, wrongStatus: 0, wrongBody: 0, broken: 0 }
  const sockets = new Set<Socket>()
  const startedAtMs = performance.now()
  let ending = false

  return new Promise((resolve) => {
    const finish = (): void => {
      if (ending) return
      ending = true
      clearTimeout(timer)
      const elapsedMs = performance.now() - startedAtMs
      for (const socket of sockets) socket.destroy()
      resolve({ ...count, elapsedMs })
    }
    const timer = setTimeout(finish, job.seconds * 1000)
    const open = (): void => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let received = ''
      sockets.add(socket)
      socket.setEncoding('latin1')
      socket.on('connect', () => socket.write(nextRequest()))
      socket.on('data', (text: string) => {
        received = received === '' ? text : received + text
        const outcome = readResponse(received, job.expectedBody)
        if (outcome === 'incomplete') return
        count[outcome]++
        received = ''
        if (!ending) socket.write(nextRequest())
      })
      socket.on('error', () => undefined) // the event 'close' follows
      socket.on('close', () => {
        sockets.delete(socket)
        if (ending) return
        count.broken++
        if (count.broken < BROKEN_LIMIT) open()
        else finish()
      })
    }
    for (let index = 0; index < job.connections; index++) open()
  })
}
