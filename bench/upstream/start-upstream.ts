import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { tryPort } from '../../cli/dev/free-port.ts'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import { startProcess, whenReady } from '../start-process.ts'
import { UPSTREAM_ANSWER } from './answer.ts'

const CONNECT_ATTEMPTS = 100
const CONNECT_PAUSE_MS = 20

/** What stands behind every subject: its name with the version, and its address. */
export type Upstream = { readonly name: string; readonly url: string }

type Options = { readonly cores: string | undefined; readonly folder: string; readonly cleanup: Cleanup }

/** Starts an upstream that answers every request with UPSTREAM_ANSWER: nginx where it is installed, else one on Node.js. */
export async function startUpstream(options: Options): Promise<Upstream> {
  const nginx = findProgram('nginx')
  return nginx === undefined ? startNodeUpstream(options) : startNginx(nginx, options)
}

async function startNodeUpstream({ cores, cleanup }: Options): Promise<Upstream> {
  const file = fileURLToPath(new URL('./node-upstream.ts', import.meta.url))
  const started = startProcess({ name: 'upstream', command: [process.execPath, file], cores, cleanup })
  const { url } = await whenReady(started)
  return {
    name: `Node.js ${process.versions.node} on plain sockets (nginx is not installed)`,
    url: String(url),
  }
}

async function startNginx(program: string, { cores, folder, cleanup }: Options): Promise<Upstream> {
  const port = await tryPort(0)
  if (port === undefined) throw new BenchError('ERR_BENCH_START', 'no free port on 127.0.0.1')
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, nginxConfiguration(folder, port))
  const started = startProcess({
    name: 'upstream',
    command: [program, '-e', 'stderr', '-p', folder, '-c', file],
    cores,
    cleanup,
  })
  await Promise.race([connected(port), started.ended.then(failed)])
  return { name: nginxVersion(program), url: `http://127.0.0.1:${port}` }
}

function nginxConfiguration(folder: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${folder}/nginx-${name};`)
    .join('\n')
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
${temporary}
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 10m;
  default_type application/json;
  server {
    listen 127.0.0.1:${port};
    location / { return 200 '${UPSTREAM_ANSWER}'; }
  }
}
`
}

/** nginx has no way to say that it listens, so it is asked until it answers. */
async function connected(port: number): Promise<void> {
  for (let attempt = 0; attempt < CONNECT_ATTEMPTS; attempt++) {
    const accepted = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (accepted) return
    await delay(CONNECT_PAUSE_MS)
  }
  failed('it accepts no connections')
}

function failed(complaints: string): never {
  throw new BenchError('ERR_BENCH_START', `nginx does not run: ${complaints}`)
}

function nginxVersion(program: string): string {
  // `nginx -v` answers on standard error: "nginx version: nginx/1.22.1".
  const answer = execFileSync('sh', ['-c', '"$0" -v 2>&1', program], { encoding: 'utf8' })
  return /nginx\/[\d.]+/.exec(answer)?.[0].replace('/', ' ') ?? 'nginx'
}
