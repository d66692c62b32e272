import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import { type BenchProcess, startProcess } from '../start-process.ts'
import { waitForPort } from '../wait-for-port.ts'

/**
 * Starts nginx as one process, without an access log.
 * @param options.http content of the `http` block.
 * @param options.location content of the `location` block for all paths.
 * @param options.locations additional `location` blocks.
 * @returns undefined if nginx is not installed.
 * @throws {BenchError} ERR_BENCH_START if nginx does not start.
 */
export async function startNginx(options: {
  readonly name: string
  readonly http?: string
  readonly location: string
  readonly locations?: string
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
}): Promise<{ process: BenchProcess; url: string; version: string } | undefined> {
  const program = findProgram('nginx')
  if (program === undefined) return undefined
  const port = await findFreePort('127.0.0.1')
  const folder = join(options.folder, `nginx-${port}`)
  mkdirSync(folder)
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration(folder, port, options))
  const started = startProcess({
    name: options.name,
    command: [program, '-e', 'stderr', '-p', folder, '-c', file],
    cores: options.cores,
    cleanup: options.cleanup,
  })
  await waitForPort(started, port)
  return { process: started, url: `http://127.0.0.1:${port}`, version: version(program) }
}

function configuration(
  folder: string,
  port: number,
  { http = '', location, locations = '' }: { http?: string; location: string; locations?: string },
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${folder}/${name};`)
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
  ${http}
  server {
    listen 127.0.0.1:${port};
    location / { ${location} }
    ${locations}
  }
}
`
}

function version(program: string): string {
  // `nginx -v` prints, for example, "nginx version: nginx/1.22.1" to standard error.
  const answer = execFileSync('sh', ['-c', '"$0" -v 2>&1', program], { encoding: 'utf8' })
  return /nginx\/[\d.]+/.exec(answer)?.[0].replace('/', ' ') ?? 'nginx'
}
