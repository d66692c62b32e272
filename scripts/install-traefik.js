// Builds Traefik from source as a Go module, which takes about four minutes. Later runs reuse the executable.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { downloadGoModule, GO_ADVICE } from './install-go-tool.js'
import { installTool } from './install-tool.js'

const TRAEFIK = { module: 'github.com/traefik/traefik/v3', version: 'v3.7.13' }
const LEGO = 'github.com/go-acme/lego/v5'
const HTTP_AUTH = 'github.com/abbot/go-http-auth'

/**
 * Parts of Traefik that a Go module proxy does not have: clients of DNS providers, and forks for Basic and Digest
 * authentication. Forward authentication does not use these parts, so replacements complete the build.
 */
const REPLACEMENTS = [
  {
    module: LEGO,
    files: {
      'providers/dns/zz_gen_dns_providers.go': `package dns

import (
	"errors"

	"github.com/go-acme/lego/v5/challenge"
)

func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, errors.New("this build has no DNS providers: " + name)
}
`,
    },
  },
  {
    module: HTTP_AUTH,
    version: 'v0.4.0',
    files: {
      'go.mod': `module ${HTTP_AUTH}\n\ngo 1.24\n`,
      'missing.go': `package auth

import "net/http"

func CheckSecret(password, secret string) bool { return false }

func (a *DigestAuth) RequireAuthStale(w http.ResponseWriter, r *http.Request) { a.RequireAuth(w, r) }
`,
    },
  },
  {
    module: 'github.com/traefik/traefik/dynamic/ext',
    files: {
      'go.mod': 'module github.com/traefik/traefik/dynamic/ext\n\ngo 1.24\n',
      'ext.go':
        'package ext\n\ntype HTTP struct{}\ntype Middleware struct{}\ntype Router struct{}\ntype Service struct{}\n',
    },
  },
]

/**
 * Ends the process with one line of advice if the installation fails.
 * @returns the path of the Traefik executable.
 */
export function installTraefik() {
  return installTool({
    name: `traefik-${TRAEFIK.version}`,
    file: 'traefik',
    advice: GO_ADVICE,
    install: build,
  })
}

function build(folder) {
  const source = downloadGoModule(TRAEFIK)?.Dir
  if (source === undefined) return false
  let mod = readFileSync(join(source, 'go.mod'), 'utf8')
  for (const { module, version = versionIn(mod, module), files } of REPLACEMENTS) {
    const copy = join(folder, 'replaced', module)
    mkdirSync(copy, { recursive: true })
    if (module !== 'github.com/traefik/traefik/dynamic/ext') {
      const original = downloadGoModule({ module, version })?.Dir
      if (original === undefined) return false
      cpSync(original, copy, { recursive: true, mode: 0 })
      spawnSync('chmod', ['-R', 'u+w', copy])
    }
    for (const [file, text] of Object.entries(files)) writeFileSync(join(copy, file), text)
    mod = `${mod.replace(new RegExp(`^(?:replace )?\\s*${module} => .*$`, 'm'), '')}\nreplace ${module} => ${copy}\n`
  }
  writeFileSync(join(folder, 'go.mod'), mod)
  cpSync(join(source, 'go.sum'), join(folder, 'go.sum'))
  spawnSync('chmod', ['u+w', join(folder, 'go.sum')])
  const args = [
    ...['build', '-C', source, '-mod=mod', `-modfile=${join(folder, 'go.mod')}`, '-ldflags=-s -w'],
    ...['-o', join(folder, 'traefik'), './cmd/traefik'],
  ]
  return spawnSync('go', args, { stdio: ['ignore', 2, 2] }).status === 0
}

function versionIn(mod, module) {
  return new RegExp(`^\\s*${module} (v\\S+)`, 'm').exec(mod)?.[1]
}

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  process.stdout.write(`${installTraefik()}\n`)
